package node_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// The first part has what is known of it, and the whole stays as it is.
func TestFirstPart(t *testing.T) {
	t.Parallel()
	whole := node.Node{
		Model: "m", Tags: []string{"t"}, Score: new(float64), Note: "n", Summary: node.Summary{Text: "s"}, Warnings: []string{"w"},
		Texts:      []node.Text{{Role: "user", Content: "問い", Count: 2}, {Role: "assistant", Content: "夜🧵が明けた", Count: 7, Duration: 1, Rate: 7}},
		Generation: &node.Generation{Task: "PLAIN", Picks: []string{"p"}, PromptTokens: 2, AnswerTokens: 7, AnswerSeconds: 1, Finish: "backend_error", Fault: "cut", Error: "e", Branch: "雨", RequestDigest: "d"},
	}
	etag := whole.Etag()
	split := &node.Generation{Task: "PLAIN", Picks: []string{"p"}, PromptTokens: 2, Finish: node.FinishSplit}
	question := node.Text{Role: "user", Content: "問い", Count: 2}
	for _, tt := range []struct {
		text, characters int
		texts            []node.Text
		generation       *node.Generation
	}{
		{1, 2, []node.Text{question, {Role: "assistant", Content: "夜🧵"}}, split},
		{1, 0, []node.Text{question, {Role: "assistant"}}, split},
		{0, 2, []node.Text{question}, nil},
		{0, 1, []node.Text{{Role: "user", Content: "問"}}, nil},
	} {
		got, err := whole.FirstPart(tt.text, tt.characters)
		want := node.Node{Model: "m", Tags: []string{"t"}, Summary: node.Summary{Stale: true}, Texts: tt.texts, Generation: tt.generation}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	if whole.Etag() != etag {
		t.Error("the whole is another")
	}
	for _, at := range [][2]int{{2, 0}, {-1, 0}, {1, 7}, {1, -1}} {
		if outside := (*node.OutsideError)(nil); !errors.As(second(whole.FirstPart(at[0], at[1])), &outside) {
			t.Errorf("at %v", at)
		}
	}
	if nothing := (*node.NothingCutError)(nil); !errors.As(second(whole.FirstPart(1, 6)), &nothing) || nothing.Characters != 6 {
		t.Error("all of it is no first part")
	}
}

func second(_ node.Node, err error) error { return err }
