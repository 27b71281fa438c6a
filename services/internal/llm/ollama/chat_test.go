package ollama_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/ollama/ollamatest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

const chatPath = "/api/chat"

// A conversation goes out with the switches of a prompt, arguments as an object in the order of the model, and the name of
// the tool with its answer: templates of models ask for it.
func TestChatRequest(t *testing.T) {
	t.Parallel()
	server := fake(t, ollamatest.Options{Tools: true})
	c := client(t, wire.Endpoint{Address: server.URL, Window: 4096})
	if _, err := c.Window(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := servertest.Calling()
	r.Messages = append([]llm.Message{{Role: llm.RoleSystem, Content: "s"}}, r.Messages[0])
	r.Messages[1].Content, r.Sampling.Stop = "<夜>", []string{"。"}
	r = servertest.Answered(r, llm.ToolCall{Name: "node_detail", Arguments: `{"z": 1, "a": "<b>"}`}, "港")
	if _, _, err := servertest.Ask(t, c, r); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"story:latest","messages":[{"role":"system","content":"s"},{"role":"user","content":"<夜>"},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"call-1","function":{"index":0,"name":"node_detail","arguments":{"z":1,"a":"<b>"}}}]},` +
		`{"role":"tool","content":"港","tool_name":"node_detail","tool_call_id":"call-1"}],` +
		`"tools":[{"type":"function","function":{"name":"node_detail","description":"Show a node in full.",` +
		`"parameters":{"type":"object","properties":{"node_id":{"type":"string"}},"required":["node_id"]}}}],` +
		`"stream":true,"truncate":false,"shift":false,"think":false,"options":{"num_ctx":4096,"num_predict":60,"stop":["。"],"temperature":0}}`
	if diff := cmp.Diff(want, strings.TrimSpace(string(server.Requests(chatPath)[0]))); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// A conversation that may not fit is refused and never sent, also where a build would drop its beginning without a word. What
// is taken for its form is more than the form that a model has.
func TestALongConversationIsNotSent(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		server := fake(t, ollamatest.Options{Old: old})
		c := client(t, wire.Endpoint{Address: server.URL, Window: 64})
		talk := func(tokens int) llm.Request {
			r := servertest.Request("", 9)
			r.Messages = []llm.Message{{Role: llm.RoleSystem, Content: "7"}, {Role: llm.RoleUser, Content: strings.Repeat("7", tokens)}}
			return r
		}
		_, err := c.Generate(t.Context(), talk(64))
		var e *llm.Error
		if !errors.As(err, &e) || e.Fault != llm.FaultTooLong || e.Window != 64 || e.Tokens < 64+2 || server.Calls(chatPath) != 0 {
			t.Errorf("old %v: the error is %v, after %d requests", old, err, server.Calls(chatPath))
		}
		if _, result, err := servertest.Ask(t, c, talk(16)); err != nil || result.PromptTokens < 17 || result.AnswerTokens != 9 {
			t.Errorf("old %v: a short one gives %+v, %v", old, result, err)
		}
	}
}

// Whether a model takes tools is told with its description, and a model that was fetched anew may take them.
func TestWhoTakesTools(t *testing.T) {
	t.Parallel()
	server := fake(t, ollamatest.Options{})
	c := client(t, wire.Endpoint{Address: server.URL, Window: 4096})
	for digest, tools := range map[string]bool{"d2": true, "d3": false} {
		server.Restart(ollamatest.Options{Digest: digest, Tools: tools})
		if _, err := c.Window(t.Context()); err != nil || c.Tells().Tools != tools {
			t.Errorf("%v is told as %v, %v", tools, c.Tells().Tools, err)
		}
	}
}

// What a line of a conversation says, and calls that are none.
func TestChatLines(t *testing.T) {
	t.Parallel()
	const end = `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}` + "\n"
	calls := func(list string) string {
		return `{"message":{"content":"","tool_calls":[` + list + `]},"done":false}` + "\n"
	}
	one := llm.ToolCall{Name: "x", Arguments: `{"z": 1, "a": 2}`}
	for name, test := range map[string]struct {
		stream string
		text   string
		want   []llm.ToolCall
		fault  llm.Fault
	}{
		"text":             {`{"message":{"content":"夜"},"done":false}` + "\n" + end, "夜", nil, ""},
		"no id":            {calls(`{"function":{"name":"x","arguments":{"z": 1, "a": 2}}}`) + end, "", []llm.ToolCall{one}, ""},
		"two of one index": {calls(`{"function":{"index":0,"name":"x","arguments":{"z": 1, "a": 2}}}`) + calls(`{"id":"b","function":{"index":0,"name":"y","arguments":{}}}`) + end, "", []llm.ToolCall{one, {ID: "b", Name: "y", Arguments: "{}"}}, ""},
		"with the end":     {`{"message":{"content":"a","tool_calls":[{"function":{"name":"x","arguments":{"z": 1, "a": 2}}}]},"done":true,"done_reason":"stop"}` + "\n", "a", []llm.ToolCall{one}, ""},
		"cut":              {calls(`{"function":{"name":"x","arguments":{}}}`) + `{"message":{},"done":true,"done_reason":"length"}` + "\n", "", nil, ""},
		"no object":        {calls(`{"function":{"name":"x","arguments":"{}"}}`) + end, "", nil, llm.FaultProtocol},
		"no name":          {calls(`{"function":{"arguments":{}}}`) + end, "", nil, llm.FaultProtocol},
		"thoughts":         {`{"message":{"content":"","thinking":"hm"},"done":false}` + "\n", "", nil, llm.FaultProtocol},
		"broken off":       {calls(`{"function":{"name":"x","arguments":{}}}`), "", nil, llm.FaultCut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/api/tags":
					w.Write([]byte(`{"models":[{"name":"story:latest","digest":"d"}]}`))
				case "/api/show":
					w.Write([]byte(`{"capabilities":["completion","tools"]}`))
				default:
					w.Header().Set("Content-Type", "application/x-ndjson")
					w.Write([]byte(test.stream))
				}
			}))
			t.Cleanup(server.Close)
			c := client(t, wire.Endpoint{Address: server.URL, Window: 4096})
			if _, err := c.Window(t.Context()); err != nil {
				t.Fatal(err)
			}
			text, result, err := servertest.Ask(t, c, servertest.Calling())
			if diff := cmp.Diff(test.want, result.Calls); diff != "" || text != test.text || servertest.FaultOf(err) != test.fault {
				t.Errorf("the text is %q, %v; want -, got +:\n%s", text, err, diff)
			}
		})
	}
}
