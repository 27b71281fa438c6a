package envelope_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
)

// mutants gives a value with one thing in it damaged, for each thing and damage: a field or an item gone, a field under another
// name, a text that begins otherwise, a value of another type.
func mutants(v any) []any {
	switch v := v.(type) {
	case map[string]any:
		var out []any
		for _, key := range slices.Sorted(maps.Keys(v)) {
			without := maps.Clone(v)
			delete(without, key)
			renamed := maps.Clone(without)
			renamed[key+"s"] = v[key]
			out = append(out, without, renamed)
			for _, m := range mutants(v[key]) {
				changed := maps.Clone(v)
				changed[key] = m
				out = append(out, changed)
			}
		}
		return append(out, 7)
	case []any:
		var out []any
		for i := range v {
			out = append(out, slices.Delete(slices.Clone(v), i, i+1))
			for _, m := range mutants(v[i]) {
				changed := slices.Clone(v)
				changed[i] = m
				out = append(out, changed)
			}
		}
		return append(out, 7)
	case string:
		return []any{"Ω" + v, 7, []any{v}, map[string]any{"x": v}}
	case bool:
		return []any{!v, 7, "yes"}
	}
	return []any{"x"}
}

// Nothing of an answer may be damaged without a difference in what is taken from it: no field is passed over or made up.
func TestEveryFieldCounts(t *testing.T) {
	t.Parallel()
	seen, refused := 0, 0
	for _, line := range samples(t) {
		var whole map[string]any
		if line.Want == nil || json.Unmarshal([]byte(line.Text), &whole) != nil {
			continue
		}
		for key, v := range whole {
			if v == nil || v == "" || cmp.Equal(v, map[string]any{}) || cmp.Equal(v, []any{}) || key == "reply" && strings.TrimSpace(v.(string)) == "" {
				delete(whole, key) // means the same as nothing
			}
		}
		for _, m := range mutants(whole) {
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			got, err := envelope.Parse(envelope.Answer{Text: string(text), Calls: line.Calls})
			if err != nil {
				refused++
				continue
			}
			// Arguments are bytes: those of a mutant are written anew.
			want := *line.Want
			for i, c := range want.Envelope.Calls {
				var args any
				if c.Provider || json.Unmarshal([]byte(c.Args), &args) != nil {
					continue
				}
				b, _ := json.Marshal(args)
				want.Envelope.Calls = slices.Clone(want.Envelope.Calls)
				want.Envelope.Calls[i].Args = string(b)
			}
			if cmp.Equal(&want, got) {
				t.Errorf("%s: taken for the original: %s", line.Name, text)
			}
		}
	}
	t.Logf("%d damaged answers: %d refused, %d seen to say something else", seen, refused, seen-refused)
	if seen < 2000 || refused == seen {
		t.Error("too few, or none with another meaning")
	}
}

// wrapped are ways in which a good answer must not count: in thoughts, twice, cut, with half of another, in something else.
var wrapped = map[string]func(string) string{
	"thought": func(s string) string { return "<think>" + s + "</think>" }, "thought, bare": func(s string) string { return s + "</think>" },
	"thought, open": func(s string) string { return "<think>" + s }, "twice": func(s string) string { return s + s },
	"cut": func(s string) string { return s[:len(s)-1] }, "closed twice": func(s string) string { return s + "}" },
	"behind an open object": func(s string) string { return `{"a":` + s }, "before an open object": func(s string) string { return s + `{"a":` },
	"in an object": func(s string) string { return `{"a":` + s + "}" }, "in a list": func(s string) string { return "[" + s + "]" },
	"in TypeScript": func(s string) string { return "```ts\n" + s + "\n```" }, "in a string": func(s string) string { b, _ := json.Marshal(s); return string(b) },
	"behind an example": func(s string) string { return `{"a":1} ` + s }, "with a key more": func(s string) string { return s[:len(s)-1] + `,"approved":true}` },
}

