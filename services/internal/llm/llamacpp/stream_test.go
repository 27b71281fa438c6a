package llamacpp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

func start(t *testing.T, ctx context.Context, c *llamacpp.Client, r llm.Request) llm.Stream { //nolint:revive // t comes first in tests
	t.Helper()
	stream, err := c.Generate(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestTheRequest(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{APIKey: "secret"})
	cold, p, k, least, repeat, seed := 0.0, 0.9, 40, 0.05, 1.1, uint32(4294967295)
	r := llm.Request{Prompt: "<夜> & \u2028", Sampling: llm.Sampling{
		Temperature: &cold, TopP: &p, TopK: &k, MinP: &least, RepeatPenalty: &repeat, Seed: &seed, MaxTokens: 1, Stop: []string{"。"},
	}}
	read(t, start(t, t.Context(), client(t, server.URL), r))
	read(t, start(t, t.Context(), client(t, server.URL), request("x", 7)))
	some, off := request("y", 7), request("z", 7) // a number that was not given is the server's; what is off is told
	some.Sampling.DRY, some.Sampling.XTC = &llm.DRY{Multiplier: 0.8}, &llm.XTC{Probability: 0.5}
	some.Sampling.Mirostat, some.Sampling.DynamicTemperature = &llm.Mirostat{Mode: 2}, &llm.DynamicTemperature{Range: 0.5}
	off.Sampling.DRY, off.Sampling.XTC, off.Sampling.Mirostat, off.Sampling.DynamicTemperature = &llm.DRY{}, &llm.XTC{}, &llm.Mirostat{}, &llm.DynamicTemperature{}
	read(t, start(t, t.Context(), client(t, server.URL), some))
	read(t, start(t, t.Context(), client(t, server.URL), off))
	want := []string{
		`{"prompt":"<夜> & \u2028","stream":true,"cache_prompt":true,"n_predict":1,"stop":["。"],"temperature":0,"top_k":40,"top_p":0.9,` +
			`"min_p":0.05,"repeat_penalty":1.1,"seed":4294967295}`,
		`{"prompt":"x","stream":true,"cache_prompt":true,"n_predict":7}`,
		`{"prompt":"y","stream":true,"cache_prompt":true,"n_predict":7,"dynatemp_range":0.5,"xtc_probability":0.5,"dry_multiplier":0.8,"dry_penalty_last_n":1048576,"mirostat":2}`,
		`{"prompt":"z","stream":true,"cache_prompt":true,"n_predict":7,"dynatemp_range":0,"xtc_probability":0,"dry_multiplier":0,"dry_penalty_last_n":1048576,"mirostat":0}`,
	}
	var got []string
	for _, body := range server.Requests("/completion") {
		got = append(got, strings.TrimSpace(string(body)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{BOS: true, Reply: func(string) []string { return []string{"ab", "cd。", "ef"} }})
	c := client(t, server.URL)
	text, fault := read(t, start(t, t.Context(), c, request("夜の港", 9)))
	if text != "abcd。ef" || fault != "ok" {
		t.Errorf("the answer is %q, %s", text, fault)
	}
	stream := start(t, t.Context(), c, llm.Request{Prompt: "夜の港", Sampling: llm.Sampling{MaxTokens: 9, Stop: []string{"。"}}})
	if text, _ := read(t, stream); text != "abcd" {
		t.Errorf("the answer up to the stop string is %q", text)
	}
	want := llm.Result{
		Finish: llm.FinishStop, StopString: "。", PromptTokens: 4, CachedTokens: 3, CacheTold: true, AnswerTokens: 3,
		PromptTime: 2500 * time.Microsecond, AnswerTime: 24 * time.Millisecond,
	}
	if diff := cmp.Diff(want, stream.Result()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// The server takes a prompt of fewer tokens than its window (cases/wannabe.md 25), which one that leaves a token to the answer
// always is.
func TestWannabe25TheLimitOfTheServer(t *testing.T) {
	t.Parallel()
	const window = 16
	c := client(t, llmtest.New(t, llmtest.Options{BOS: true, Window: window}).URL)
	for _, predict := range []int{1, 9} {
		_, result, err := servertest.Ask(t, c, request(strings.Repeat("夜", window-predict-1), predict)) // and a BOS
		if err != nil || result.PromptTokens != window-predict || result.AnswerTokens != predict {
			t.Errorf("%d for the answer: %+v, %v", predict, result, err)
		}
	}
	_, _, err := servertest.Ask(t, c, request(strings.Repeat("夜", window-1), 1))
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.FaultTooLong || e.Tokens != window || e.Window != window {
		t.Errorf("a prompt as large as the window: %v", err)
	}
}

// A token may hold a whole character and the beginning of the next (cases/wannabe.md 35).
func TestCharactersStayWhole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pieces, want []string
		fault        string
	}{
		"whole and part":     {[]string{"\xe3\x83\xaa", "\xe3\x83\xb3\xe3\x82", "\xb4"}, []string{"リ", "ン", "ゴ"}, "ok"},
		"byte by byte":       {[]string{"\xf0", "\x9f", "\x98", "\x80", "!"}, []string{"😀", "!"}, "ok"},
		"joined emoji":       {[]string{"👨", "\u200d", "👩"}, []string{"👨", "\u200d", "👩"}, "ok"},
		"a real replacement": {[]string{"a\ufffdb"}, []string{"a\ufffdb"}, "ok"},
		"quotes and NUL":     {[]string{"\"\\\n\x00\xe3", "\x83\xaa"}, []string{"\"\\\n\x00", "リ"}, "ok"},
		"ends in the middle": {[]string{"a", "b\xe3\x83"}, []string{"a", "b"}, "protocol"},
		"never a character":  {[]string{"a", "b\xff", "c"}, []string{"a", "b"}, "protocol"},
		"half, then another": {[]string{"a", "\xe3", "c"}, []string{"a"}, "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.New(t, llmtest.Options{Reply: func(string) []string { return test.pieces }})
			stream := start(t, t.Context(), client(t, server.URL), request("x", 9))
			defer stream.Close()
			var got []string
			piece, err := stream.Recv()
			for ; err == nil; piece, err = stream.Recv() {
				got = append(got, piece)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || faultOf(err) != test.fault {
				t.Errorf("the end is %v; want -, got +:\n%s", err, diff)
			}
		})
	}
}

// Servers that have begun to answer, with a ping or a piece, tell errors inside the stream, in two forms.
func TestErrorsInsideAStream(t *testing.T) {
	t.Parallel()
	const tooLong = `{"code":400,"message":"m","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}`
	for stream, want := range map[string]string{
		":\n\ndata: {\"error\":" + tooLong + "}\n\n": "too_long",
		":\n\nerror: {\"code\":400,\"message\":\"the request exceeds the available context size. try\"}\n\ndata: [DONE]\n\n": "too_long",
		"data: {\"error\":{\"code\":503,\"message\":\"busy\"}}\n\n":                                                          "busy",
		"data: {\"error\":{\"code\":500,\"message\":\"boom\"}}\n\n":                                                          "cut",
		"error: boom\n\n":                "protocol",
		"data: {\"content\":\"a\"}\n\n":  "protocol",
		"data: {\"stop\":false}\n\n":     "protocol",
		"data: [DONE]\n\n":               "protocol",
		"":                               "cut",
		"data: {\"stop\":true,\"content": "cut",
		"data: {\"stop\":true,\"content\":\"\",\"stop_type\":\"tired\"}\n\n": "protocol",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Write([]byte(stream))
		}))
		if text, fault := read(t, start(t, t.Context(), client(t, server.URL), request("x", 1))); text != "" || fault != want {
			t.Errorf("%q gives %q, %s; want %s", stream, text, fault, want)
		}
		server.Close()
	}
}

