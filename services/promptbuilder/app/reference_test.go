package app_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// vector is a request and the prompt that the program of seed 000 makes of it.
type vector struct {
	Name, Mode string
	Body       string `json:"main_text"`
	Metadata   struct {
		Title, Synopsis, Setting, Plot *string
		Keywords, Genres               []string
		DialogueLevel                  *string `json:"dialogue_level"`
	}
	Note          string `json:"authors_note"`
	Rating        string
	DefaultRating string `json:"default_rating"`
	Order         string `json:"cont_prompt_order"`
	Header        string `json:"authors_note_display_mode"`
	Task, Prompt  string
}

func (v vector) request() *promptbuilderv1.BuildStoryRequest {
	r := &promptbuilderv1.BuildStoryRequest{
		Body: v.Body,
		Story: &commonv1.Story{
			Title: v.Metadata.Title, Keywords: v.Metadata.Keywords, Genres: v.Metadata.Genres, Synopsis: v.Metadata.Synopsis,
			Setting: v.Metadata.Setting, Plot: v.Metadata.Plot, DialogueLevel: v.Metadata.DialogueLevel, Note: &v.Note, Rating: &v.Rating,
		},
	}
	if v.Rating == "" {
		r.Story.Rating = &v.DefaultRating
	}
	if v.Order == "text_first" {
		r.BlockOrder = promptbuilderv1.BlockOrder_BLOCK_ORDER_TEXT_FIRST
	}
	if v.Header == "legacy" {
		r.NoteHeader = promptbuilderv1.NoteHeader_NOTE_HEADER_LEGACY
	}
	return r
}

// TestReferencePrompts compares with the reference wherever nothing is cut, byte for byte.
func TestReferencePrompts(t *testing.T) {
	t.Parallel()
	file, err := os.Open(testkit.Shared(t, "vectors/story.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	client := serve(t, llmtest.New(t, llmtest.Options{Window: 1 << 20}).URL)
	all, equal := 0, 0
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Mode != "generate" {
			continue
		}
		all++
		got, err := client.BuildStory(t.Context(), v.request())
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if got.GetPrompt() != v.Prompt || got.GetTask().String() != "STORY_TASK_"+v.Task {
			t.Errorf("%s: task %s, prompt %q\nwant %s, %q", v.Name, got.GetTask(), got.GetPrompt(), v.Task, v.Prompt)
			continue
		}
		equal++
	}
	if err := lines.Err(); err != nil || all == 0 {
		t.Fatalf("%d prompts were read, error %v", all, err)
	}
	t.Logf("%d of %d prompts of the generate mode equal", equal, all)
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
	for name, cut := range map[string]llmtest.Rule{"characters": llmtest.Runes, "pairs": llmtest.Pairs, "bytes": llmtest.Bytes} {
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
		if got.GetTokens() != counted.GetTokens()[0] || use > 1 || use < 0.98 || got.GetCountsUsed() > 8 {
			t.Errorf("%s: %d tokens, counted again %d, of %d, in %d counts; want 98 to 100 %% in at most 8",
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
