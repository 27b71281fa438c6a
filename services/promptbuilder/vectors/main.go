// Command vectors compares story prompts with reference prompts, byte for byte: `vectors FOLDER` reads FOLDER/story.jsonl.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/transport"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/vectors/reference"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "vectors: name the folder of a story.jsonl: make vectors DIR=FOLDER")
		os.Exit(1)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}

// run compares all vectors of a folder. The reference counts nothing here, so that the window is one without end.
func run(ctx context.Context, folder string) error {
	all, err := reference.Read(filepath.Join(folder, "story.jsonl"))
	if err != nil {
		return err
	}
	server := transport.New(story.NewBuilder(endless{}, nil, story.Defaults{MaxTokens: 1, IdeaTokens: 1, AutocompleteTokens: 1, Rating: story.RatingGeneral}), nil, nil)
	equal := 0
	for _, v := range all {
		got, err := server.BuildStory(ctx, v.Request())
		wrong := fmt.Sprintf("%s: %v", v.Name, err)
		if err == nil {
			wrong = v.Differs(got)
		}
		if wrong == "" {
			equal++
			continue
		}
		fmt.Println(wrong)
	}
	fmt.Printf("vectors: %d of %d equal\n", equal, len(all))
	if equal < len(all) || equal == 0 {
		os.Exit(1)
	}
	return nil
}

// endless is a model server with room for everything.
type endless struct{}

func (endless) Counter(string) (story.Counter, error) { return endless{}, nil }

func (endless) Window(context.Context) (story.Backend, error) {
	return story.Backend{Backend: "none", Kind: "none", Window: 1 << 30}, nil
}

func (endless) List() []story.Listed { return nil }

func (endless) Local() bool { return true }

func (endless) Estimates() bool { return false }

func (endless) Count(_ context.Context, text string) (int, error) {
	return utf8.RuneCountInString(text), nil
}

func (endless) Pieces(context.Context, string) ([]int, error) { return nil, fit.ErrNoPieces }
