package llamacpp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// talking is a conversation with a tool that is answered with a text.
func talking(stops ...string) llm.Request {
	r := servertest.Calling()
	r.Messages[0].Content = "Name the four seasons."
	r.Sampling.Stop = stops
	return r
}

// Beside tools an answer is what it is without: sampling and seed arrive, the stop string that ended it is told, and so are
// its figures, although the end of the stream, where they come, was not waited for.
func TestToolsChangeNothingElse(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{Tools: true, Reply: func(string) []string { return []string{"ab", "c[E", "ND]", "d"} }})
	c := asked(t, server.URL)
	r := talking("never", "[END]")
	seed, top := uint32(4294967295), 40
	r.Sampling.Seed, r.Sampling.TopK, r.Sampling.LogitBias = &seed, &top, []llm.Bias{{Token: 5, Bias: -1.5}}
	if _, _, err := servertest.Ask(t, c, r); err != nil { // and fills the cache
		t.Fatal(err)
	}
	text, result, err := servertest.Ask(t, c, r)
	n := len([]rune(r.Messages[0].Content)) + 7
	want := llm.Result{Finish: llm.FinishStop, StopString: "[END]", PromptTokens: n, CachedTokens: n - 1, CacheTold: true, AnswerTokens: 3}
	result.PromptTime, result.AnswerTime = 0, 0
	if diff := cmp.Diff(want, result); diff != "" || text != "abc" || err != nil {
		t.Errorf("the answer is %q, %v; want -, got +:\n%s", text, err, diff)
	}
	var sent map[string]any
	if err := json.Unmarshal(server.Requests("/v1/chat/completions")[0], &sent); err != nil {
		t.Fatal(err)
	}
	delete(sent, "messages")
	delete(sent, "tools")
	if diff := cmp.Diff(map[string]any{
		"stream": true, "stream_options": map[string]any{"include_usage": true}, "max_tokens": 60., "cache_prompt": true, "reasoning_format": "none",
		"timings_per_token": true, "temperature": 0., "seed": 4294967295., "top_k": 40., "logit_bias": []any{[]any{5., -1.5}},
	}, sent); diff != "" {
		t.Errorf("the request, want -, got +:\n%s", diff)
	}
}

// A server drops tools without a word where its template has no place for them: it is asked, afresh at each Window.
func TestToolsAreAskedFor(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{})
	c := asked(t, server.URL)
	if _, _, err := servertest.Ask(t, c, talking()); servertest.FaultOf(err) != llm.FaultRefused || !strings.Contains(err.Error(), "tools cannot be sent") {
		t.Errorf("without a place for tools: %v", err)
	}
	server.Restart(llmtest.Options{Tools: true})
	if _, err := c.Window(t.Context()); err != nil || !c.Tells().Tools {
		t.Errorf("with one: %+v, %v", c.Tells(), err)
	}
	if _, _, err := servertest.Ask(t, c, talking()); err != nil {
		t.Error(err)
	}
}

// A call that was made once stays a part of the conversation, also where no tools are offered any more.
func TestACallWithoutTools(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{})
	r := servertest.Answered(servertest.Calling(), llm.ToolCall{ID: "c1", Name: "node_detail", Arguments: servertest.Arguments}, "The sea is blue.")
	r.Tools = nil
	if _, _, err := servertest.Ask(t, asked(t, server.URL), r); err != nil {
		t.Fatal(err)
	}
	sent := string(server.Requests("/v1/chat/completions")[0])
	for _, want := range []string{`"tool_calls"`, `"tool_call_id":"c1"`, "The sea is blue."} {
		if !strings.Contains(sent, want) {
			t.Errorf("%s is not in %s", want, sent)
		}
	}
}

// The real server tells in each event what came from the cache, so that an answer that a stop string ends has its figures.
func TestToolsAndAStopStringOfARealServer(t *testing.T) {
	c := asked(t, testkit.ModelWithTools(t))
	whole, first, err := servertest.Ask(t, c, talking())
	if err != nil || len(whole) < 4 {
		t.Fatalf("%q, %v", whole, err)
	}
	stop := whole[len(whole)/2:]
	text, result, err := servertest.Ask(t, c, talking("never", stop))
	want, _, _ := strings.Cut(whole, stop)
	if text != want || err != nil || result.StopString != stop || result.Finish != llm.FinishStop {
		t.Errorf("%q before %q is %q with %+v, %v", whole, stop, text, result, err)
	}
	if result.PromptTokens != first.PromptTokens || result.CachedTokens != result.PromptTokens-1 || result.AnswerTokens < 1 || result.AnswerTokens > first.AnswerTokens {
		t.Errorf("the figures are %+v; of the whole answer %+v", result, first)
	}
}

// What the model was asked before it called is in the cache of the real server when it goes on.
func TestTheCacheOfARealServerHoldsACall(t *testing.T) {
	c := asked(t, testkit.ModelWithTools(t))
	_, first, err := servertest.Ask(t, c, servertest.Calling())
	if err != nil || len(first.Calls) != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	_, later, err := servertest.Ask(t, c, servertest.Answered(servertest.Calling(), first.Calls[0], "The sea is blue."))
	if err != nil || !later.CacheTold || later.CachedTokens < first.PromptTokens {
		t.Errorf("%d of %d tokens are cached, %v; before the call there were %d", later.CachedTokens, later.PromptTokens, err, first.PromptTokens)
	}
}

// asked is a client that knows what its server tells of itself.
func asked(t *testing.T, address string) *llamacpp.Client {
	t.Helper()
	c := client(t, address)
	if _, err := c.Window(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}
