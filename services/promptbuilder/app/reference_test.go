package app_test

import (
	"os"
	"strings"
	"testing"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/vectors/reference"
)

// TestReferencePrompts compares with the reference, byte for byte, over gRPC.
func TestReferencePrompts(t *testing.T) {
	t.Parallel()
	all, err := reference.Read(testkit.Shared(t, "vectors/story.jsonl"))
	if err != nil || len(all) == 0 {
		t.Fatalf("%d vectors, error %v", len(all), err)
	}
	client := serve(t, llmtest.New(t, llmtest.Options{Window: 1 << 20}).URL)
	for _, v := range all {
		got, err := client.BuildStory(t.Context(), v.Request())
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if wrong := v.Differs(got); wrong != "" {
			t.Error(wrong)
		}
	}
}

// novel is a real novel of 160,297 characters, with and without its line breaks.
func novel(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(testkit.Shared(t, "text/kokoro.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"as printed": string(text), "without a line break": strings.ReplaceAll(string(text), "\n", "")}
}

// TestNovel builds from a whole novel: within the limit, nearly all of it used, with few counts.
func TestNovel(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]servertest.Rule{"characters": servertest.Runes, "pairs": servertest.Pairs, "bytes": servertest.Bytes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fitsTheNovel(t, serve(t, llmtest.New(t, llmtest.Options{Window: 8192, Cut: cut, BOS: true}).URL))
		})
	}
}

func fitsTheNovel(t *testing.T, client promptbuilderv1.PromptBuilderServiceClient) {
	t.Helper()
	for name, body := range novel(t) {
		got, err := client.BuildStory(t.Context(), &promptbuilderv1.BuildStoryRequest{Body: body})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		counted, err := client.CountTokens(t.Context(), &promptbuilderv1.CountTokensRequest{Texts: []string{got.GetPrompt()}})
		if err != nil {
			t.Fatal(err)
		}
		use := float64(got.GetTokens()) / float64(got.GetLimit())
		t.Logf("%s: %d tokens of %d (%.2f %%) in %d counts, %d characters kept, warnings %v",
			name, got.GetTokens(), got.GetLimit(), 100*use, got.GetCountsUsed(), got.GetCut().GetKeptCharacters(), got.GetWarnings())
		if got.GetTokens() != counted.GetTokens()[0] || use > 1 || use < 0.98 || got.GetCountsUsed() > 9 {
			t.Errorf("%s: %d tokens, counted again %d, of %d, in %d counts; want 98 to 100 %% in at most 8, and one of the tokenizer",
				name, got.GetTokens(), counted.GetTokens()[0], got.GetLimit(), got.GetCountsUsed())
		}
	}
}

// TestNovelWithARealModel does the same with the tokenizer of a real model, and with one that knows no Japanese.
func TestNovelWithARealModel(t *testing.T) {
	for _, model := range []string{"gemma", "smollm2"} {
		t.Run(model, func(t *testing.T) {
			fitsTheNovel(t, serve(t, testkit.Model(t, model)))
		})
	}
}
