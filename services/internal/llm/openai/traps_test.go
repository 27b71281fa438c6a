package openai_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai/openaitest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// A text in a chat counts as what it is; what the form costs is off the window.
func TestWannabe23AChatCountsTheTextAlone(t *testing.T) {
	t.Parallel()
	server := openaitest.New(t, openaitest.Options{Program: openaitest.VLLM, Around: 6})
	c := client(t, server.URL, openai.Config{Program: openai.VLLM, API: openai.Chat})
	if n, err := c.Count(t.Context(), "…"); n != 1 || err != nil {
		t.Errorf("the count is %d, %v", n, err)
	}
	if id, err := c.Window(t.Context()); id.Window != 4090 || err != nil {
		t.Errorf("the window is %d, %v", id.Window, err)
	}
	if n, err := c.Count(t.Context(), ""); n != 0 || err != nil {
		t.Errorf("the empty text has %d tokens, %v", n, err)
	}
	if _, result, err := servertest.Ask(t, c, servertest.Request("…", 2)); result.PromptTokens != 7 || err != nil {
		t.Errorf("the result is %+v, %v", result, err)
	}
}

// Where the window comes from, and what an error says to configure.
func TestWindow(t *testing.T) {
	t.Parallel()
	vocabulary, cut := gpt2(t)
	foreign, err := tokenizer.OpenAI("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	vllm := openaitest.Options{Program: openaitest.VLLM}
	for name, test := range map[string]struct {
		server openaitest.Options
		config openai.Config
		want   int
		says   string
	}{
		"told":                  {vllm, openai.Config{Program: openai.VLLM}, 4096, ""},
		"told, config smaller":  {vllm, openai.Config{Program: openai.VLLM, Endpoint: wire.Endpoint{Window: 1000}}, 1000, ""},
		"told, config larger":   {vllm, openai.Config{Program: openai.VLLM, Endpoint: wire.Endpoint{Window: 9000}}, 4096, ""},
		"told by llama.cpp":     {openaitest.Options{Program: openaitest.LlamaCpp, Window: 512}, openai.Config{Program: openai.LlamaCpp}, 512, ""},
		"configured":            {openaitest.Options{}, openai.Config{Endpoint: wire.Endpoint{Window: 8192}, Tokenizer: vocabulary}, 8192, ""},
		"configured, a chat":    {openaitest.Options{}, openai.Config{Endpoint: wire.Endpoint{Window: 8192}, Tokenizer: vocabulary, API: openai.Chat}, 8183, ""},
		"nowhere":               {openaitest.Options{}, openai.Config{Tokenizer: vocabulary}, 0, "set `window` in the backends file"},
		"smaller than the form": {vllm, openai.Config{Program: openai.VLLM, API: openai.Chat, Endpoint: wire.Endpoint{Window: 7}}, 0, "the form of a chat has 7 tokens and the window 7"},
		"no vocabulary":         {openaitest.Options{}, openai.Config{Endpoint: wire.Endpoint{Window: 8192}}, 0, "name the model's vocabulary as `tokenizer`"},
		"another vocabulary":    {openaitest.Options{Program: openaitest.VLLM, Cut: cut}, openai.Config{Program: openai.VLLM, Tokenizer: foreign}, 0, "it is another model's"},
		"many models":           {openaitest.Options{Models: []string{"a", "b"}}, openai.Config{Endpoint: wire.Endpoint{Window: 1}, Tokenizer: vocabulary}, 0, "has 2 models; name one as `model` in the backends file: a, b"},
		"another model":         {vllm, openai.Config{Program: openai.VLLM, Model: "nope"}, 0, `no model "nope"; of the 1 that it has: fake`},
		"no models":             {openaitest.Options{Models: []string{}}, openai.Config{Endpoint: wire.Endpoint{Window: 1}, Tokenizer: vocabulary}, 0, "has no models"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, err := client(t, openaitest.New(t, test.server).URL+"/v1", test.config).Window(t.Context())
			if test.says == "" {
				if err != nil || id.Window != test.want {
					t.Errorf("the window is %d, %v; want %d", id.Window, err, test.want)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v; want %q", err, test.says)
			}
		})
	}
}

// A server that was started again with another model is noticed at once.
func TestAnotherModelAnotherFingerprint(t *testing.T) {
	t.Parallel()
	server := openaitest.New(t, openaitest.Options{Program: openaitest.VLLM})
	c := client(t, server.URL, openai.Config{Program: openai.VLLM})
	first, err := c.Window(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.Restart(openaitest.Options{Program: openaitest.VLLM, Models: []string{"other"}})
	second, err := c.Window(t.Context())
	if err != nil || second.Tokenizer == first.Tokenizer || second.Model != "other" {
		t.Errorf("%+v became %+v, %v", first, second, err)
	}
}

func TestWrongCounts(t *testing.T) {
	t.Parallel()
	for _, wrong := range []int{0, -1, 3} {
		for _, api := range []openai.API{openai.Completions, openai.Chat} {
			server := openaitest.New(t, openaitest.Options{Program: openaitest.VLLM})
			server.Break(openaitest.Faults{Count: &wrong})
			c := client(t, server.URL, openai.Config{Program: openai.VLLM, API: api})
			if n, err := c.Count(t.Context(), "夜"); servertest.FaultOf(err) != llm.FaultCount || n != 0 {
				t.Errorf("%s: %d gives %d, %v", api, wrong, n, err)
			}
		}
	}
	c := client(t, "http://127.0.0.1:1", openai.Config{}) // nobody: it is not asked
	if _, err := c.Count(t.Context(), "夜"); servertest.FaultOf(err) != llm.FaultCount || !strings.Contains(err.Error(), "o200k_base") {
		t.Errorf("without a vocabulary the error is %v", err)
	}
}

// OpenAI takes four stop strings; the others are found here, and the work ends there.
func TestManyStopStrings(t *testing.T) {
	t.Parallel()
	vocabulary, cut := gpt2(t)
	server := openaitest.New(t, openaitest.Options{Cut: cut, Reply: func(string) []string { return []string{"ab", "c[/I", "NST]", "d"} }})
	c := client(t, server.URL, openai.Config{Endpoint: wire.Endpoint{Window: 4096}, Tokenizer: vocabulary})
	for _, test := range []struct {
		stops      []string
		want, stop string
	}{
		{[]string{"1", "2", "3", "4", "5", "[/INST]"}, "abc", "[/INST]"},
		{[]string{"1", "2", "3", "c", "[/INST]"}, "ab", ""},
		{[]string{"1", "2", "3", "4", "d!"}, "abc[/INST]d", ""},
	} {
		text, result, err := servertest.Ask(t, c, servertest.Request("夜", 9, test.stops...))
		if text != test.want || err != nil || result.Finish != llm.FinishStop || result.StopString != test.stop {
			t.Errorf("%q gives %q with %+v, %v", test.stops, text, result, err)
		}
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	vocabulary, cut := gpt2(t)
	for name, test := range map[string]struct {
		options openaitest.Options
		config  openai.Config
		stops   []string
		most    int
		text    string
		fault   llm.Fault
		want    llm.Result
	}{
		"usage of its own": {
			openaitest.Options{Program: openaitest.VLLM}, openai.Config{Program: openai.VLLM}, nil, 9, "abcdef", "",
			llm.Result{Finish: llm.FinishStop, PromptTokens: 2, CachedTokens: 1, CacheTold: true, AnswerTokens: 3},
		},
		"usage with the end": {
			openaitest.Options{Program: openaitest.LlamaCpp}, openai.Config{Program: openai.LlamaCpp}, nil, 9, "abcdef", "",
			llm.Result{Finish: llm.FinishStop, PromptTokens: 2, CachedTokens: 1, CacheTold: true, AnswerTokens: 3, PromptTime: 2500 * time.Microsecond, AnswerTime: 24 * time.Millisecond},
		},
		"a stop string by name": {
			openaitest.Options{Program: openaitest.VLLM}, openai.Config{Program: openai.VLLM}, []string{"x", "d"}, 9, "abc", "",
			llm.Result{Finish: llm.FinishStop, StopString: "d", PromptTokens: 2, CachedTokens: 1, CacheTold: true, AnswerTokens: 3},
		},
		"length": {
			openaitest.Options{Program: openaitest.VLLM}, openai.Config{Program: openai.VLLM}, nil, 2, "abcd", "",
			llm.Result{Finish: llm.FinishLength, PromptTokens: 2, CachedTokens: 1, CacheTold: true, AnswerTokens: 2},
		},
		"no [DONE]": {
			openaitest.Options{Program: openaitest.VLLM, NoDone: true}, openai.Config{Program: openai.VLLM}, nil, 2, "abcd", "",
			llm.Result{Finish: llm.FinishLength, PromptTokens: 2, CachedTokens: 1, CacheTold: true, AnswerTokens: 2},
		},
		"content filter": {
			openaitest.Options{Cut: cut, Finish: "content_filter"}, openai.Config{Endpoint: wire.Endpoint{Window: 99}, Tokenizer: vocabulary}, nil, 9, "abcdef", llm.FaultCut, llm.Result{},
		},
		"another reason": {
			openaitest.Options{Cut: cut, Finish: "tool_calls"}, openai.Config{Endpoint: wire.Endpoint{Window: 99}, Tokenizer: vocabulary}, nil, 9, "abcdef", llm.FaultProtocol, llm.Result{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.options.Reply = func(string) []string { return []string{"ab", "cd", "ef"} }
			c := client(t, openaitest.New(t, test.options).URL, test.config)
			if _, _, err := servertest.Ask(t, c, servertest.Request("夜の", test.most)); servertest.FaultOf(err) != test.fault {
				t.Fatal(err) // and fills the cache
			}
			text, result, err := servertest.Ask(t, c, servertest.Request("夜の", test.most, test.stops...))
			if diff := cmp.Diff(test.want, result); diff != "" || text != test.text || servertest.FaultOf(err) != test.fault {
				t.Errorf("the answer is %q, %v; want -, got +:\n%s", text, err, diff)
			}
		})
	}
}

func TestTheRequest(t *testing.T) {
	t.Parallel()
	vocabulary, _ := gpt2(t)
	f := func(v float64) *float64 { return &v }
	n := func(v int) *int { return &v }
	seed := uint32(4294967295)
	common := llm.Sampling{
		Temperature: f(0), TopP: f(0.9), PresencePenalty: f(0.1), FrequencyPenalty: f(0.2), Seed: &seed, MaxTokens: 3, Stop: []string{"。"},
		LogitBias: []llm.Bias{{Token: 5, Bias: -1.5}},
	}
	more := common
	more.TopK, more.MinP, more.RepeatPenalty, more.BanEOS = n(40), f(0.05), f(1.1), true
	all := more
	all.TypicalP, all.RepeatRange, all.XTC, all.Grammar = f(0.8), n(64), &llm.XTC{Probability: 0.5, Threshold: 0.1}, "root ::= \"a\""
	user := []any{map[string]any{"role": "user", "content": "<夜> & \u2028"}}
	for name, test := range map[string]struct {
		program  openaitest.Program
		config   openai.Config
		sampling llm.Sampling
		path     string
		want     map[string]any
	}{
		"OpenAI": {openaitest.OpenAI, openai.Config{Endpoint: wire.Endpoint{Window: 99}, Tokenizer: vocabulary}, common, "/v1/completions", map[string]any{
			"prompt": "<夜> & \u2028", "max_tokens": 3., "logit_bias": map[string]any{"5": -1.5},
		}},
		"OpenAI chat": {openaitest.OpenAI, openai.Config{Endpoint: wire.Endpoint{Window: 99}, Tokenizer: vocabulary, API: openai.Chat}, common, "/v1/chat/completions", map[string]any{
			"messages": user, "max_completion_tokens": 3., "logit_bias": map[string]any{"5": -1.5},
		}},
		"vLLM": {openaitest.VLLM, openai.Config{Program: openai.VLLM}, more, "/v1/completions", map[string]any{
			"prompt": "<夜> & \u2028", "max_tokens": 3., "logit_bias": map[string]any{"5": -1.5},
			"top_k": 40., "min_p": 0.05, "repetition_penalty": 1.1, "ignore_eos": true,
		}},
		"vLLM chat": {openaitest.VLLM, openai.Config{Program: openai.VLLM, API: openai.Chat}, common, "/v1/chat/completions", map[string]any{
			"messages": user, "max_tokens": 3., "logit_bias": map[string]any{"5": -1.5},
		}},
		"llama.cpp": {openaitest.LlamaCpp, openai.Config{Program: openai.LlamaCpp}, all, "/v1/completions", map[string]any{
			"prompt": "<夜> & \u2028", "max_tokens": 3., "logit_bias": []any{[]any{5., -1.5}}, "top_k": 40., "min_p": 0.05, "repeat_penalty": 1.1,
			"ignore_eos": true, "typical_p": 0.8, "repeat_last_n": 64., "xtc_probability": 0.5, "xtc_threshold": 0.1, "grammar": "root ::= \"a\"",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := openaitest.New(t, openaitest.Options{Program: test.program})
			if _, _, err := servertest.Ask(t, client(t, server.URL, test.config), llm.Request{Prompt: "<夜> & \u2028", Sampling: test.sampling}); err != nil {
				t.Fatal(err)
			}
			for key, v := range map[string]any{
				"model": "fake", "stream": true, "stream_options": map[string]any{"include_usage": true}, "stop": []any{"。"}, "seed": 4294967295.,
				"temperature": 0., "top_p": 0.9, "presence_penalty": 0.1, "frequency_penalty": 0.2,
			} {
				test.want[key] = v
			}
			var got map[string]any
			if err := json.Unmarshal(server.Requests(test.path)[0], &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestRefusedSampling(t *testing.T) {
	t.Parallel()
	half, k := 0.5, 3
	for want, test := range map[string]struct {
		program  openai.Program
		sampling llm.Sampling
	}{
		"has no top_k, no min_p":    {openai.OpenAI, llm.Sampling{TopK: &k, MinP: &half}},
		"has no dry":                {openai.VLLM, llm.Sampling{DRY: &llm.DRY{}}},
		"has no top_a":              {openai.LlamaCpp, llm.Sampling{TopA: &half}},
		"logit_bias[0].bias is 101": {openai.OpenAI, llm.Sampling{LogitBias: []llm.Bias{{Token: 3, Bias: 101}}}},
	} {
		test.sampling.MaxTokens = 1
		_, err := client(t, "http://127.0.0.1:1", openai.Config{Program: test.program}).Generate(t.Context(), llm.Request{Prompt: "x", Sampling: test.sampling})
		if servertest.FaultOf(err) != llm.FaultRefused || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v", want, err)
		}
	}
}

// What servers say of prompts that are too long, of models, quotas and themselves.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for body, test := range map[string]struct {
		status         int
		want           llm.Fault
		tokens, window int
		says           string
	}{
		`{"error":{"message":"This model's maximum context length is 4097 tokens, however you requested 4106 tokens (10 in your prompt; 4096 for the completion).","type":"invalid_request_error","code":"context_length_exceeded"}}`:                           {400, llm.FaultTooLong, 10, 4097, ""},
		`{"error":{"message":"This model's maximum context length is 16384 tokens. However, you requested 8192 output tokens and your prompt contains at least 8193 input tokens, for a total of at least 16385 tokens.","type":"BadRequestError","code":400}}`: {400, llm.FaultTooLong, 8193, 16384, ""},
		`{"error":{"message":"'max_tokens' is too large: 8000. This model's maximum context length is 4096 tokens and your request has 2778 input tokens (8000 > 4096 - 2778).","type":"BadRequestError","code":400}}`:                                          {400, llm.FaultTooLong, 2778, 4096, ""},
		`{"object":"error","message":"This model's maximum context length is 2048 tokens. However, you requested 2100 tokens (2000 in the messages, 100 in the completion).","type":"BadRequestError","code":400}`:                                              {400, llm.FaultTooLong, 2000, 2048, ""},
		`{"error":{"message":"You passed 4097 input tokens and requested 0 output tokens. However, the model's context length is only 4096 tokens","type":"BadRequestError","code":400}}`:                                                                       {400, llm.FaultTooLong, 4097, 4096, ""},
		`{"error":{"message":"The decoder prompt (length 3000) is longer than the maximum model length of 2048.","code":400}}`:                                                                                                                                  {400, llm.FaultTooLong, 3000, 2048, ""},
		`{"error":{"code":400,"message":"m","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}`:                                                                                                                                                 {400, llm.FaultTooLong, 9, 8, ""},
		`{"error":{"message":"You exceeded your current quota, please check your plan","type":"insufficient_quota","code":"insufficient_quota"}}`:                                                                                                               {429, llm.FaultRefused, 0, 0, "quota"},
		`{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`:                                                                                                                                                             {429, llm.FaultBusy, 0, 0, "Rate limit"},
		`{"error":{"message":"The model 'x' does not exist","type":"invalid_request_error","code":"model_not_found"}}`:                                                                                                                                          {404, llm.FaultRefused, 0, 0, "does not exist"},
		`{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`:                                                                                                                                                                           {503, llm.FaultLoading, 0, 0, ""},
		`{"error":{"message":"Incorrect API key provided: secret.","code":"invalid_api_key"}}`:                                                                                                                                                                  {401, llm.FaultRefused, 0, 0, "api_key_env"},
		`{"error":{"message":"1 validation error: {'type': 'missing', 'input': {'prompt': 'ひみつ'}}","type":"BadRequestError","code":400}}`:                                                                                                                       {400, llm.FaultRefused, 0, 0, "validation error"},
		`{"detail":[{"type":"missing","loc":["body"],"msg":"Field required","input":{"prompt":"ひみつ"}}]}`:                                                                                                                                                        {422, llm.FaultRefused, 0, 0, "Field required"},
		`{"error":"model is overloaded"}`: {503, llm.FaultBusy, 0, 0, "model is overloaded"},
	} {
		server := openaitest.New(t, openaitest.Options{Program: openaitest.VLLM})
		server.Break(openaitest.Faults{Refuse: test.status, Body: body})
		_, err := client(t, server.URL, openai.Config{Program: openai.VLLM, Model: "fake"}).Generate(t.Context(), servertest.Request("ひみつ", 1))
		var e *llm.Error
		if !errors.As(err, &e) || e.Fault != test.want || e.Tokens != test.tokens || e.Window != test.window || !strings.Contains(e.Message, test.says) {
			t.Errorf("%s gives %+v", body, err)
		}
		if strings.Contains(err.Error(), "ひみつ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells too much: %v", err)
		}
	}
}

// Streams in which something else stands than an answer.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	const piece = `data: {"choices":[{"index":0,"text":"a","finish_reason":null}]}` + "\n\n"
	for stream, want := range map[string]struct {
		text  string
		fault llm.Fault
	}{
		piece + "data: {\"error\":{\"message\":\"boom\",\"code\":500}}\n\ndata: [DONE]\n\n":   {"a", llm.FaultCut},
		piece + "data: {\"object\":\"error\",\"message\":\"boom\",\"code\":500}\n\n":          {"a", llm.FaultCut},
		piece + "error: {\"code\":500,\"message\":\"boom\"}\n\n":                              {"a", llm.FaultCut},
		piece + "data: {\"error\":{\"message\":\"maximum context length\",\"code\":400}}\n\n": {"a", llm.FaultTooLong},
		piece + "data: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n":                   {"a", llm.FaultBusy},
		piece + "data: [DONE]\n\n":                                   {"a", llm.FaultProtocol},
		piece + "data: {}\n\n":                                       {"a", llm.FaultProtocol},
		piece + "data: {\"choices\":5}\n\n":                          {"a", llm.FaultProtocol},
		piece + "data: []\n\n":                                       {"a", llm.FaultProtocol},
		piece + "data: {\"choices\":[{\"index\":0,\"text\":5}]}\n\n": {"a", llm.FaultProtocol},
		piece + "data: {\"choices\":[]}\n\n":                         {"a", llm.FaultCut},
		piece:                                                        {"a", llm.FaultCut},
		piece + ": ping\n\ndata: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"stop\"}]}\n\n":         {"a", ""},
		piece + "data: {\"choices\":[{\"index\":0,\"text\":\"\",\"finish_reason\":\"stop\",\"stop_reason\":2}]}\n\n": {"a", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Write([]byte(stream))
		}))
		text, result, err := servertest.Ask(t, client(t, server.URL, openai.Config{Program: openai.VLLM, Model: "fake"}), servertest.Request("x", 1))
		if text != want.text || servertest.FaultOf(err) != want.fault || result.StopString != "" {
			t.Errorf("%q gives %q, %v with %+v; want %+v", stream, text, err, result, want)
		}
		server.Close()
	}
}

// A chat's events have other things than text.
func TestChatEvents(t *testing.T) {
	t.Parallel()
	const begin = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null},"finish_reason":null}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}` + "\n\n"
	for stream, fault := range map[string]llm.Fault{
		begin + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n": "",
		begin + `data: {"choices":[{"index":0,"delta":{"refusal":"I cannot."}}]}` + "\n\n":                   llm.FaultCut,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Write([]byte(stream))
		}))
		text, _, err := servertest.Ask(t, client(t, server.URL, openai.Config{Program: openai.VLLM, API: openai.Chat, Model: "fake"}), servertest.Request("x", 1))
		if text != "a" || servertest.FaultOf(err) != fault {
			t.Errorf("%q gives %q, %v", stream, text, err)
		}
		server.Close()
	}
}

// With a vocabulary here, a server that counts is asked for it once, at Window, and agrees.
func TestOwnVocabulary(t *testing.T) {
	t.Parallel()
	vocabulary, cut := gpt2(t)
	// The numbers of the fake's tokens are its own: only a server with the same numbers agrees.
	server := openaitest.New(t, openaitest.Options{Program: openaitest.VLLM, Cut: cut})
	c := client(t, server.URL, openai.Config{Program: openai.VLLM, Tokenizer: vocabulary})
	text := strings.Repeat("夜の港 and a port\n", 100)
	n, err := c.Count(t.Context(), text)
	if want := vocabulary.Count(text, tokenizer.Prompt); n != want || err != nil || !c.CountsHere() {
		t.Errorf("the count is %d, %v; want %d", n, err, want)
	}
	if asked := len(server.Requests("/tokenize")); asked != 0 {
		t.Errorf("the server counted %d texts", asked)
	}
	if _, err := c.Window(t.Context()); servertest.FaultOf(err) != llm.FaultProtocol {
		t.Errorf("other numbers are not noticed: %v", err)
	}
	pieces, err := c.Pieces(t.Context(), "夜の港")
	if err != nil || len(pieces) != len(cut("夜の港")) || len(servertest.Bytes("夜の港")) != sum(pieces) {
		t.Errorf("the pieces are %v, %v", pieces, err)
	}
}

func sum(all []int) int {
	n := 0
	for _, v := range all {
		n += v
	}
	return n
}
