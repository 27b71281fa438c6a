// Package conformance is what every kind of model server must do, as one suite of tests. A kind that passes it can stand
// behind promptbuilder and agent without either knowing which kind it is.
package conformance

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Backend is what is tested: one backend as Counter and as Generator.
type Backend interface {
	llm.Counter
	llm.Generator
	llm.Teller
}

// Subject is a backend and what the suite may ask of it.
type Subject struct {
	Backend Backend
	// Prompt is a prompt that is answered with at least 8 tokens, and always with the same ones at temperature 0.
	Prompt string
	// NoPieces: the backend cannot tell token borders.
	NoPieces bool
	// NoStopString: the server does not say which stop string ended an answer.
	NoStopString bool
	// Wrapped: the server puts a prompt into a form of its own, as chats do, so that more tokens are read than counted.
	Wrapped bool
	// DropsGrammar: the server goes on without a grammar that it cannot read.
	DropsGrammar bool
	// NoConversations: it takes no messages, only prompts. NoTools: it takes no tools.
	NoConversations, NoTools bool
	// NoSchema: its answers cannot be held to a schema.
	NoSchema bool
	// NoVocabulary: how many tokens the model has is not known here.
	NoVocabulary bool
}

// texts are what writers send: scripts, marks, blanks, control characters, what looks like markup.
var texts = []string{
	"夜の港で、彼女は紡いだ糸を見つめた。\n「もう戻れない」\n\n　霧が深い。",
	"A plain English sentence, with numbers 12345 and don't.",
	" leading, trailing and  double blanks ",
	"👨‍👩‍👧‍👦が\u3099 é e\u0301 🏽",
	"NUL \x00, bell \a, CR\r\nLF\n\nTAB\t]]> <b>&amp;</b> \"quoted\" \\back\u2028line",
	"\n", "　", "a", "{\"json\": [1, 2.5e-3]} ```go\nfunc(){}\n```",
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	t.Helper()
	t.Run("Window", s.window)
	t.Run("Count", s.count)
	t.Run("Pieces", s.pieces)
	t.Run("CountsTogether", s.together)
	t.Run("NotUTF8", s.notUTF8)
	t.Run("Generate", s.generate)
	t.Run("Sent", s.sent)
	t.Run("Limit", s.limit)
	t.Run("StopString", s.stopString)
	t.Run("TooLong", s.tooLong)
	t.Run("BadSampling", s.badSampling)
	t.Run("BadKnobs", s.badKnobs)
	t.Run("Conversation", s.conversation)
	t.Run("Tools", s.tools)
	t.Run("Schema", s.schema)
	t.Run("CloseEarly", s.closeEarly)
	t.Run("Cancelled", s.cancelled)
}