func TestWhatCameBeforeTheBreakStands(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{})
	for _, how := range []servertest.Break{servertest.BreakCut, servertest.BreakEnd, servertest.BreakError, servertest.BreakErrorField, servertest.BreakGarbage} {
		server.Break(llmtest.Faults{Break: how, BreakAfter: 3})
		stream := start(t, t.Context(), client(t, server.URL), request("夜", 9))
		if text, fault := read(t, stream); text != "糸は夜" || fault == "ok" {
			t.Errorf("%s: the answer is %q, %s", how, text, fault)
		}
		want := llm.Result{PromptTokens: 1, AnswerTokens: 3}
		if diff := cmp.Diff(want, stream.Result()); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", how, diff)
		}
	}
}

// The time limit between pieces counts while someone waits in Recv, not while the reader does something else.
func TestIdleLimit(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{})
	server.Break(llmtest.Faults{Break: servertest.BreakSilent, BreakAfter: 2})
	short := llm.DefaultTimeouts()
	short.Idle = 200 * time.Millisecond
	c := llamacpp.New(llamacpp.Config{Endpoint: wire.Endpoint{Name: "test", Address: server.URL, Timeouts: short}})
	t.Cleanup(func() { _ = c.Close() })
	stream, err := c.Generate(t.Context(), request("夜", 9))
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	time.Sleep(3 * short.Idle) // the slow reader that this test is about
	if err != nil {
		t.Fatal(err)
	}
	if text, fault := read(t, stream); text != "は" || fault != "timeout" {
		t.Errorf("the rest is %q, %s", text, fault)
	}
}

