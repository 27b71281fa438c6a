package envelope_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// tools are what a constraint is made for.
var tools = []envelope.Tool{
	{Name: "read", Schema: `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`},
	{Name: "session_status"}, {Name: `odd "<name>"`, Schema: `{"$ref":"#/$defs/x"}`},
}

// schema is what ours use of JSON Schema; another keyword fails.
type schema struct {
	Type       any               `json:"type"`
	Enum       []any             `json:"enum"`
	AnyOf      []schema          `json:"anyOf"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Additional *bool             `json:"additionalProperties"`
	Items      *schema           `json:"items"`
	MinItems   int               `json:"minItems"`
	MaxItems   int               `json:"maxItems"`
	MinLength  int               `json:"minLength"`
	MaxLength  int               `json:"maxLength"`
	Pattern    string            `json:"pattern"`
}

func read(t testing.TB, text string) (s schema) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// accepts judges a value by the keywords above, as JSON Schema 2020-12 has them.
func (s schema) accepts(v any) bool {
	if len(s.AnyOf) > 0 {
		return slices.ContainsFunc(s.AnyOf, func(s schema) bool { return s.accepts(v) })
	}
	if s.Enum != nil {
		return slices.Contains(s.Enum, v)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range s.Required {
			if _, ok := v[key]; !ok {
				return false
			}
		}
		for key, inner := range v {
			p, ok := s.Properties[key]
			if ok && !p.accepts(inner) || !ok && s.Additional != nil {
				return false
			}
		}
		return s.Type == "object"
	case []any:
		return s.Type == "array" && len(v) >= s.MinItems && len(v) <= s.MaxItems &&
			!slices.ContainsFunc(v, func(v any) bool { return !s.Items.accepts(v) })
	case string:
		n := utf8.RuneCountInString(v)
		return s.Type == "string" && n >= s.MinLength && (s.MaxLength == 0 || n <= s.MaxLength) && regexp.MustCompile(ecma(s.Pattern)).MatchString(v)
	case bool:
		return s.Type == "boolean"
	case nil:
		return s.Type == "null"
	}
	return false
}

// ecma lets \s and \S know the blanks of Unicode, as they do in JSON Schema.
func ecma(pattern string) string {
	return strings.NewReplacer(`[\s\S]`, `(?s:.)`, `[\s,`, `[\s\p{Z},`, `^\s*`, `^[\s\p{Z}]*`, `\S`, `[^\s\p{Z}]`).Replace(pattern)
}

// The two schemas are the same bytes in every release that does not say otherwise: servers keep what they make of them.
func TestSchemaGolden(t *testing.T) {
	t.Parallel()
	testkit.Golden(t, "schema.json", []byte(envelope.Schema()+"\n"))
	testkit.Golden(t, "constraint.json", []byte(envelope.Constraint(tools)+"\n"))
	testkit.Golden(t, "constraint-without-tools.json", []byte(envelope.Constraint(nil)+"\n"))
}

// The schema and the parser say the same of each answer of the corpus that is an object, where a schema can say it.
func TestSchemaAgreesWithParser(t *testing.T) {
	t.Parallel()
	s := read(t, envelope.Schema())
	sayable := []string{"MISSING", "WRONG_TYPE", "UNKNOWN_KEY", "UNTOUCHABLE", "BLANK", "TOO_MANY", "TOO_LONG", "WRONG_VALUE"}
	counted := map[bool]int{}
	for _, line := range samples(t) {
		var v any
		if json.Unmarshal([]byte(line.Text), &v) != nil || len(line.Calls) > 0 {
			continue
		}
		if _, ok := v.(map[string]any); !ok {
			continue
		}
		want := line.Want != nil
		var code string
		if !want {
			code, _, _ = strings.Cut(line.Why[0], " ")
		}
		both := regexp.MustCompile(`constraint_check is "?'(yes|Yes|no|はい).*(yes|no|いいえ)`).MatchString(line.Name)
		if !want && !slices.Contains(sayable, code) || both && !strings.Contains(line.Name, "yes/no") {
			continue
		}
		counted[want]++
		if got := s.accepts(v); got != want {
			t.Errorf("%s: the schema says %v, the parser %v", line.Name, got, want)
		}
	}
	t.Logf("%d accepted and %d refused by both", counted[true], counted[false])
	if counted[true] < 100 || counted[false] < 100 {
		t.Error("too few were compared")
	}
}

// instance draws a value that a schema accepts.
func (s schema) instance(t *rapid.T) any {
	switch {
	case len(s.AnyOf) > 0:
		return s.AnyOf[rapid.IntRange(0, len(s.AnyOf)-1).Draw(t, "which")].instance(t)
	case s.Enum != nil:
		return rapid.SampledFrom(s.Enum).Draw(t, "word")
	}
	switch s.Type {
	case "object":
		v := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, key) || rapid.Bool().Draw(t, key) {
				v[key] = s.Properties[key].instance(t)
			}
		}
		return v
	case "array":
		v := []any{}
		for range rapid.IntRange(s.MinItems, s.MaxItems).Draw(t, "items") {
			v = append(v, s.Items.instance(t))
		}
		return v
	case "boolean":
		return rapid.Bool().Draw(t, "boolean")
	}
	return rapid.StringMatching(`[a-zあ-ん"\\{}][ -~ぁ-ん]{0,60}`).Draw(t, "text")
}

