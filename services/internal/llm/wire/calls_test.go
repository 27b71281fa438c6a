package wire_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// What a model asks for is put together however its server sends it, and what is broken is said and never mended: a call
// with other arguments than the model wrote would do something that nobody asked for.
func TestCalls(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { data, _ := json.Marshal(text); return data }
	asked := func(all ...string) (calls []llm.ToolCall) {
		for c := range slices.Chunk(all, 3) {
			calls = append(calls, llm.ToolCall{ID: c[0], Name: c[1], Arguments: c[2]})
		}
		return calls
	}
	for name, test := range map[string]struct {
		parts []wire.Part
		want  []llm.ToolCall
		says  string
	}{
		"none":              {nil, nil, ""},
		"in parts":          {[]wire.Part{{0, "a", "x", raw("")}, {0, "", "", raw(`{"k":`)}, {0, "", "", raw(`1}`)}}, asked("a", "x", `{"k":1}`), ""},
		"two, interleaved":  {[]wire.Part{{0, "a", "x", raw("{")}, {1, "b", "y", raw("{")}, {0, "", "", raw("}")}, {1, "", "", raw(`}`)}}, asked("a", "x", "{}", "b", "y", "{}"), ""},
		"two of one index":  {[]wire.Part{{0, "a", "x", raw("{}")}, {0, "b", "x", raw("{}")}}, asked("a", "x", "{}", "b", "x", "{}"), ""},
		"the id each time":  {[]wire.Part{{0, "a", "x", raw("{")}, {0, "a", "x", raw("}")}}, asked("a", "x", "{}"), ""},
		"no index":          {[]wire.Part{{wire.NoIndex, "", "x", raw("{")}, {wire.NoIndex, "", "", raw("}")}, {wire.NoIndex, "", "y", nil}}, asked("", "x", "{}", "", "y", "{}"), ""},
		"no arguments":      {[]wire.Part{{0, "a", "x", json.RawMessage("null")}}, asked("a", "x", "{}"), ""},
		"inside a letter":   {[]wire.Part{{0, "a", "x", json.RawMessage("\"{\\\"k\\\":\\\"\xe5\xa4\"")}, {0, "", "", json.RawMessage("\"\x9c\\\"}\"")}}, asked("a", "x", `{"k":"夜"}`), ""},
		"a huge index":      {[]wire.Part{{1 << 40, "a", "x", raw("{}")}}, asked("a", "x", "{}"), ""},
		"cut":               {[]wire.Part{{0, "a", "x", raw(`{"k":`)}}, nil, `the arguments of "x" are no JSON object`},
		"two objects":       {[]wire.Part{{0, "a", "x", raw(`{}{}`)}}, nil, `the arguments of "x" are no JSON object`},
		"a list":            {[]wire.Part{{0, "a", "x", raw(`[1]`)}}, nil, `the arguments of "x" are no JSON object`},
		"nameless":          {[]wire.Part{{0, "a", "", raw(`{}`)}}, nil, "does not name it"},
		"no string":         {[]wire.Part{{0, "a", "x", json.RawMessage(`5`)}}, nil, `the arguments of the tool "x" are damaged`},
		"bytes that are no": {[]wire.Part{{0, "a", "x", json.RawMessage("\"\xff\"")}}, nil, "damaged"},
		"too long":          {[]wire.Part{{0, "a", "x", raw(strings.Repeat(" ", 1<<20))}, {0, "", "", raw("{}")}}, nil, "longer than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c wire.Calls
			var err error
			for _, p := range test.parts {
				if err = c.Add(p); err != nil {
					break
				}
			}
			var got []llm.ToolCall
			if err == nil {
				got, err = c.Whole()
			}
			said := ""
			if err != nil {
				said = err.Error()
			}
			if diff := cmp.Diff(test.want, got); diff != "" || !strings.Contains(said, test.says) || (test.says == "") != (said == "") || c.Any() != (len(test.parts) > 0) {
				t.Errorf("the error is %q, want %q; want -, got +:\n%s", said, test.says, diff)
			}
		})
	}
}

func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	var c wire.Calls
	for i := range 128 {
		if err := c.Add(wire.Part{Index: i, Name: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Add(wire.Part{Index: 128, Name: "x"}); err == nil || !strings.Contains(err.Error(), "more than 128 tools") {
		t.Errorf("one more gives %v", err)
	}
}
