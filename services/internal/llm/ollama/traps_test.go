package ollama_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/ollama/ollamatest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

const generatePath = "/api/generate"

// The window is what a request asks for or what the model is loaded with, and looking for it loads nothing.
func TestWindow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		server ollamatest.Options
		window int
		want   int
		says   string
	}{
		"loaded":          {ollamatest.Options{Loaded: 8192}, 0, 8192, ""},
		"asked for":       {ollamatest.Options{Loaded: 2048}, 6000, 6000, ""},
		"all that it has": {ollamatest.Options{Trained: 6000}, 6000, 6000, ""},
		"more":            {ollamatest.Options{Trained: 2048}, 6000, 2048, ""},
		"nobody knows":    {ollamatest.Options{Trained: -1}, 6000, 6000, ""},
		"not loaded":      {ollamatest.Options{}, 0, 0, "is not loaded, and only a loaded one has a window; set `window`"},
		"another model":   {ollamatest.Options{Model: "tale:latest"}, 6000, 0, `has no model "story" (/api/tags); fetch it with`},
		"another tag":     {ollamatest.Options{Model: "story:4b"}, 6000, 0, `has no model "story" (/api/tags); fetch it with`},
		"runs elsewhere":  {ollamatest.Options{Remote: "https://models.example"}, 6000, 0, "runs at https://models.example"},
		"wants a key":     {ollamatest.Options{APIKey: "another"}, 6000, 0, "wants another API key (api_key_env or api_key_file)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fake(t, test.server)
			c := client(t, wire.Endpoint{Address: server.URL, Window: test.window})
			id, err := c.Window(t.Context())
			if test.says == "" {
				if err != nil || id.Window != test.want || id.Model != "story:latest" {
					t.Errorf("the identity is %+v, %v; want a window of %d", id, err, test.want)
				}
			} else if servertest.FaultOf(err) != llm.FaultRefused || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v; want %q", err, test.says)
			}
			if _, err := c.Generate(t.Context(), servertest.Request("夜", 3)); (err == nil) != (test.says == "") {
				t.Errorf("asked for an answer it says %v", err)
			}
			if server.Calls(generatePath) > 0 && test.says != "" {
				t.Error("the prompt was sent")
			}
		})
	}
}