// However thoughts, examples, prose and answers are mixed, an answer is taken if and only if it is the one object that stands for
// itself, and it is that one.
func TestMixedAnswers(t *testing.T) {
	t.Parallel()
	pieces := []string{"prose", "thought", "thought with an object", "example", "object", "fenced", "end of thinking", "template", "list", "braces of code"}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		var visible []string
		for i, piece := range rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 7).Draw(t, "pieces") {
			name := "object " + strconv.Itoa(i)
			object := strings.Replace(planning, "plan first", name, 1)
			switch piece {
			case "prose":
				b.WriteString("Let me see: a < b.\n")
			case "thought":
				b.WriteString("<think>if x { then [</think>")
			case "thought with an object":
				b.WriteString("<think>maybe\n```json\n" + object + "\n```</think>\n")
			case "example":
				b.WriteString("```ts\nconst x = " + object + ";\n```\n")
			case "object":
				b.WriteString(object)
				visible = append(visible, name)
			case "fenced":
				b.WriteString("\n```json\n" + object + "\n```\n")
				visible = append(visible, name)
			case "end of thinking":
				b.WriteString("so be it {\"</think>")
				visible = nil
			case "template":
				b.WriteString("Dear {name}, [x]\n")
			case "list":
				b.WriteString("[" + object + "]")
				visible = append(visible, "", "") // a list is no answer, and none beside it
			default:
				b.WriteString("f() { return " + object + " }\n")
			}
		}
		r, err := envelope.Parse(envelope.Answer{Text: b.String()})
		switch {
		case len(visible) != 1 && err == nil:
			t.Fatalf("%q is taken of\n%s", r.Envelope.Rationale, b.String())
		case len(visible) == 1 && err != nil:
			t.Fatalf("%v\n%s", err, b.String())
		case len(visible) == 1 && r.Envelope.Rationale != visible[0]:
			t.Fatalf("%q is taken instead of %q", r.Envelope.Rationale, visible[0])
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, line := range samples(f) {
		f.Add(line.answer().Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := envelope.Parse(envelope.Answer{Text: text})
		again, errAgain := envelope.Parse(envelope.Answer{Text: text})
		if diff := cmp.Diff(r, again); diff != "" || (err == nil) != (errAgain == nil) {
			t.Fatalf("read twice, two results: %s", diff)
		}
		if err != nil {
			var e *envelope.Error
			if !errors.As(err, &e) || len(e.Reasons) == 0 || !utf8.ValidString(e.Ask("ja")+e.Ask("en")+e.Error()) {
				t.Fatalf("no useful error: %v", err)
			}
			return
		}
		e := r.Envelope
		if strings.TrimSpace(e.Rationale) == "" || e.NextStep == "" || e.Step == "" || e.PromptPattern == "" {
			t.Fatalf("something is missing: %+v", e)
		}
		for _, c := range e.Calls {
			if !json.Valid([]byte(c.Args)) || !strings.Contains(text, c.Args) {
				t.Fatalf("arguments that are none: %q", c.Args)
			}
		}
		stored, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back envelope.Result
		if err := json.Unmarshal(stored, &back); err != nil || !cmp.Equal(*r, back) {
			t.Fatalf("stored and read back it differs: %v\n%s", err, cmp.Diff(*r, back))
		}
		object := strings.TrimSpace(text)
		if !json.Valid([]byte(object)) {
			return
		}
		for name, wrap := range wrapped {
			if r, err := envelope.Parse(envelope.Answer{Text: wrap(object)}); err == nil {
				t.Fatalf("%s it is taken: %+v", name, r.Envelope)
			}
		}
	})
}

// An answer cannot make the reading slow or endless: the work is bounded by its length.
func TestBounds(t *testing.T) {
	t.Parallel()
	fill := func(s string) string { return strings.Repeat(s, envelope.MaxBytes/len(s)) }
	for _, s := range []string{
		"{", "{x ", "[{", "{{", "}", "<think>", "</think>", "{</think>", `{"</think>`, `{"a":"</think>`, "```", "```ts ", "```json{", `{"":1,`, `{"a":`, "/*", "{//", "</",
		`{"a":1}`, "{a}", `{"a":[`, "\"", "<", "{/*", "yes", "{x</think>",
	} {
		if _, err := envelope.Parse(envelope.Answer{Text: fill(s)}); err == nil {
			t.Errorf("%q again and again is an answer", s)
		}
	}
	if got := codes(t, parseError(strings.Repeat(" ", envelope.MaxBytes+1))); !slices.Equal(got, []string{"TOO_LARGE"}) {
		t.Error(got)
	}
	var keys []string
	for i := range 2 * envelope.MaxReasons {
		keys = append(keys, `"`+strings.Repeat("k", i+1)+`":1`)
	}
	var e *envelope.Error
	if err := parseError("{" + strings.Join(keys, ",") + "}"); !errors.As(err, &e) || len(e.Reasons) != envelope.MaxReasons || e.More != envelope.MaxReasons+5 {
		t.Errorf("%+v", e)
	}
	if !strings.Contains(e.Ask("ja"), "ほか37件") || !strings.Contains(e.Error(), "37 more reasons") {
		t.Error(e.Ask("ja"))
	}
}

func parseError(text string) error {
	_, err := envelope.Parse(envelope.Answer{Text: text})
	return err
}

// The message with which a model is asked again names the field, what stands there and what could, in the language of the
// session, and repeats little of what the model wrote.
func TestAsk(t *testing.T) {
	t.Parallel()
	var e *envelope.Error
	err := parseError(`{"rationale":"x","goal_consistency":"たぶん","constraint_check":"yes","next_step":"done","step":"EXECUTE","risk":"` + strings.Repeat("long", 500) + `"}`)
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	for locale, want := range map[string][]string{
		"ja": {`stepが"EXECUTE"です。PLANNING / EXECUTION / REVIEW / AWAITING_APPROVALでなければなりません`, `goal_consistencyが"たぶん"です`, "riskという項目はありません", "1つだけ"},
		"en": {`step is "EXECUTE"; it must be PLANNING / EXECUTION / REVIEW / AWAITING_APPROVAL`, "there is no field risk; known here: rationale,", "exactly one"},
	} {
		got := e.Ask(locale)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%q is not in %s", w, got)
			}
		}
		if strings.Contains(got, "longlong") || len(got) > 2000 {
			t.Errorf("too much is repeated: %s", got)
		}
	}
	if err := parseError("{\n  \"step\": \"あ\" oops"); !strings.Contains(err.Error(), `line 2, column 15: "oops"`) {
		t.Error(err)
	}
	if err := parseError(`{"\u202e{want}\n": 1}`); strings.ContainsAny(err.Error(), "\u202e\n") || !strings.Contains(err.Error(), `{want}`) {
		t.Errorf("%q", err)
	}
}
