package tool_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

func admit(t testing.TB, d tool.Definition) *tool.Tool {
	t.Helper()
	got, err := tool.Admit(d)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// of is a tool of an MCP server with that schema.
func of(schema string) tool.Definition {
	return tool.Definition{
		Name: "do", Input: schema, Origin: tool.Origin{Kind: tool.MCP, Server: "srv", ServerID: "srv: node srv.js"}, Timeout: time.Second, Limit: 1000,
	}
}

func builtIn(t testing.TB, name string) *tool.Tool {
	t.Helper()
	for _, d := range append(tool.BuiltIns(), tool.ExecDefinition(false)) {
		if d.Name == name {
			return admit(t, d)
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

func violations(t rapid.TB, err error) []string {
	t.Helper()
	var e *tool.ArgumentsError
	if !errors.As(err, &e) {
		t.Fatalf("%v is no ArgumentsError", err)
	}
	var out []string
	for _, v := range e.Violations {
		out = append(out, v.String())
	}
	return out
}

// A model cannot approve itself by an argument: keys that a tool does not name are refused, all of them at once
// (cases/agent.md c2).
func TestAgent2UnknownArguments(t *testing.T) {
	t.Parallel()
	_, err := builtIn(t, tool.Delete).Check([]byte(`{"path":"a.txt","approved":true,"auto_approve":true}`))
	want := []string{"approved is not a parameter; they are path", "auto_approve is not a parameter; they are path"}
	if got := violations(t, err); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// So it is where the schema of a server says nothing of further keys.
	_, err = admit(t, of(`{"type":"object","properties":{"path":{"type":"string"}}}`)).Check([]byte(`{"path":"a.txt","approved":true}`))
	if got := violations(t, err); !slices.Equal(got, want[:1]) {
		t.Errorf("got %q, want %q", got, want[:1])
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const free = `{"type":"object","properties":{"meta":{"type":"object"},"any":{},"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer","default":1}}}}}}`
	for _, tt := range []struct {
		name      string
		tool      *tool.Tool
		args      string
		want      string
		defaulted []string
	}{
		{"defaults are filled in, keys sorted", builtIn(t, tool.Read), `{ "path": "a.txt" }`, `{"limit":2000,"offset":1,"path":"a.txt"}`, []string{"limit", "offset"}},
		{"what is given stays", builtIn(t, tool.Read), `{"path":"a.txt","offset":2.0,"limit":3}`, `{"limit":3,"offset":2,"path":"a.txt"}`, nil},
		{"no arguments at all", builtIn(t, tool.List), ``, `{"depth":1,"limit":200,"path":"."}`, []string{"depth", "limit", "path"}},
		{"text stays as it is", builtIn(t, tool.Write), `{"content":"<\u3042>&\u2028","path":"a"}`, "{\"content\":\"<あ>&\u2028\",\"path\":\"a\"}", nil},
		{"an inner object without named keys is free", admit(t, of(free)), `{"meta":{"x":{"y":1}},"any":{"z":[]}}`, `{"any":{"z":[]},"meta":{"x":{"y":1}}}`, nil},
		{"defaults in lists", admit(t, of(free)), `{"list":[{},{"n":2}]}`, `{"list":[{"n":1},{"n":2}]}`, []string{"list[0].n"}},
		{"no object is made for the defaults in it", admit(t, of(`{"type":"object","properties":{"o":{"type":"object","properties":{"n":{"default":1},"must":{}},"required":["must"]}}}`)), `{}`, `{}`, nil},
		{"defaults of what is referred to", admit(t, of(`{"type":"object","properties":{"o":{"$ref":"#/$defs/o"}},"$defs":{"o":{"type":"object","properties":{"n":{"default":1}}}}}`)), `{"o":{}}`, `{"o":{"n":1}}`, []string{"o.n"}},
		{"keys named beside", admit(t, of(`{"type":"object","properties":{"a":{}},"allOf":[{"properties":{"b":{}}},{"if":{"properties":{"a":{"const":1}}},"then":{"properties":{"c":{}}}}]}`)), `{"a":1,"b":2,"c":3}`, `{"a":1,"b":2,"c":3}`, nil},
		{"keys allowed in so many words", admit(t, of(`{"type":"object","additionalProperties":{"type":"string"}}`)), `{"x":"y"}`, `{"x":"y"}`, nil},
		{"keys by pattern", admit(t, of(`{"type":"object","patternProperties":{"^x-":{"type":"integer"}}}`)), `{"x-a":1}`, `{"x-a":1}`, nil},
		{"a tree", admit(t, of(`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}}}`)), `{"kids":[{"kids":[]},{}]}`, `{"kids":[{"kids":[]},{}]}`, nil},
	} {
		got, err := tt.tool.Check([]byte(tt.args))
		if err != nil || string(got.Args) != tt.want || !slices.Equal(got.Defaulted, tt.defaulted) {
			t.Errorf("%s: got %s, %q, %v, want %s, %q", tt.name, got.Args, got.Defaulted, err, tt.want, tt.defaulted)
		}
	}
}

// Whoever wrote the arguments learns of all faults at once, each with its field, so that one more try is enough.
func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	const rich = `{"type":"object","required":["must","edits"],"properties":{"must":{},"n":{"type":"integer","minimum":1,"exclusiveMaximum":9},"f":{"type":"number","maximum":2,"exclusiveMinimum":0},
		"s":{"type":"string","minLength":2,"maxLength":3,"pattern":"^[a-z]+$"},"e":{"enum":["a",1,null]},"c":{"const":true},"both":{"type":["string","null"]},
		"edits":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"object","properties":{"line":{"type":"integer"}},"required":["line"]}},"pair":{"prefixItems":[{"type":"string"}]},
		"either":{"anyOf":[{"type":"string"},{"type":"object","properties":{"x":{"type":"integer"}}}]},"no":false,"m":{"type":"object","maxProperties":1,"additionalProperties":{"type":"integer"}}}}`
	for _, tt := range []struct {
		name, schema, args string
		want               []string
	}{
		{"all at once", rich, `{"n":0,"f":3,"s":"A","edits":[{},{"line":"1"},{"line":1,"to":2}],"x":1}`, []string{
			"edits must have at most 2 items, and has 3", "edits[0].line is required, and is missing", "edits[1].line must be of type integer, and is of type string",
			"edits[2].to is not a parameter; they are line", "f must be at most 2, and is 3", "must is required, and is missing", "n must be at least 1, and is 0",
			"s must have at least 2 characters, and has 1", "s must match the pattern ^[a-z]+$",
			"x is not a parameter; they are both, c, e, edits, either, f, m, must, n, no, pair, s",
		}},
		{"bounds that exclude, choices", rich, `{"must":1,"n":9,"f":0,"s":"abcd","e":"b","c":false,"both":[],"edits":[],"pair":[1],"either":{"x":"y"},"no":1,"m":{"a":1,"b":"c"}}`, []string{
			"both must be of type string or null, and is of type array", "c must be true", "e must be \"a\" or 1 or null", "edits must have at least 1 items, and has 0",
			"either has none of the 2 forms that are allowed", "f must be above 0, and is 0", "m must have at most 1 members, and has 2", "m.b must be of type integer, and is of type string",
			"n must be below 9, and is 9", "no may not be given", "pair[0] must be of type string, and is of type integer", "s must have at most 3 characters, and has 4",
		}},
		{"no default for what is required", `{"type":"object","properties":{"a":{"default":1}},"required":["a"]}`, `{}`, []string{"a is required, and is missing"}},
		{"keys of what is referred to", `{"type":"object","properties":{"o":{"$ref":"#/$defs/o"}},"$defs":{"o":{"type":"object","properties":{"n":{}}}}}`, `{"o":{"x":1}}`, []string{"o.x is not a parameter; they are n"}},
		{"no parameters at all", `{"type":"object"}`, `{"a":1}`, []string{"a is not a parameter; there are none"}},
		{"a list", `{"type":"object"}`, `[]`, []string{`the arguments cannot be read: the arguments must be a JSON object, such as {"path": "a.txt"}`}},
		{"cut off", `{"type":"object","properties":{"a":{}}}`, `{"a":"b`, []string{"a cannot be read: the text ends at byte 7, where the end of a string should stand: it may be cut off"}},
		{"a doubled key", `{"type":"object","properties":{"a":{}}}`, `{"a":1,"a":2}`, []string{"a cannot be read: the key stands twice in one object; which value counts would depend on the reader"}},
		{"a fault that has no sentence", `{"type":"object","properties":{"a":{"multipleOf":2},"b":{"not":{"type":"string"}}}}`, `{"a":3}`, nil},
		{"an invisible key", `{"type":"object","properties":{"a":{}}}`, "{\"a\u200b\":1}", []string{`a\u{200B} is not a parameter; they are a`}},
	} {
		got, err := admit(t, of(tt.schema)).Check([]byte(tt.args))
		if err == nil {
			t.Errorf("%s: taken as %s", tt.name, got.Args)
			continue
		}
		found := violations(t, err)
		if tt.want == nil && len(found) == 1 && strings.HasPrefix(found[0], "the arguments do not fit the schema: ") {
			continue
		}
		if !slices.Equal(found, tt.want) {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, strings.Join(found, "\n"), strings.Join(tt.want, "\n"))
		}
	}
	many := `{` + strings.Repeat(`"a`, 0)
	for i := range 80 {
		many += fmt.Sprintf(`"k%02d":1,`, i)
	}
	_, err := builtIn(t, tool.SessionStatus).Check([]byte(strings.TrimSuffix(many, ",") + "}"))
	if got := violations(t, err); len(got) != 51 || got[50] != "the arguments have 30 more faults" {
		t.Errorf("%d sentences, the last is %q", len(got), got[len(got)-1])
	}
}

// Checked arguments stay as they are when they are checked once more; the verdict is that of the schema, and where the schema has
// nothing against arguments no sentence has, but for keys that it does not name.
func TestCheckProperty(t *testing.T) {
	t.Parallel()
	const text = `{"type":"object","required":["p"],"properties":{"p":{"type":"string","minLength":1,"pattern":"^a"},"n":{"type":"integer","minimum":1,"maximum":3,"default":2},
		"o":{"type":"object","properties":{"k":{"enum":["a",1]},"d":{"type":"boolean","default":false}},"required":["k"]},"l":{"type":"array","maxItems":2,"items":{"anyOf":[{"type":"number","exclusiveMinimum":0},{"$ref":"#/$defs/s"}]}}},"$defs":{"s":{"type":"string","maxLength":1}}}`
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	oracle, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	checked := admit(t, of(text))
	value := rapid.SampledFrom([]any{"a", "ab", "b", "", 0.0, 1.0, 2.5, 4.0, true, nil, []any{}, []any{1.0, "a"}, []any{"ab"}, []any{1.0, 1.0, 1.0}, map[string]any{"k": "a"}, map[string]any{"k": 2.0}, map[string]any{"d": true}, map[string]any{"k": 1.0, "x": 1.0}})
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.MapOfN(rapid.SampledFrom([]string{"p", "n", "o", "l", "x"}), value, 0, 4).Draw(t, "args")
		text, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := checked.Check(text)
		fits := oracle.Validate(args) == nil
		if err == nil {
			again, err := checked.Check(got.Args)
			if err != nil || !bytes.Equal(again.Args, got.Args) || len(again.Defaulted) > 0 || !canon.Is(got.Args) {
				t.Fatalf("%s became %s, and that %s, %q, %v", text, got.Args, again.Args, again.Defaulted, err)
			}
			if !fits {
				t.Fatalf("%s was taken", text)
			}
			return
		}
		if !fits {
			return
		}
		for _, v := range violations(t, err) {
			if !strings.Contains(v, "is not a parameter") {
				t.Fatalf("%s fits, and is refused: %s", text, v)
			}
		}
	})
}

// A schema from outside can neither end the process nor keep it busy: one that never comes to an end, or doubles the work at
// each level, is refused when the tool is admitted. So is one that would have to be fetched.
func TestSchemasRefused(t *testing.T) {
	t.Parallel()
	doubling := `"d0":{"type":"string"}`
	for i := range 20 {
		doubling += fmt.Sprintf(`,"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i+1, i, i)
	}
	many := `{"type":"object","$defs":{` + doubling + `},"properties":{"x":{}`
	for i := range 1500 {
		many += fmt.Sprintf(`,"%d":{"$ref":"#/$defs/d12"}`, i)
	}
	many += `}}`
	for name, tt := range map[string]struct{ schema, want string }{
		"endless":                      {`{"type":"object","$ref":"#"}`, "refers to itself"},
		"endless in two steps":         {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`, "refers to itself"},
		"doubling at one place":        {`{"type":"object","properties":{"a":{"$ref":"#/$defs/d20"}},"$defs":{` + doubling + `}}`, "too costly"},
		"doubling level by level":      {`{"type":"object","anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, "too costly"},
		"doubling by names of any":     {`{"type":"object","properties":{"a":{"$ref":"#"}},"additionalProperties":{"$ref":"#"},"patternProperties":{".":{"$ref":"#"}}}`, "too costly"},
		"costly to look through":       {many, "too costly"},
		"from elsewhere":               {`{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`, "only references of the form"},
		"a file":                       {`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "only references of the form"},
		"nothing there":                {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}`, "is not there"},
		"another base":                 {`{"type":"object","properties":{"a":{"$id":"https://example.com/s","$ref":"#"}}}`, "uses $id"},
		"no object":                    {`{"type":"string"}`, `must have "type": "object"`},
		"no type":                      {`{}`, `must have "type": "object"`},
		"no JSON":                      {`{"type":`, "is no JSON object"},
		"null":                         {`null`, "is no JSON object"},
		"a doubled key":                {`{"type":"object","type":"object"}`, "in one way"},
		"a pattern of another dialect": {`{"type":"object","properties":{"a":{"pattern":"(?=a)"}}}`, "cannot be used"},
		"a default that does not fit":  {`{"type":"object","properties":{"a":{"type":"string","default":1}}}`, "cannot be used"},
		"too large":                    {`{"type":"object","description":"` + strings.Repeat("a", tool.MaxSchema) + `"}`, "at most 65536"},
	} {
		_, err := tool.Admit(of(tt.schema))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	// A list of trees costs no more than its length; a number that no double holds is a bound like others.
	for _, good := range []string{
		`{"type":"object","$id":"https://example.com/s","properties":{"a":{"type":"array","items":{"$ref":"#"}},"b":{"$ref":"#"}}}`,
		`{"type":"object","properties":{"a":{"type":"integer","maximum":18446744073709551615}}}`,
	} {
		if _, err := tool.Admit(of(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// Whatever the arguments are, checking ends, and what is taken is canonical.
func FuzzCheck(f *testing.F) {
	read, write, tree := builtIn(f, tool.Read), builtIn(f, tool.Write), admit(f, of(`{"type":"object","properties":{"k":{"type":"array","items":{"$ref":"#"}},"s":{"anyOf":[{"type":"string"},{"type":"integer"}],"default":1}}}`))
	for _, s := range []string{`{"path":"a.txt"}`, `{"path":"a","content":"b"}`, `{"k":[{"k":[]}],"s":"x"}`, `{"path":1e400}`, ``, `[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		for _, tl := range []*tool.Tool{read, write, tree} {
			got, err := tl.Check(args)
			if err != nil {
				if len(violations(t, err)) == 0 {
					t.Fatalf("%q is refused without a reason", args)
				}
				continue
			}
			if !canon.Is(got.Args) {
				t.Fatalf("%q became %q", args, got.Args)
			}
		}
	})
}

// Whatever schema comes from outside, admitting it and checking against it ends, and takes nothing down.
func FuzzSchema(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"type":"integer","multipleOf":0}}}`, `{"type":"object","$ref":"#"}`, `{"type":"object","anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"properties":{"a":{"$ref":"#"}}}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}},"dependencies":{"a":["b"]}}`,
		`{"type":"object","properties":{"a":{"if":{"const":1},"then":false},"b":{"contains":{"enum":[1]},"minContains":0,"uniqueItems":true}},"unevaluatedProperties":false,"propertyNames":{"pattern":"a"},"dependentSchemas":{"a":{"not":{}}}}`,
		`{"type":"object","properties":{"a":{"default":{"b":1},"$ref":"#/properties/b"},"b":{"type":["object","null"],"properties":{"b":{"$ref":"#/properties/a"}}}}}`,
	} {
		f.Add(s, `{"a":1,"b":[1,"a",{}]}`)
	}
	f.Fuzz(func(t *testing.T, schema, args string) {
		tl, err := tool.Admit(of(schema))
		if err != nil {
			return
		}
		got, err := tl.Check([]byte(args))
		if err != nil {
			return
		}
		if again, err := tl.Check(got.Args); err != nil || !bytes.Equal(again.Args, got.Args) {
			t.Fatalf("%s: %q became %s, and that %s, %v", schema, args, got.Args, again.Args, err)
		}
	})
}
