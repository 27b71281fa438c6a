package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai/openaitest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// The calls of a stream are those that the model made, in every form in which servers send them; where they are broken the
// answer is an error that says so, and no call is made up.
func TestToolCallsInAStream(t *testing.T) {
	t.Parallel()
	event := func(delta, finish string) string {
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	calls := func(list string) string { return event(`{"tool_calls":[`+list+`]}`, "null") }
	end := event("{}", `"tool_calls"`) + "data: [DONE]\n\n"
	first := calls(`{"index":0,"id":"a","type":"function","function":{"name":"x","arguments":"{\"k\":"}}`) + calls(`{"index":0,"function":{"arguments":"1}"}}`)
	one := llm.ToolCall{ID: "a", Name: "x", Arguments: `{"k":1}`}
	for name, test := range map[string]struct {
		stream string
		text   string
		want   []llm.ToolCall
		says   string
	}{
		"behind a text":       {event(`{"content":"I look."}`, "null") + first + end, "I look.", []llm.ToolCall{one}, ""},
		"with a plain stop":   {first + event("{}", `"stop"`) + "data: [DONE]\n\n", "", []llm.ToolCall{one}, ""},
		"with the end":        {first + event(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"y"}}]}`, `"tool_calls"`), "", []llm.ToolCall{one, {ID: "b", Name: "y", Arguments: "{}"}}, ""},
		"without an index":    {calls(`{"id":"a","function":{"name":"x","arguments":"{\"k\":1}"}},{"id":"b","function":{"name":"y","arguments":"{}"}}`) + end, "", []llm.ToolCall{one, {ID: "b", Name: "y", Arguments: "{}"}}, ""},
		"cut at the length":   {first + calls(`{"index":1,"id":"b","function":{"name":"y","arguments":"{\"k"}}`) + event("{}", `"length"`), "", nil, ""},
		"broken arguments":    {calls(`{"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\":"}}`) + end, "", nil, `the arguments of "x" are no JSON object`},
		"arguments no string": {calls(`{"index":0,"id":"a","function":{"name":"x","arguments":{"k":1}}}`) + end, "", nil, `the arguments of the tool "x" are damaged`},
		"no name":             {calls(`{"index":0,"id":"a","function":{"arguments":"{}"}}`) + end, "", nil, "does not name it"},
		"no calls":            {event(`{"content":"a"}`, "null") + end, "a", nil, "said to call tools, and calls none"},
		"broken off":          {first, "", nil, "broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Write([]byte(test.stream))
			}))
			t.Cleanup(server.Close)
			text, result, err := servertest.Ask(t, client(t, server.URL, openai.Config{Program: openai.VLLM, Model: "fake", Tools: true}), servertest.Calling())
			if diff := cmp.Diff(test.want, result.Calls); diff != "" || text != test.text {
				t.Errorf("the text is %q; want -, got +:\n%s", text, diff)
			}
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v, want %q", err, test.says)
			}
		})
	}
}

// The server gets the tools and calls as they are, the keys of a schema in their order, which is meaning to a model.
func TestToolsInARequest(t *testing.T) {
	t.Parallel()
	vocabulary, cut := gpt2(t)
	server := openaitest.New(t, openaitest.Options{Cut: cut})
	config := openai.Config{Tokenizer: vocabulary, API: openai.Chat, Tools: true}
	config.Window = 4096
	r := servertest.Calling()
	r.Tools = append(r.Tools, llm.Tool{Name: "now", Schema: `{"z": "<b>", "a": 1.0}`}, llm.Tool{Name: "bare"})
	r = servertest.Answered(r, llm.ToolCall{ID: "c1", Name: "now", Arguments: `{"z": 1, "a": 2}`}, "夜")
	if _, _, err := servertest.Ask(t, client(t, server.URL, config), r); err != nil {
		t.Fatal(err)
	}
	var sent struct {
		Tools    []json.RawMessage `json:"tools"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(server.Requests("/v1/chat/completions")[0], &sent); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{
		1: `{"type":"function","function":{"name":"now","parameters":{"z":"<b>","a":1.0}}}`, 2: `{"type":"function","function":{"name":"bare"}}`,
	} {
		if got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(sent.Tools[i])); got != want {
			t.Errorf("tool %d is %s, want %s", i, got, want)
		}
	}
	for i, want := range map[int]string{
		1: `{"content":"","tool_calls":[{"id":"c1","function":{"arguments":"{\"z\": 1, \"a\": 2}","name":"now"},"type":"function"}],"role":"assistant"}`,
		2: `{"content":"夜","tool_call_id":"c1","role":"tool"}`,
	} {
		if diff := cmp.Diff(decoded(t, want), decoded(t, string(sent.Messages[i]))); diff != "" {
			t.Errorf("message %d, want -, got +:\n%s", i, diff)
		}
	}
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// A server that takes no tools is told of, with what to do.
func TestToolsRefused(t *testing.T) {
	t.Parallel()
	vllm := openaitest.New(t, openaitest.Options{Program: openaitest.VLLM, NoTools: true})
	for tools, says := range map[bool]string{
		false: "tools cannot be sent to this model server",
		true:  "--tool-call-parser to be set; with `tools: false` in the backends file this backend is sent none",
	} {
		_, _, err := servertest.Ask(t, client(t, vllm.URL, openai.Config{Program: openai.VLLM, Tools: tools}), servertest.Calling())
		if servertest.FaultOf(err) != llm.FaultRefused || !strings.Contains(err.Error(), says) {
			t.Errorf("tools %v: %v; want %q", tools, err, says)
		}
	}
}
