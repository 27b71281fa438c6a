package gemini_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/gemini"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/gemini/geminitest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// A conversation is told in turns of user and model, what the system says first apart from them; calls made together are
// answered in one turn, and go back with their signature and the keys of their arguments in order. The service refuses others.
func TestConversationAsTurns(t *testing.T) {
	t.Parallel()
	server := geminitest.New(t, geminitest.Options{})
	c := client(t, server.URL, gemini.Config{})
	r := servertest.Request("", 7)
	r.Messages = []llm.Message{
		{Role: llm.RoleSystem, Content: "s"}, {Role: llm.RoleUser, Content: "<夜>"}, {Role: llm.RoleAssistant},
		{Role: llm.RoleSystem, Content: "late"},
		{Role: llm.RoleAssistant, Content: "I look.", Calls: []llm.ToolCall{
			{ID: "c1", Name: "x", Arguments: `{"z": 1, "a": "<b>"}`, Signature: "c2lnbmVk"}, {ID: "c2", Name: "y", Arguments: "{}"},
		}},
		{Role: llm.RoleTool, CallID: "c1", Content: "港"}, {Role: llm.RoleTool, CallID: "c2"},
	}
	r.Tools = []llm.Tool{{Name: "x", Description: "d", Schema: `{"type":"object","properties":{"z":{},"a":{}}}`}, {Name: "y"}}
	if _, _, err := servertest.Ask(t, c, r); err != nil {
		t.Fatal(err)
	}
	want := `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"parts":[{"text":"<夜>"},{"text":"late"}],"role":"user"},` +
		`{"parts":[{"text":"I look."},{"functionCall":{"id":"c1","name":"x","args":{"z":1,"a":"<b>"}},"thoughtSignature":"c2lnbmVk"},` +
		`{"functionCall":{"id":"c2","name":"y","args":{}}}],"role":"model"},` +
		`{"parts":[{"functionResponse":{"id":"c1","name":"x","response":{"output":"港"}}},{"functionResponse":{"id":"c2","name":"y","response":{"output":""}}}],"role":"user"}],` +
		`"tools":[{"functionDeclarations":[{"description":"d","name":"x","parametersJsonSchema":{"type":"object","properties":{"z":{},"a":{}}}},{"name":"y"}]}],` +
		`"generationConfig":{"maxOutputTokens":7}}`
	if diff := cmp.Diff(want, strings.TrimSpace(string(server.Requests(generatePath)[0]))); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// A system message alone is what the model answers: a request without a turn is refused.
func TestASystemMessageAlone(t *testing.T) {
	t.Parallel()
	r := servertest.Request("", 7)
	r.Messages = []llm.Message{{Role: llm.RoleSystem, Content: "s"}}
	if text, _, err := servertest.Ask(t, client(t, geminitest.New(t, geminitest.Options{}).URL, gemini.Config{}), r); text == "" || err != nil {
		t.Errorf("it is answered with %q, %v", text, err)
	}
}

// A model that takes no functions is told of, with what to do.
func TestToolsRefused(t *testing.T) {
	t.Parallel()
	server := geminitest.New(t, geminitest.Options{NoTools: true})
	_, _, err := servertest.Ask(t, client(t, server.URL, gemini.Config{}), servertest.Calling())
	if servertest.FaultOf(err) != llm.FaultRefused || !strings.Contains(err.Error(), "is not enabled for models/gemini-story; with `tools: false`") {
		t.Errorf("the error is %v", err)
	}
}

// The calls of an answer, with what must come back with them, and those that nobody can read.
func TestFunctionCalls(t *testing.T) {
	t.Parallel()
	parts := func(list string) string {
		return "data: {\"candidates\":[{\"content\":{\"parts\":[" + list + "],\"role\":\"model\"}}]}\n\n"
	}
	end := func(reason string) string {
		return fmt.Sprintf("data: {\"candidates\":[{\"content\":{},\"finishReason\":%q}]}\n\n", reason)
	}
	const one = `{"functionCall":{"id":"f1","name":"x","args":{"z": 1, "a": 2}},"thoughtSignature":"c2ln"}`
	call := llm.ToolCall{ID: "f1", Name: "x", Arguments: `{"z": 1, "a": 2}`, Signature: "c2ln"}
	for name, test := range map[string]struct {
		stream string
		text   string
		want   []llm.ToolCall
		fault  llm.Fault
	}{
		"behind a text":  {parts(`{"text":"I look."},{"text":"hm","thought":true},`+one) + end("STOP"), "I look.", []llm.ToolCall{call}, ""},
		"two":            {parts(one+`,{"functionCall":{"name":"y"}}`) + end("STOP"), "", []llm.ToolCall{call, {Name: "y", Arguments: "{}"}}, ""},
		"cut":            {parts(`{"text":"a"},`+one) + end("MAX_TOKENS"), "a", nil, ""},
		"a list":         {parts(`{"functionCall":{"name":"x","args":[1]}}`) + end("STOP"), "", nil, llm.FaultProtocol},
		"no name":        {parts(`{"functionCall":{"args":{}}}`) + end("STOP"), "", nil, llm.FaultProtocol},
		"cannot be read": {end("MALFORMED_FUNCTION_CALL"), "", nil, llm.FaultProtocol},
		"not offered":    {end("UNEXPECTED_TOOL_CALL"), "", nil, llm.FaultProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Write([]byte(test.stream))
			}))
			t.Cleanup(server.Close)
			text, result, err := servertest.Ask(t, client(t, server.URL, gemini.Config{}), servertest.Calling())
			if diff := cmp.Diff(test.want, result.Calls); diff != "" || text != test.text || servertest.FaultOf(err) != test.fault {
				t.Errorf("the text is %q, %v; want -, got +:\n%s", text, err, diff)
			}
		})
	}
}
