package koboldcpp_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp/koboldcpptest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// A text of 50,000 tokens or more is counted as 0 by the server. Here it is counted in parts, and
// never as less than it has.
func TestWannabe20TextsThatTheServerCannotCount(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]koboldcpptest.Options{"BOS": {}, "no BOS": {NoBOS: true}, "pairs": {Cut: servertest.Pairs}} {
		server := koboldcpptest.New(t, o)
		c := client(t, server.URL)
		cut, bos := servertest.Runes, 1
		if o.Cut != nil {
			cut = o.Cut
		}
		if o.NoBOS {
			bos = 0
		}
		for _, text := range []string{
			strings.Repeat("夜の港で、彼女は紡いだ糸を見つめた。\n", 4_000),
			strings.Repeat("a line of a story\n\n", 12_000),
			strings.Repeat("x", 49_000) + "\n" + strings.Repeat("y", 49_000) + "\n\n" + strings.Repeat("z", 49_000),
		} {
			truth := len(cut(text)) + bos
			n, err := c.Count(t.Context(), text)
			if err != nil || n < truth || n > truth+20 {
				t.Errorf("%s: %d bytes are counted as %d, %v; they have %d tokens", name, len(text), n, err, truth)
			}
		}
		if server.Together() != 1 {
			t.Errorf("%s: %d counts at once", name, server.Together())
		}
	}
}

func TestALineThatTheServerCannotCount(t *testing.T) {
	t.Parallel()
	c := client(t, koboldcpptest.New(t, koboldcpptest.Options{}).URL)
	for _, text := range []string{strings.Repeat("夜", 60_000), strings.Repeat("夜", 60_000) + "\n", "a\n" + strings.Repeat("夜", 60_000)} {
		n, err := c.Count(t.Context(), text)
		if servertest.FaultOf(err) != llm.FaultCount || n != 0 || !strings.Contains(err.Error(), "divided at line ends") {
			t.Errorf("the count is %d, %v", n, err)
		}
	}
	n, err := c.Count(t.Context(), strings.Repeat("夜", 49_998))
	if n != 49_999 || err != nil {
		t.Errorf("the longest line is counted as %d, %v", n, err)
	}
}

// A count that cannot be right never counts as a fit: nothing is sent.
func TestWrongCounts(t *testing.T) {
	t.Parallel()
	for _, wrong := range []int{0, -1} {
		server := koboldcpptest.New(t, koboldcpptest.Options{})
		server.Break(koboldcpptest.Faults{Count: &wrong})
		c := client(t, server.URL)
		_, counted := c.Count(t.Context(), "夜")
		_, asked := c.Window(t.Context())
		_, generated := c.Generate(t.Context(), servertest.Request("夜", 1))
		for _, err := range []error{counted, asked, generated} {
			if servertest.FaultOf(err) != llm.FaultCount {
				t.Errorf("%d is %v", wrong, err)
			}
		}
		if n := len(server.Requests("/api/extra/generate/stream")); n != 0 {
			t.Errorf("%d prompts were sent", n)
		}
	}
}

// The server would cut a prompt that is too long and answer nonsense: it is not sent. Exactly full fits.
func TestTooLongIsNotSent(t *testing.T) {
	t.Parallel()
	server := koboldcpptest.New(t, koboldcpptest.Options{Window: 100})
	c := client(t, server.URL)
	_, _, err := servertest.Ask(t, c, servertest.Request(strings.Repeat("夜", 90), 10)) // and BOS
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.FaultTooLong || e.Tokens != 91 || e.Window != 100 {
		t.Errorf("the error is %+v", err)
	}
	if n := len(server.Requests("/api/extra/generate/stream")); n != 0 {
		t.Errorf("%d prompts were sent", n)
	}
	text, result, err := servertest.Ask(t, c, servertest.Request(strings.Repeat("夜", 89), 10))
	if text != "糸は夜の港へ続いて"+"い" || result.PromptTokens != 90 || err != nil {
		t.Errorf("the answer is %q with %+v, %v", text, result, err)
	}
}