func (s Subject) window(t *testing.T) {
	id, err := s.Backend.Window(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if id.Backend == "" || id.Kind == "" || id.Address == "" || id.Model == "" || id.Tokenizer == "" || id.Window <= 0 {
		t.Errorf("the identity is not whole: %+v", id)
	}
	again, err := s.Backend.Window(t.Context())
	if err != nil || again != id {
		t.Errorf("the second identity is %+v, %v; the first was %+v", again, err, id)
	}
}

func (s Subject) count(t *testing.T) {
	if n, err := s.Backend.Count(t.Context(), ""); err != nil || n < 0 {
		t.Errorf("the empty text has %d tokens, %v", n, err)
	}
	for _, text := range texts {
		n := s.countOf(t, text)
		if n < 1 || n > len(text)+2 {
			t.Errorf("%q has %d tokens", text, n)
		}
		if longer := s.countOf(t, text+"\n"+text); longer <= n/2 {
			t.Errorf("%q has %d tokens, twice that text %d", text, n, longer)
		}
	}
	if n := s.countOf(t, strings.Repeat(texts[0], 400)); n < 1000 {
		t.Errorf("a long text has %d tokens", n)
	}
}

func (s Subject) countOf(t *testing.T, text string) int {
	t.Helper()
	n, err := s.Backend.Count(t.Context(), text)
	if err != nil {
		t.Fatalf("counting %q: %v", text, err)
	}
	return n
}

func (s Subject) pieces(t *testing.T) {
	local, isLocal := s.Backend.(llm.Local)
	bordered, isBordered := s.Backend.(llm.Bordered)
	if told := isLocal && local.CountsHere() || isBordered && bordered.TellsBorders(); told == s.NoPieces {
		t.Errorf("that token borders are known is told as %v", told)
	}
	if s.NoPieces {
		if _, err := s.Backend.Pieces(t.Context(), "a"); !errors.Is(err, llm.ErrNoPieces) {
			t.Errorf("the error is %v, not ErrNoPieces", err)
		}
		return
	}
	for _, text := range append(texts, "", strings.Repeat(texts[0], 400)) {
		lengths, err := s.Backend.Pieces(t.Context(), text)
		if err != nil {
			t.Errorf("the pieces of %.40q: %v", text, err)
			continue
		}
		sum := 0
		for _, n := range lengths {
			if n < 0 {
				t.Errorf("%.40q has a piece of %d bytes", text, n)
			}
			sum += n
		}
		if sum != len(text) {
			t.Errorf("the pieces of %.40q add up to %d bytes, not %d", text, sum, len(text))
		}
		if n := s.countOf(t, text); n != len(lengths) {
			t.Errorf("%.40q has %d pieces and %d tokens", text, len(lengths), n)
		}
	}
}

// together counts from many goroutines: each must get the number of its own text.
func (s Subject) together(t *testing.T) {
	want := make([]int, len(texts))
	for i, text := range texts {
		want[i] = s.countOf(t, text)
	}
	got := make(chan [2]int)
	for range 4 {
		for i, text := range texts {
			go func() {
				n, err := s.Backend.Count(t.Context(), text)
				if err != nil {
					n = -1
				}
				got <- [2]int{i, n}
			}()
		}
	}
	for range 4 * len(texts) {
		if g := <-got; g[1] != want[g[0]] {
			t.Errorf("%q has %d tokens when others are counted, else %d", texts[g[0]], g[1], want[g[0]])
		}
	}
}

func (s Subject) notUTF8(t *testing.T) {
	for _, bad := range []string{"\xff", "夜\xe6\xb8"} {
		_, err := s.Backend.Count(t.Context(), bad)
		wantFault(t, err, llm.FaultRefused)
		_, err = s.Backend.Pieces(t.Context(), bad)
		if !s.NoPieces {
			wantFault(t, err, llm.FaultRefused)
		}
		_, err = s.Backend.Generate(t.Context(), s.request(bad, 1))
		wantFault(t, err, llm.FaultRefused)
	}
}

func (s Subject) generate(t *testing.T) {
	text, result := s.answer(t, s.request(s.Prompt, 8))
	if text == "" || result.AnswerTokens < 1 || result.AnswerTokens > 8 {
		t.Errorf("the answer is %q, with %+v", text, result)
	}
	if n := s.countOf(t, s.Prompt); result.PromptTokens != n && (!s.Wrapped || result.PromptTokens < n) {
		t.Errorf("the prompt has %d tokens when it is counted, %d when it is answered", n, result.PromptTokens)
	}
	if result.CachedTokens < 0 || result.CachedTokens > result.PromptTokens || result.PromptTime < 0 || result.AnswerTime < 0 {
		t.Errorf("the result is %+v", result)
	}
	again, later := s.answer(t, s.request(s.Prompt, 8))
	if told := s.Backend.Tells().Cache; later.CacheTold != told {
		t.Errorf("that the cache is told is said as %v, and the result is %+v", told, later)
	}
	if diff := cmp.Diff(text, again); diff != "" {
		t.Errorf("the same request has two answers:\n%s", diff)
	}
}

// sent: Generate tells when it asks the server for text, once.
func (s Subject) sent(t *testing.T) {
	n := 0
	stream := s.start(t, llm.OnSent(t.Context(), func() { n++ }), s.request(s.Prompt, 1))
	// A model may end its answer at once: then nothing comes before the end.
	if _, err := stream.Recv(); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if n != 1 {
		t.Errorf("it was told %d times", n)
	}
}

func (s Subject) limit(t *testing.T) {
	text, result := s.answer(t, s.request(s.Prompt, 2))
	if result.Finish != llm.FinishLength || result.AnswerTokens != 2 || result.StopString != "" {
		t.Errorf("2 tokens gave %q with %+v", text, result)
	}
}

func (s Subject) stopString(t *testing.T) {
	text, _ := s.answer(t, s.request(s.Prompt, 8))
	runes := []rune(text)
	stop := string(runes[len(runes)/2:])
	r := s.request(s.Prompt, 8)
	r.Sampling.Stop = []string{"never in the text", stop}
	got, result := s.answer(t, r)
	want, _, _ := strings.Cut(text, stop)
	if s.Backend.Tells().StopString == s.NoStopString {
		t.Error("it is wrong about telling which stop string ended an answer")
	}
	if s.NoStopString && result.StopString == "" {
		result.StopString = stop
	}
	if got != want || result.Finish != llm.FinishStop || result.StopString != stop {
		t.Errorf("stopping %q at %q gave %q with %+v", text, stop, got, result)
	}
}

func (s Subject) tooLong(t *testing.T) {
	id, err := s.Backend.Window(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Backend.Generate(t.Context(), s.request(strings.Repeat("夜 x ", id.Window), 4))
	e := typed(t, err, llm.FaultTooLong)
	if e.Tokens <= id.Window || e.Window != id.Window {
		t.Errorf("the error tells %d tokens in a window of %d, which is %d", e.Tokens, e.Window, id.Window)
	}
}

func (s Subject) closeEarly(t *testing.T) {
	stream := s.start(t, t.Context(), s.request(s.Prompt, 8))
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := stream.Recv()
	wantFault(t, err, llm.FaultCancelled)
	if r := stream.Result(); r.Finish != "" {
		t.Errorf("a closed answer ended with %+v", r)
	}
}

func (s Subject) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stream := s.start(t, ctx, s.request(s.Prompt, 40))
	cancel()
	var err error
	for err == nil {
		_, err = stream.Recv()
	}
	if !errors.Is(err, io.EOF) { // a short answer may be whole already
		wantFault(t, err, llm.FaultCancelled)
	}
	_, err = s.Backend.Count(ctx, "a")
	e := typed(t, err, llm.FaultCancelled)
	if !errors.Is(e, context.Canceled) {
		t.Errorf("%v does not wrap context.Canceled", e)
	}
	_, err = s.Backend.Window(ctx)
	wantFault(t, err, llm.FaultCancelled)
	_, err = s.Backend.Generate(ctx, s.request(s.Prompt, 1))
	wantFault(t, err, llm.FaultCancelled)
}

func (s Subject) request(prompt string, most int) llm.Request {
	cold, seed := 0.0, uint32(1)
	return llm.Request{Prompt: prompt, Sampling: llm.Sampling{Temperature: &cold, Seed: &seed, MaxTokens: most}}
}

func (s Subject) start(t *testing.T, ctx context.Context, r llm.Request) llm.Stream { //nolint:revive // t comes first in tests
	t.Helper()
	stream, err := s.Backend.Generate(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
	})
	return stream
}