// Another model under the same name is another backend, and the long description is read once for each.
func TestAnotherModelUnderTheName(t *testing.T) {
	t.Parallel()
	server := fake(t, ollamatest.Options{})
	c := client(t, wire.Endpoint{Address: server.URL, Window: 512})
	first, err := c.Window(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Window(t.Context()); again != first || err != nil || server.Calls("/api/show") != 1 {
		t.Errorf("%+v became %+v, %v, after %d descriptions", first, again, err, server.Calls("/api/show"))
	}
	server.Restart(ollamatest.Options{Digest: "d2"})
	if other, err := c.Window(t.Context()); other.Tokenizer == first.Tokenizer || err != nil || server.Calls("/api/show") != 2 {
		t.Errorf("%+v became %+v, %v", first, other, err)
	}
	if server.Loads() != 0 {
		t.Errorf("looking loaded the model %d times", server.Loads())
	}
}

// An answer asks for the window that prompts are measured with, so a loaded model is not loaded anew.
func TestTheModelStaysLoaded(t *testing.T) {
	t.Parallel()
	server := fake(t, ollamatest.Options{Loaded: 8192})
	for _, e := range []wire.Endpoint{{}, {Margin: 64}, {Window: 8192, Margin: 64}} {
		e.Address = server.URL
		if _, _, err := servertest.Ask(t, client(t, e), servertest.Request("夜", 3)); err != nil {
			t.Fatal(err)
		}
	}
	if server.Loads() != 0 {
		t.Errorf("the model was loaded anew %d times", server.Loads())
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	server := fake(t, ollamatest.Options{})
	c := client(t, wire.Endpoint{Address: server.URL, Window: 4096})
	cold, p, k, seed := 0.0, 0.5, 40, uint32(4294967295)
	full := servertest.Request("<夜> & \u2028", 7, "。", "\n")
	s := &full.Sampling
	s.Temperature, s.TopP, s.TopK, s.MinP, s.TypicalP, s.RepeatPenalty, s.RepeatRange = &cold, &p, &k, &p, &p, &p, &k
	s.PresencePenalty, s.FrequencyPenalty, s.Seed = &p, &p, &seed
	for _, r := range []llm.Request{servertest.Request("x", 7), full} {
		if _, _, err := servertest.Ask(t, c, r); err != nil {
			t.Fatal(err)
		}
	}
	front := `{"model":"story:latest","prompt":`
	switches := `,"raw":true,"stream":true,"truncate":false,"shift":false,"think":false,"options":{"num_ctx":4096,"num_predict":7`
	want := []string{
		front + `"x"` + switches + `}}`,
		front + `"<夜> & \u2028"` + switches + `,"stop":["。","\n"],"temperature":0,"top_k":40,"top_p":0.5,"min_p":0.5,"typical_p":0.5,` +
			`"repeat_penalty":0.5,"repeat_last_n":40,"presence_penalty":0.5,"frequency_penalty":0.5,"seed":4294967295}}`,
	}
	var got []string
	for _, body := range server.Requests(generatePath) {
		got = append(got, strings.TrimSpace(string(body)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// What the server would drop, or take for something else, is refused by name.
func TestRefusedHere(t *testing.T) {
	t.Parallel()
	c := client(t, wire.Endpoint{Address: "http://127.0.0.1:1", Window: 512}) // nobody: it is not asked
	knobs := servertest.Request("夜", 3)
	knobs.Sampling.DRY, knobs.Sampling.Grammar, knobs.Sampling.BanEOS = &llm.DRY{Multiplier: 1}, "root ::= x", true
	for want, r := range map[string]llm.Request{
		"a server of kind ollama has no dry, no ban_eos, no grammar": knobs,
		"the prompt is empty, and an Ollama server only loads":       servertest.Request("", 3),
	} {
		if _, err := c.Generate(t.Context(), r); servertest.FaultOf(err) != llm.FaultRefused || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, not %q", err, want)
		}
	}
}

// One token over the window less one is refused, and never sent: the server would halve it.
func TestWannabe28OverTheWindow(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		server := fake(t, ollamatest.Options{Old: old})
		c := client(t, wire.Endpoint{Address: server.URL, Window: 32})
		prompt := func(tokens int) string { return strings.Repeat("7", tokens-2) } // one each, with a BOS and a blank in front
		if n, err := c.Count(t.Context(), prompt(32)); n != 32 || err != nil {
			t.Fatalf("the prompt has %d tokens, %v", n, err)
		}
		_, err := c.Generate(t.Context(), servertest.Request(prompt(32), 1))
		var e *llm.Error
		if !errors.As(err, &e) || e.Fault != llm.FaultTooLong || e.Tokens != 32 || e.Window != 32 || server.Calls(generatePath) != 0 {
			t.Errorf("old %v: the error is %v, after %d requests", old, err, server.Calls(generatePath))
		}
		if text, result, err := servertest.Ask(t, c, servertest.Request(prompt(31), 9)); text != "糸" || result.Finish != llm.FinishLength || err != nil {
			t.Errorf("old %v: one token less gives %q with %+v, %v", old, text, result, err)
		}
	}
}

// The server takes num_ctx-1 tokens of a prompt. Since an answer has one token at least, a prompt that leaves num_predict of
// num_ctx free is never more, and one that is a token under that (num_ctx-1-num_predict, the limit of cases/wannabe.md 25)
// is not needed: both reach it whole, and the whole answer is there.
func TestWannabe25TheLimitOfTheServer(t *testing.T) {
	t.Parallel()
	const window = 32
	for _, old := range []bool{false, true} {
		c := client(t, wire.Endpoint{Address: fake(t, ollamatest.Options{Old: old}).URL, Window: window})
		for _, predict := range []int{1, 9} {
			for _, tokens := range []int{window - 1 - predict, window - predict} {
				prompt := strings.Repeat("7", tokens-2) // one each, with a BOS and a blank in front
				_, result, err := servertest.Ask(t, c, servertest.Request(prompt, predict))
				if err != nil || result.PromptTokens != tokens || result.AnswerTokens != predict {
					t.Errorf("old %v: %d of %d tokens, %d for the answer: %+v, %v", old, tokens, window, predict, result, err)
				}
			}
		}
	}
}

// A vocabulary that counts too little: the server is told not to cut, and its refusal is understood in various words.
func TestTheServersOwnRefusals(t *testing.T) {
	t.Parallel()
	for sentence, want := range map[string]llm.Fault{
		"the prompt exceeds the context length":                             llm.FaultTooLong,
		"request (9 tokens) exceeds the available context size (8 tokens)":  llm.FaultTooLong,
		"input is longer than the context window":                           llm.FaultTooLong,
		`{"error":{"code":400,"message":"exceeds the available context"}}`:  llm.FaultTooLong,
		"invalid option provided: mirostat exceeds what there is":           llm.FaultRefused,
		"model requires more system memory (9 GiB) than is available (8.0)": llm.FaultRefused,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/api/tags":
				w.Write([]byte(`{"models":[{"name":"story:latest","digest":"d"}]}`))
			case "/api/show":
				w.Write([]byte(`{}`))
			default:
				w.WriteHeader(http.StatusBadRequest)
				w.Write([]byte(`{"error":` + servertest.Quoted(sentence) + `}`))
			}
		}))
		_, err := client(t, wire.Endpoint{Address: server.URL, Window: 500, Margin: 20}).Generate(t.Context(), servertest.Request("ひみつ", 1))
		server.Close()
		var e *llm.Error
		if !errors.As(err, &e) || e.Fault != want || want == llm.FaultTooLong && e.Window != 480 {
			t.Errorf("%q is %+v", sentence, err)
		}
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	server := fake(t, ollamatest.Options{Reply: func(string) []string { return []string{"ab", "cd。", "ef"} }})
	c := client(t, wire.Endpoint{Address: server.URL, Window: 512})
	n, err := c.Count(t.Context(), "夜の港")
	if err != nil {
		t.Fatal(err)
	}
	for cached, r := range []llm.Request{servertest.Request("夜の港", 9), servertest.Request("夜の港", 9, "。")} {
		text, result, err := servertest.Ask(t, c, r)
		want := llm.Result{
			Finish: llm.FinishStop, PromptTokens: n, CachedTokens: 2 * cached, CacheTold: cached > 0, AnswerTokens: 3,
			PromptTime: time.Duration(n-2*cached) * 2500 * time.Microsecond, AnswerTime: 24 * time.Millisecond,
		}
		if diff := cmp.Diff(want, result); diff != "" || err != nil || text != []string{"abcd。ef", "abcd"}[cached] {
			t.Errorf("the answer is %q, %v; want -, got +:\n%s", text, err, diff)
		}
	}
}

// What a model thinks is a part of the answer.
func TestThinkingIsText(t *testing.T) {
	t.Parallel()
	server := fake(t, ollamatest.Options{Thinks: true, Reply: func(string) []string { return []string{"糸か", "</think>", "夜"} }})
	text, _, err := servertest.Ask(t, client(t, wire.Endpoint{Address: server.URL, Window: 512}), servertest.Request("夜", 9))
	if text != "糸か</think>夜" || err != nil {
		t.Errorf("the answer is %q, %v", text, err)
	}
}
