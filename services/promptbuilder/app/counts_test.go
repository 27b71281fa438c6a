package app_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp/koboldcpptest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/openai/openaitest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/app"
)

// wires are servers that count, and where the texts stand in what goes over the wire to be counted.
var wires = map[string]struct {
	settings string
	start    func(t *testing.T) (address string, requests func(path string) []json.RawMessage)
	paths    []string
}{
	"llamacpp": {"kind: llamacpp", func(t *testing.T) (string, func(string) []json.RawMessage) {
		s := llmtest.New(t, llmtest.Options{Window: 100_000})
		return s.URL, s.Requests
	}, []string{"/tokenize"}},
	"koboldcpp": {"kind: koboldcpp", func(t *testing.T) (string, func(string) []json.RawMessage) {
		s := koboldcpptest.New(t, koboldcpptest.Options{Window: 100_000})
		return s.URL, s.Requests
	}, []string{"/api/extra/tokencount"}},
	"openai chat": {"kind: openai, server: vllm, api: chat", func(t *testing.T) (string, func(string) []json.RawMessage) {
		s := openaitest.New(t, openaitest.Options{Program: openaitest.VLLM, Window: 100_000})
		return s.URL, s.Requests
	}, []string{"/tokenize"}},
}

// captured are the texts that went over the wire to be counted: how many, and their characters.
func captured(t *testing.T, requests func(path string) []json.RawMessage, paths []string) (counts, characters int) {
	t.Helper()
	for _, path := range paths {
		for _, raw := range requests(path) {
			var body struct {
				Content, Prompt string
				Messages        []struct{ Content string }
			}
			if err := json.Unmarshal(raw, &body); err != nil {
				t.Fatal(err)
			}
			counts++
			characters += utf8.RuneCountInString(body.Content) + utf8.RuneCountInString(body.Prompt)
			for _, m := range body.Messages {
				characters += utf8.RuneCountInString(m.Content)
			}
		}
	}
	return counts, characters
}

// What the answers say of counts is what went over the wire: with the text by which a tokenizer is known, with the parts of
// what is too large to be counted at once, and each count that builds share once.
func TestFiguresOfTheWire(t *testing.T) {
	t.Parallel()
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, requests := w.start(t)
			set, err := backends.Parse([]byte("backends: {here: {" + w.settings + ", address: '" + address + "'}}"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = set.Close() })
			a, err := app.New(t.Context(), app.DefaultConfig(), app.Deps{Backends: set})
			if err != nil {
				t.Fatal(err)
			}
			client := promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, a.Register))
			counts, characters := 0, 0
			var mu sync.Mutex
			build := func(body string) {
				got, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{Body: body})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				counts, characters = counts+int(got.GetCountsUsed()), characters+int(got.GetCharactersSent())
			}
			told := func(after string) {
				if n, sent := captured(t, requests, w.paths); n != counts || sent != characters || n == 0 {
					t.Errorf("after %s %d counts of %d characters went over the wire, %d of %d are told", after, n, sent, counts, characters)
				}
			}
			build("夜の港。\n霧が深い。\n")
			told("a short text")
			build(strings.Repeat("夜の港で、彼女は紡いだ糸を見つめた。\n", 3000))
			told("a text of 57,000 tokens")
			build(strings.Repeat("霧が深いので、誰も港へ降りて来ない。\n", 8000))
			told("a text over the window")
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() { build("同じ本文。\n同じ本文。\n") })
			}
			all.Wait()
			told("four builds of one text")
		})
	}
}

// Where the backends file names the vocabulary, no text goes over the wire to be counted, and the answer says so.
func TestNothingIsAskedWhereTheVocabularyIsNamed(t *testing.T) {
	t.Parallel()
	s := openaitest.New(t, openaitest.Options{Window: 4096})
	set, err := backends.Parse([]byte("backends: {here: {kind: openai, model: fake, window: 4096, address: '" + s.URL + "', tokenizer: o200k_base}}"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	a, err := app.New(t.Context(), app.DefaultConfig(), app.Deps{Backends: set})
	if err != nil {
		t.Fatal(err)
	}
	client := promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, a.Register))
	got, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{Body: strings.Repeat("The harbour lay under a slow rain.\n", 3000)})
	if err != nil {
		t.Fatal(err)
	}
	if asked := slices.Concat(s.Requests("/tokenize"), s.Requests("/v1/completions"), s.Requests("/v1/chat/completions")); len(asked) > 0 || got.CountsUsed != 0 || got.CharactersSent != 0 || got.Cut == nil || got.Tokens == 0 {
		t.Errorf("%d texts were sent; told are %d counts of %d characters, %d tokens, the cut %v", len(asked), got.CountsUsed, got.CharactersSent, got.Tokens, got.Cut)
	}
}

// A server that could count, where the backends file names the vocabulary, counts one short text when it is first met, which is
// told, and none for any build behind it, however long the text.
func TestNoCountsWithVocabulary(t *testing.T) {
	t.Parallel()
	const file = "../../internal/llm/tokenizer/testdata/gpt-2.json"
	vocabulary, err := tokenizer.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	server := llmtest.New(t, llmtest.Options{Window: 4096, Vocabulary: vocabulary})
	set, err := backends.Parse([]byte("backends: {here: {kind: llamacpp, address: '" + server.URL + "', tokenizer: '" + file + "'}}"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	a, err := app.New(t.Context(), app.DefaultConfig(), app.Deps{Backends: set})
	if err != nil {
		t.Fatal(err)
	}
	client := promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, a.Register))
	for build, want := range []int{1, 0, 0} {
		before, _ := captured(t, server.Requests, []string{"/tokenize"})
		body := strings.Repeat("夜の港で、彼女は紡いだ糸を見つめた。\n", 3000+build)
		got, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{Body: body})
		if err != nil {
			t.Fatal(err)
		}
		after, _ := captured(t, server.Requests, []string{"/tokenize"})
		if int(got.GetCountsUsed()) != want || after-before != want || got.GetCut() == nil {
			t.Errorf("build %d: %d counts went over the wire, %d are told; want %d, and a cut: %v", build, after-before, got.GetCountsUsed(), want, got.GetCut())
		}
		if whole := got.GetPrompt(); vocabulary.Count(whole, tokenizer.Prompt) != int(got.GetTokens()) {
			t.Errorf("build %d: %d tokens are told of a prompt of %d", build, got.GetTokens(), vocabulary.Count(whole, tokenizer.Prompt))
		}
	}
}