func TestLeavingAborts(t *testing.T) {
	t.Parallel()
	leave := map[string]func(cancel func(), s llm.Stream){
		"cancelled": func(cancel func(), _ llm.Stream) { cancel() },
		"closed":    func(_ func(), s llm.Stream) { _ = s.Close() },
	}
	for name, leave := range leave {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.New(t, llmtest.Options{Stepped: true})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go server.Step(t) // Generate waits for the first piece
			stream := start(t, ctx, client(t, server.URL), request("夜", 9))
			if piece, err := stream.Recv(); piece != "糸" || err != nil {
				t.Fatalf("the first piece is %q, %v", piece, err)
			}
			leave(cancel, stream)
			if got := <-server.Aborted(); got != "夜" {
				t.Errorf("aborted is %q", got)
			}
			if text, fault := read(t, stream); text != "" || fault != "cancelled" {
				t.Errorf("after leaving comes %q, %s", text, fault)
			}
		})
	}
}

// The last event repeats the prompt: it is far longer than the usual limit of a line.
func TestLongLines(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{Window: 1 << 24, Cut: servertest.Pairs, Reply: func(string) []string {
		return []string{strings.Repeat("夜", 400_000), "港"}
	}})
	prompt := strings.Repeat("\x01夜の港で", 300_000)
	text, fault := read(t, start(t, t.Context(), client(t, server.URL), request(prompt, 9)))
	if text != strings.Repeat("夜", 400_000)+"港" || fault != "ok" {
		t.Errorf("the answer has %d bytes, %s", len(text), fault)
	}
}

// The fingerprint is taken once for each start of the server, and tells models apart.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{})
	c := client(t, server.URL)
	identify := func() llm.Identity {
		t.Helper()
		id, err := c.Window(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := identify()
	if again := identify(); again != first || server.Calls("/tokenize") != 1 {
		t.Errorf("%+v became %+v after %d calls of /tokenize", first, again, server.Calls("/tokenize"))
	}
	server.Restart(llmtest.Options{Window: 100})
	if again := identify(); again.Tokenizer != first.Tokenizer || again.Window != 100 || server.Calls("/tokenize") != 2 {
		t.Errorf("%+v became %+v after %d calls of /tokenize", first, again, server.Calls("/tokenize"))
	}
	server.Restart(llmtest.Options{Model: "models/other.gguf"})
	if again := identify(); again.Tokenizer == first.Tokenizer || again.Model != "other.gguf" {
		t.Errorf("%+v became %+v", first, again)
	}
	var ask map[string]any
	if err := json.Unmarshal(server.Requests("/tokenize")[0], &ask); err != nil || ask["add_special"] != true || ask["parse_special"] != true {
		t.Errorf("the tokens were asked for with %v, %v", ask, err)
	}
}

// What the server has no slot for waits here, and not at the server, where the limits on its silence run.
func TestNoMoreAnswersThanSlots(t *testing.T) {
	server := llmtest.New(t, llmtest.Options{})
	server.Break(llmtest.Faults{Break: servertest.BreakSilent, BreakAfter: 1}) // no answer ends
	c := client(t, server.URL)
	if _, err := c.Window(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the fake tells two slots
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := c.Generate(ctx, llm.Request{Prompt: "x", Sampling: llm.Sampling{MaxTokens: 5}})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	sent := false
	_, err := c.Generate(llm.OnSent(gone, func() { sent = true }), llm.Request{Prompt: "x", Sampling: llm.Sampling{MaxTokens: 5}})
	if err == nil || !strings.Contains(err.Error(), "one of 2 calls at once") || sent {
		t.Errorf("a third answer: %v, sent: %v", err, sent)
	}
}
