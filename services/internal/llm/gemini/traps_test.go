package gemini_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/gemini"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/gemini/geminitest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

const generatePath = "/v1beta/models/gemini-story:streamGenerateContent"

// margin is a config with a margin.
func margin(n int) gemini.Config { return gemini.Config{Endpoint: wire.Endpoint{Margin: n}} }

func TestWindow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		server geminitest.Options
		config gemini.Config
		want   int
		fault  llm.Fault
		says   string
	}{
		"told":           {geminitest.Options{}, gemini.Config{}, 4096, "", ""},
		"less a margin":  {geminitest.Options{}, margin(64), 4032, "", ""},
		"by its path":    {geminitest.Options{}, gemini.Config{Model: "models/gemini-story"}, 4096, "", ""},
		"all margin":     {geminitest.Options{Limit: 64}, margin(64), 0, llm.FaultRefused, "lower `margin`"},
		"not told":       {geminitest.Options{Limit: -1}, gemini.Config{}, 0, llm.FaultProtocol, "does not tell its window"},
		"writes nothing": {geminitest.Options{Methods: []string{"embedContent"}}, gemini.Config{}, 0, llm.FaultRefused, "writes no text"},
		"another model":  {geminitest.Options{}, gemini.Config{Model: "gemini-tale"}, 0, llm.FaultRefused, "models/gemini-tale is not found"},
		"another key":    {geminitest.Options{APIKey: "x"}, gemini.Config{}, 0, llm.FaultRefused, "wants another API key (api_key_env or api_key_file)"},
		"key, in a list": {geminitest.Options{APIKey: "x", List: true}, gemini.Config{}, 0, llm.FaultRefused, "wants another API key (api_key_env or api_key_file)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id, err := client(t, geminitest.New(t, test.server).URL, test.config).Window(t.Context())
			if test.says == "" {
				if err != nil || id.Window != test.want || id.Model != "gemini-story" {
					t.Errorf("the identity is %+v, %v; want a window of %d", id, err, test.want)
				}
			} else if servertest.FaultOf(err) != test.fault || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %v; want %s, %q", err, test.fault, test.says)
			}
		})
	}
}

// Another version of a model may cut texts in another way.
func TestAnotherVersionAnotherFingerprint(t *testing.T) {
	t.Parallel()
	var all []string
	for _, version := range []string{"001", "001", "002"} {
		id, err := client(t, geminitest.New(t, geminitest.Options{Version: version}).URL, gemini.Config{}).Window(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, id.Tokenizer)
	}
	if all[0] != all[1] || all[0] == all[2] {
		t.Errorf("the fingerprints are %q", all)
	}
}

// The service reads a few tokens more than it counts: the margin is for them.
func TestMargin(t *testing.T) {
	t.Parallel()
	server := geminitest.New(t, geminitest.Options{Limit: 100, Extra: 3})
	for room, want := range map[int]llm.Fault{0: llm.FaultTooLong, 3: ""} {
		c := client(t, server.URL, margin(room))
		id, err := c.Window(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := servertest.Ask(t, c, servertest.Request(strings.Repeat("夜", id.Window), 1)); servertest.FaultOf(err) != want {
			t.Errorf("a margin of %d gives %v", room, err)
		}
	}
}

// Whether a prompt is too long is said in two ways; the window in the error is ours.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for untold, tokens := range map[bool]int{false: 101, true: 0} {
		c := client(t, geminitest.New(t, geminitest.Options{Limit: 100, Untold: untold}).URL, margin(10))
		_, _, err := servertest.Ask(t, c, servertest.Request(strings.Repeat("夜", 101), 9))
		var e *llm.Error
		if !errors.As(err, &e) || e.Fault != llm.FaultTooLong || e.Tokens != tokens || e.Window != 90 {
			t.Errorf("the error is %+v, not of %d tokens in 90", err, tokens)
		}
	}
}