// What a server is held to is always an answer that can be used.
func TestConstraintIsAccepted(t *testing.T) {
	t.Parallel()
	wide := read(t, envelope.Schema())
	narrow := map[string]schema{"tools": read(t, strings.Replace(envelope.Constraint(tools), `{"$ref":"#/$defs/x"}`, "{}", 1)), "no tools": read(t, envelope.Constraint(nil))}
	rapid.Check(t, func(t *rapid.T) {
		for name, s := range narrow {
			v := s.instance(t)
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if !s.accepts(v) || !wide.accepts(v) {
				t.Fatalf("%s: drawn, but not accepted by both schemas: %s", name, text)
			}
			if _, err := envelope.Parse(envelope.Answer{Text: string(text)}); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
		}
	})
	if strings.Contains(envelope.Constraint(tools), "$ref") || strings.Contains(envelope.Constraint(nil), `"args"`) {
		t.Error("a reference to another document, or calls without tools")
	}
}

// A real server, held to the schema, gives answers that can be used, unless it is cut off.
func TestConstraintOnServer(t *testing.T) {
	t.Parallel()
	url := testkit.Model(t, "smollm2")
	used := 0
	for seed := 1; seed < 6 && used < 2; seed++ {
		given := tools[:2*(seed%2)]
		body := fmt.Sprintf(`{"messages":[{"role":"user","content":%q}],"temperature":0.8,"seed":%d,"max_tokens":600,`+
			`"response_format":{"type":"json_schema","json_schema":{"name":"envelope","schema":%s}}}`,
			"Plan a short story about rain. "+envelope.Instructions("en", len(given) > 0), seed, envelope.Constraint(given))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := new(http.Client).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var reply struct {
			Choices []struct {
				FinishReason string `json:"finish_reason"`
				Message      struct{ Content string }
			}
		}
		if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil || len(reply.Choices) != 1 {
			t.Fatalf("status %s, %v: the server does not take the schema", resp.Status, err)
		}
		c := reply.Choices[0]
		r, err := envelope.Parse(envelope.Answer{Text: c.Message.Content, CutOff: c.FinishReason == "length"})
		switch {
		case c.FinishReason == "length":
			if err == nil {
				t.Errorf("seed %d: cut off, and taken", seed)
			}
		case err != nil:
			t.Errorf("seed %d: %v\n%s", seed, err, c.Message.Content)
		default:
			used++
			t.Logf("seed %d: %s, %s, %d calls, repairs %v, cuts %v", seed, r.Envelope.Step, r.Envelope.NextStep, len(r.Envelope.Calls), r.Repairs, r.Cuts)
		}
	}
	if used == 0 {
		t.Error("each answer was cut off")
	}
}

// What a model is told in words names each field that the parser knows beyond the prompt's own form, and no other.
func TestInstructions(t *testing.T) {
	t.Parallel()
	known := read(t, envelope.Schema()).Properties
	for _, locale := range []string{"ja", "en"} {
		text := envelope.Instructions(locale, true)
		for _, m := range regexp.MustCompile(`(?m)^- "([a-z_]+)"`).FindAllStringSubmatch(text, -1) {
			if _, ok := known[m[1]]; !ok {
				t.Errorf("%s: there is no field %s", locale, m[1])
			}
		}
		for _, key := range []string{"reply", "question", "state_delta", "actions", "plan", "review_verdict", "goal_consistency", "constraint_check"} {
			if !strings.Contains(text, `"`+key+`"`) {
				t.Errorf("%s: %s is not told", locale, key)
			}
		}
		if strings.Contains(envelope.Instructions(locale, false), `"args"`) {
			t.Errorf("%s: it is told to call tools where there are none", locale)
		}
	}
}