// The server would shorten an answer without a word: it is asked for none that it would.
func TestTooLongAnAnswerIsNotAskedFor(t *testing.T) {
	t.Parallel()
	server := koboldcpptest.New(t, koboldcpptest.Options{Window: 100})
	c := client(t, server.URL)
	_, err := c.Generate(t.Context(), servertest.Request("夜", 81))
	if servertest.FaultOf(err) != llm.FaultRefused || !strings.Contains(err.Error(), "max tokens is 81; it must be at most 80") {
		t.Errorf("the error is %v", err)
	}
	if _, _, err := servertest.Ask(t, c, servertest.Request("夜", 80)); err != nil {
		t.Error(err)
	}
}

// How an answer ended, and what it cost, where the server's own word is of no use.
func TestEnds(t *testing.T) {
	t.Parallel()
	pieces := []string{"ab", "cd。", "ef", "g"}
	for name, test := range map[string]struct {
		options koboldcpptest.Options
		faults  koboldcpptest.Faults
		most    int
		stops   []string
		text    string
		want    llm.Result
	}{
		"the model's end":             {most: 9, text: "abcd。efg", want: llm.Result{Finish: llm.FinishStop, AnswerTokens: 4}},
		"its end, said to be length":  {faults: koboldcpptest.Faults{AlwaysLength: true}, most: 9, text: "abcd。efg", want: llm.Result{Finish: llm.FinishStop, AnswerTokens: 4}},
		"the limit":                   {most: 2, text: "abcd。", want: llm.Result{Finish: llm.FinishLength, AnswerTokens: 2}},
		"a stop string":               {most: 9, stops: []string{"。"}, text: "abcd", want: llm.Result{Finish: llm.FinishStop, StopString: "。", AnswerTokens: 2}},
		"over two tokens":             {most: 9, stops: []string{"。e"}, text: "abcd", want: llm.Result{Finish: llm.FinishStop, StopString: "。e", AnswerTokens: 3}},
		"with more behind it":         {most: 9, stops: []string{"b", "nope"}, text: "a", want: llm.Result{Finish: llm.FinishStop, StopString: "b", AnswerTokens: 1}},
		"in a burst":                  {options: koboldcpptest.Options{Burst: 3}, most: 9, stops: []string{"e"}, text: "abcd。", want: llm.Result{Finish: llm.FinishStop, StopString: "e", AnswerTokens: 3}},
		"only its beginning":          {most: 9, stops: []string{"g。"}, text: "abcd。efg", want: llm.Result{Finish: llm.FinishStop, AnswerTokens: 4}},
		"another client's figures":    {faults: koboldcpptest.Faults{OthersPerf: true}, most: 9, text: "abcd。efg", want: llm.Result{Finish: llm.FinishStop, AnswerTokens: 8}},
		"another's figures at length": {faults: koboldcpptest.Faults{OthersPerf: true}, most: 2, text: "abcd。", want: llm.Result{Finish: llm.FinishLength, AnswerTokens: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.options.Reply = func(string) []string { return pieces }
			server := koboldcpptest.New(t, test.options)
			server.Break(test.faults)
			r := servertest.Request("夜の港", test.most)
			r.Sampling.Stop = test.stops
			text, result, err := servertest.Ask(t, client(t, server.URL), r)
			test.want.PromptTokens = 4
			if diff := cmp.Diff(test.want, result); diff != "" || text != test.text || err != nil {
				t.Errorf("the answer is %q, %v; want -, got +:\n%s", text, err, diff)
			}
			if n := len(server.Requests("/api/extra/abort")); n != 0 {
				t.Errorf("a generation that ended was aborted %d times", n)
			}
		})
	}
}

// What may be the beginning of a stop string is held back, and given when the answer breaks off.
func TestWhatWasHeldBackStands(t *testing.T) {
	t.Parallel()
	server := koboldcpptest.New(t, koboldcpptest.Options{})
	server.Break(koboldcpptest.Faults{Break: servertest.BreakCut, BreakAfter: 3})
	r := servertest.Request("夜", 9)
	r.Sampling.Stop = []string{"は夜明け"}
	text, _, err := servertest.Ask(t, client(t, server.URL), r)
	if text != "糸は夜" || servertest.FaultOf(err) != llm.FaultCut {
		t.Errorf("the answer is %q, %v", text, err)
	}
}