// What a model is to go on with is a turn of its own, with not a byte lost between the two.
func TestRequests(t *testing.T) {
	t.Parallel()
	server := geminitest.New(t, geminitest.Options{})
	none, cold, p, k, seed := 0, 0.0, 0.5, 40, uint32(4294967295)
	full := servertest.Request("<夜> & \u2028", 1, "。", "2", "3", "4", "5", "6")
	s := &full.Sampling
	s.Temperature, s.TopP, s.TopK, s.PresencePenalty, s.FrequencyPenalty, s.Seed = &cold, &p, &k, &p, &p, &seed
	begun, alone := servertest.Request("夜の港で。\n彼は", 7), servertest.Request("彼は", 7)
	begun.Suffix, alone.Suffix = len("彼は"), len("彼は")
	user := func(text string) string { return `{"parts":[{"text":"` + text + `"}],"role":"user"}` }
	for _, test := range []struct {
		config  gemini.Config
		request llm.Request
		want    string
	}{
		{gemini.Config{}, servertest.Request("x", 7), `{"contents":[` + user("x") + `],"generationConfig":{"maxOutputTokens":7}}`},
		{gemini.Config{}, begun, `{"contents":[` + user(`夜の港で。\n`) + `,{"parts":[{"text":"彼は"}],"role":"model"}],"generationConfig":{"maxOutputTokens":7}}`},
		{gemini.Config{}, alone, `{"contents":[` + user("彼は") + `],"generationConfig":{"maxOutputTokens":7}}`},
		{gemini.Config{ThinkingBudget: &none}, full, `{"contents":[` + user(`<夜> & \u2028`) + `],"generationConfig":{"frequencyPenalty":0.5,` +
			`"maxOutputTokens":1,"presencePenalty":0.5,"seed":-1,"stopSequences":["。","2","3","4","5"],"temperature":0,` +
			`"thinkingConfig":{"thinkingBudget":0},"topK":40,"topP":0.5}}`},
	} {
		if _, _, err := servertest.Ask(t, client(t, server.URL, test.config), test.request); err != nil {
			t.Fatal(err)
		}
		sent := server.Requests(generatePath)
		var got, want any
		if err := errors.Join(json.Unmarshal(sent[len(sent)-1], &got), json.Unmarshal([]byte(test.want), &want)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	}
}

func TestRefusedHere(t *testing.T) {
	t.Parallel()
	c := client(t, "http://127.0.0.1:1", gemini.Config{}) // nobody: it is not asked
	knobs := servertest.Request("夜", 3)
	knobs.Sampling.DRY, knobs.Sampling.BanEOS = &llm.DRY{Multiplier: 1}, true
	for want, r := range map[string]llm.Request{
		"a server of kind gemini has no dry, no ban_eos": knobs,
		"the prompt is empty":                            servertest.Request("", 3),
	} {
		if _, err := c.Generate(t.Context(), r); servertest.FaultOf(err) != llm.FaultRefused || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, not %q", err, want)
		}
	}
}

// A stop string beyond the five that the service takes is found here, also over the border of two pieces.
func TestMoreStopStrings(t *testing.T) {
	t.Parallel()
	c := client(t, geminitest.New(t, geminitest.Options{}).URL, gemini.Config{})
	text, result, err := servertest.Ask(t, c, servertest.Request("夜", 99, "1", "2", "3", "4", "5", "港へ"))
	if text != "糸は夜の" || result.Finish != llm.FinishStop || result.StopString != "港へ" || err != nil {
		t.Errorf("the answer is %q with %+v, %v", text, result, err)
	}
}

