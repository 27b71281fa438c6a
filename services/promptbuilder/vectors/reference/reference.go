// Package reference reads reference prompts: requests, and what the program that seed 000 describes makes of them, in the
// lines of a file story.jsonl.
package reference

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// Vector is a request and the prompt that the reference makes of it.
type Vector struct {
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

// maxLine is the longest line of a file, in bytes.
const maxLine = 16 << 20

// Read reads the vectors of a file.
func Read(path string) ([]Vector, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	var all []Vector
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var v Vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(all)+1, err)
		}
		all = append(all, v)
	}
	return all, lines.Err()
}

// Request is the vector's, with the rules of the reference.
func (v Vector) Request() *promptbuilderv1.BuildStoryRequest {
	r := &promptbuilderv1.BuildStoryRequest{
		Body: v.Body, Compatibility: promptbuilderv1.Compatibility_COMPATIBILITY_COMPAT,
		Mode: promptbuilderv1.StoryMode(promptbuilderv1.StoryMode_value["STORY_MODE_"+strings.ToUpper(v.Mode)]),
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

// Differs says in one line what is wrong with an answer; empty when it is the reference's, byte for byte.
func (v Vector) Differs(got *promptbuilderv1.BuildStoryResponse) string {
	if task := strings.TrimPrefix(got.GetTask().String(), "STORY_TASK_"); task != v.Task {
		return fmt.Sprintf("%s: the task is %s, want %s", v.Name, task, v.Task)
	}
	at := 0
	for at < len(got.GetPrompt()) && at < len(v.Prompt) && got.GetPrompt()[at] == v.Prompt[at] {
		at++
	}
	if at == len(got.GetPrompt()) && at == len(v.Prompt) {
		return ""
	}
	return fmt.Sprintf("%s: from byte %d the prompt is %.60q, want %.60q", v.Name, at, got.GetPrompt()[at:], v.Prompt[at:])
}