// answer reads an answer to its end and looks at each piece.
func (s Subject) answer(t *testing.T, r llm.Request) (string, llm.Result) {
	t.Helper()
	stream := s.start(t, t.Context(), r)
	var text strings.Builder
	for {
		p, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("after %q: %v", text.String(), err)
		}
		if p == "" || !utf8.ValidString(p) {
			t.Errorf("a piece is %q", p)
		}
		text.WriteString(p)
	}
	if p, err := stream.Recv(); p != "" || !errors.Is(err, io.EOF) {
		t.Errorf("after the end comes %q, %v", p, err)
	}
	return text.String(), stream.Result()
}

func wantFault(t *testing.T, err error, fault llm.Fault) {
	t.Helper()
	_ = typed(t, err, fault) // which checks it
}

// typed gives err as what it must be.
func typed(t *testing.T, err error, fault llm.Fault) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("the error is %v, not an *llm.Error with %s", err, fault)
	}
	if e.Fault != fault {
		t.Errorf("the error is %s (%v), not %s", e.Fault, e, fault)
	}
	if errors.Is(err, io.EOF) {
		t.Errorf("%v looks like the good end of a stream", e)
	}
	if e.Backend == "" || e.Address == "" || e.Message == "" {
		t.Errorf("the error does not say where and what: %+v", e)
	}
	return e
}