// How answers end, and what is said where one is not whole.
func TestEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		server geminitest.Options
		most   int
		text   string
		finish llm.Finish
		fault  llm.Fault
		says   string
	}{
		"stop":             {geminitest.Options{Thoughts: 5}, 99, "糸は夜の港へ続いていた。", llm.FinishStop, "", ""},
		"length":           {geminitest.Options{}, 3, "糸は夜", llm.FinishLength, "", ""},
		"thought to death": {geminitest.Options{Thoughts: 500}, 250, "", "", llm.FaultRefused, "used all 250 tokens of its answer to think"},
		"safety":           {geminitest.Options{Finish: "SAFETY"}, 3, "糸は夜", "", llm.FaultCut, "ended the answer: SAFETY, HARM_CATEGORY_DANGEROUS_CONTENT"},
		"recitation":       {geminitest.Options{Finish: "RECITATION"}, 3, "糸は夜", "", llm.FaultCut, "ended the answer: RECITATION"},
		"other":            {geminitest.Options{Finish: "OTHER"}, 3, "糸は夜", "", llm.FaultCut, "does not tell why (OTHER)"},
		"unknown":          {geminitest.Options{Finish: "BORED"}, 3, "糸は夜", "", llm.FaultProtocol, `the unknown reason "BORED"`},
		"blocked":          {geminitest.Options{Block: "PROHIBITED_CONTENT"}, 3, "", "", llm.FaultRefused, "refuses the prompt: PROHIBITED_CONTENT, HARM_CATEGORY_HARASSMENT"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, result, err := servertest.Ask(t, client(t, geminitest.New(t, test.server).URL, gemini.Config{}), servertest.Request("ひみつ", test.most))
			if text != test.text || result.Finish != test.finish || servertest.FaultOf(err) != test.fault {
				t.Errorf("the answer is %q with %+v, %v", text, result, err)
			}
			if err != nil && (!strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "ひみつ") || strings.Contains(err.Error(), "secret")) {
				t.Errorf("the error is %v; want %q, and neither prompt nor key", err, test.says)
			}
		})
	}
}

// Thoughts are tokens of the answer, and no text.
func TestResult(t *testing.T) {
	t.Parallel()
	server := geminitest.New(t, geminitest.Options{Thoughts: 5, Reply: func(string) []string { return []string{"ab", "", "cd。", "ef"} }})
	c := client(t, server.URL, gemini.Config{})
	for cached, r := range []llm.Request{servertest.Request("夜の港", 99), servertest.Request("夜の港", 99, "。")} {
		text, result, err := servertest.Ask(t, c, r)
		want := llm.Result{Finish: llm.FinishStop, PromptTokens: 3, CachedTokens: 2 * cached, CacheTold: cached > 0, AnswerTokens: 9 - cached}
		if diff := cmp.Diff(want, result); diff != "" || err != nil || text != []string{"abcd。ef", "abcd"}[cached] {
			t.Errorf("the answer is %q, %v; want -, got +:\n%s", text, err, diff)
		}
	}
}

// When to come again stands in the details of the refusal.
func TestRetryDelay(t *testing.T) {
	t.Parallel()
	for told, want := range map[string]time.Duration{"": 0, "37.5s": 37500 * time.Millisecond, "nonsense": 0, "-3s": 0, "99h": time.Hour} {
		for _, list := range []bool{false, true} {
			server := geminitest.New(t, geminitest.Options{List: list})
			server.Break(geminitest.Faults{Exhausted: true, RetryDelay: told})
			_, err := client(t, server.URL, gemini.Config{}).Count(t.Context(), "夜")
			var e *llm.Error
			if !errors.As(err, &e) || e.Fault != llm.FaultBusy || e.RetryAfter != want {
				t.Errorf("%q gives %+v", told, err)
			}
		}
	}
}

// A count that cannot be right is no count.
func TestWrongCount(t *testing.T) {
	t.Parallel()
	c := client(t, geminitest.New(t, geminitest.Options{Count: -1}).URL, gemini.Config{})
	if n, err := c.Count(t.Context(), "夜"); n != 0 || servertest.FaultOf(err) != llm.FaultCount {
		t.Errorf("counted %d, %v", n, err)
	}
}

// A prompt is sent once, however its answer ends: a second time costs money, and gives another answer.
func TestSentOnce(t *testing.T) {
	t.Parallel()
	for _, how := range []servertest.Break{servertest.BreakCut, servertest.BreakEnd, servertest.BreakError, servertest.BreakGarbage} {
		for _, after := range []int{0, 3} {
			server := geminitest.New(t, geminitest.Options{})
			server.Break(geminitest.Faults{Break: how, BreakAfter: after})
			if _, _, err := servertest.Ask(t, client(t, server.URL, gemini.Config{}), servertest.Request("夜", 9)); err == nil {
				t.Errorf("%s after %d pieces is no error", how, after)
			}
			if n := server.Calls(generatePath); n != 1 {
				t.Errorf("%s after %d pieces: the prompt was sent %d times", how, after, n)
			}
		}
	}
}