func TestTheRequest(t *testing.T) {
	t.Parallel()
	server := koboldcpptest.New(t, koboldcpptest.Options{})
	f := func(v float64) *float64 { return &v }
	n := func(v int) *int { return &v }
	seed := uint32(7)
	r := llm.Request{Prompt: "<夜> & \u2028", Sampling: llm.Sampling{
		Temperature: f(0), TopK: n(40), TopP: f(0.9), MinP: f(0.05), TypicalP: f(0.8), TopA: f(0.1), TailFree: f(0.7),
		RepeatPenalty: f(1.1), RepeatSlope: f(0.5), RepeatRange: n(512), PresencePenalty: f(0.2),
		DRY: &llm.DRY{Multiplier: 0.8, Base: 1.75, AllowedLength: 2, Breakers: []string{"\n"}}, XTC: &llm.XTC{Probability: 0.5, Threshold: 0.1},
		Mirostat: &llm.Mirostat{Mode: 2, Tau: 5, Eta: 0.1}, DynamicTemperature: &llm.DynamicTemperature{Range: 0.5, Exponent: 1},
		Smoothing: &llm.Smoothing{Factor: 0.3}, LogitBias: []llm.Bias{{Token: 5, Bias: -100}}, BanEOS: true, Grammar: "root ::= \"a\"",
		Seed: &seed, MaxTokens: 3, Stop: []string{"。"},
	}}
	if _, _, err := servertest.Ask(t, client(t, server.URL), r); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(server.Requests("/api/extra/generate/stream")[0], &got); err != nil {
		t.Fatal(err)
	}
	if key, ok := got["genkey"].(string); !ok || len(key) < 20 {
		t.Errorf("the genkey is %v", got["genkey"])
	}
	delete(got, "genkey")
	want := map[string]any{
		"prompt": "<夜> & \u2028", "max_length": 3., "sampler_seed": 7., "temperature": 0., "top_k": 40., "top_p": 0.9, "min_p": 0.05,
		"typical": 0.8, "top_a": 0.1, "tfs": 0.7, "rep_pen": 1.1, "rep_pen_slope": 0.5, "rep_pen_range": 512., "presence_penalty": 0.2,
		"dry_multiplier": 0.8, "dry_base": 1.75, "dry_allowed_length": 2., "dry_penalty_last_n": 2048., "dry_sequence_breakers": []any{"\n"},
		"xtc_probability": 0.5, "xtc_threshold": 0.1, "mirostat": 2., "mirostat_tau": 5., "mirostat_eta": 0.1,
		"dynatemp_range": 0.5, "dynatemp_exponent": 1., "smoothing_factor": 0.3, "logit_bias": map[string]any{"5": -100.},
		"ban_eos_token": true, "grammar": "root ::= \"a\"", "stop_sequence": []any{"。"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// What the server has not, or would drop without a word, is refused by name.
func TestRefusedSampling(t *testing.T) {
	t.Parallel()
	c := client(t, "http://127.0.0.1:1") // nobody: nothing is sent
	penalty := 0.5
	for want, s := range map[string]llm.Sampling{
		"has no frequency_penalty":  {FrequencyPenalty: &penalty},
		"smoothing.curve is 0.5":    {Smoothing: &llm.Smoothing{Factor: 1, Curve: 0.5}},
		"logit_bias has 513":        {LogitBias: make([]llm.Bias, 513)},
		"logit_bias[0].bias is 101": {LogitBias: []llm.Bias{{Token: 3, Bias: 101}}},
		"dry.breakers has 129":      {DRY: &llm.DRY{Breakers: make([]string, 129)}},
	} {
		s.MaxTokens = 1
		_, err := c.Generate(t.Context(), llm.Request{Prompt: "x", Sampling: s})
		if servertest.FaultOf(err) != llm.FaultRefused || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v", want, err)
		}
	}
}

// Seeds of 31 bits stay, others always become the same one.
func TestSeeds(t *testing.T) {
	t.Parallel()
	server := koboldcpptest.New(t, koboldcpptest.Options{})
	c := client(t, server.URL)
	for seed, want := range map[uint32]int{1: 1, 2147483647: 2147483647, 0: 1, 2147483648: 2, 4294967295: 2} {
		r := servertest.Request("夜", 1)
		r.Sampling.Seed = &seed
		if _, _, err := servertest.Ask(t, c, r); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Seed int `json:"sampler_seed"`
		}
		all := server.Requests("/api/extra/generate/stream")
		if err := json.Unmarshal(all[len(all)-1], &got); err != nil || got.Seed != want {
			t.Errorf("%d became %d, %v; want %d", seed, got.Seed, err, want)
		}
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	server := koboldcpptest.New(t, koboldcpptest.Options{})
	server.Break(koboldcpptest.Faults{Busy: 1})
	_, _, err := servertest.Ask(t, client(t, server.URL), servertest.Request("夜", 1))
	if servertest.FaultOf(err) != llm.FaultBusy {
		t.Errorf("the error is %v", err)
	}
	if n := len(server.Requests("/api/extra/abort")); n != 0 {
		t.Errorf("what never began was aborted %d times", n)
	}
}

func TestNoModelForText(t *testing.T) {
	t.Parallel()
	_, err := client(t, koboldcpptest.New(t, koboldcpptest.Options{Model: "inactive"}).URL).Window(t.Context())
	if servertest.FaultOf(err) != llm.FaultProtocol || !strings.Contains(err.Error(), "no model for text") {
		t.Errorf("the error is %v", err)
	}
}

// No message tells what the writer wrote, nor the password.
func TestErrorsHoldNoSecrets(t *testing.T) {
	t.Parallel()
	for _, o := range []koboldcpptest.Options{{Password: "another"}, {Window: 4}} {
		_, _, err := servertest.Ask(t, client(t, koboldcpptest.New(t, o).URL), servertest.Request("ひみつひみつ", 1))
		if err == nil || strings.Contains(err.Error(), "ひみつ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("the error is %v", err)
		}
	}
}

// What a proxy gives up on may be at work behind it.
func TestAbortBehindAProxyThatGaveUp(t *testing.T) {
	for _, status := range []int{http.StatusBadGateway, http.StatusGatewayTimeout, 0} {
		aborted := make(chan []byte, 1)
		behind := koboldcpptest.New(t, koboldcpptest.Options{})
		address, err := url.Parse(behind.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy := httputil.NewSingleHostReverseProxy(address)
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/api/extra/abort":
				body, _ := io.ReadAll(r.Body)
				aborted <- body
			case "/api/extra/generate/stream":
				if status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(status)
			default:
				proxy.ServeHTTP(w, r)
			}
		}))
		defer front.Close()
		_, _, err = servertest.Ask(t, client(t, front.URL), servertest.Request("夜", 1))
		if servertest.FaultOf(err) != llm.FaultUnreachable {
			t.Errorf("%d: %v", status, err)
		}
		if body := <-aborted; !strings.Contains(string(body), "tsumugi-") {
			t.Errorf("%d: aborted with %s", status, body)
		}
	}
}

// A conversation is refused before anything is sent, with what the server would do to it.
func TestNoConversation(t *testing.T) {
	t.Parallel()
	server := koboldcpptest.New(t, koboldcpptest.Options{})
	r := servertest.Request("", 3)
	r.Messages = []llm.Message{{Role: llm.RoleUser, Content: "夜"}}
	_, err := client(t, server.URL).Generate(t.Context(), r)
	if servertest.FaultOf(err) != llm.FaultRefused || !strings.Contains(err.Error(), "which may not be the model's, and drops what does not fit") {
		t.Errorf("the error is %v", err)
	}
}
