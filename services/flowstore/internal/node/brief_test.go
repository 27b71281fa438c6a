package node_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// cases/flowstore.md 34: a list tells the beginning of a text and how long it is.
func TestFlowstore34Brief(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("紡", 200)
	n := node.Node{Note: "x", Score: new(float64), Summary: node.Summary{Text: long + "ぎ", Stale: true}, Model: "m", Tags: []string{"t"}, Generation: &node.Generation{Task: "x"}, Texts: []node.Text{
		{Role: "user", Content: long + "ぎ糸", Count: 5}, {Role: "assistant", Content: long}, {Role: "tool"}, {Role: "user", Content: "a\xffb"},
	}}
	want := node.Brief{Whole: n.Etag(), Characters: []int{202, 200, 0, 3}, SummaryCharacters: 201, Node: node.Node{Score: new(float64), Summary: node.Summary{Text: long, Stale: true}, Model: "m", Tags: []string{"t"}, Texts: []node.Text{
		{Role: "user", Content: long, Count: 5}, {Role: "assistant", Content: long}, {Role: "tool"}, {Role: "user", Content: "a\xffb"},
	}}}
	if diff := cmp.Diff(want, n.Brief()); diff != "" {
		t.Error(diff)
	}
	if n.Generation == nil || n.Texts[0].Content != long+"ぎ糸" {
		t.Error("the node itself was shortened")
	}
}
