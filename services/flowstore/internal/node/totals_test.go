package node_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

func TestTotals(t *testing.T) {
	t.Parallel()
	var got node.Totals
	got.Add(node.Node{Model: "b", Texts: []node.Text{{Content: "紡ぎ", Count: 3, Duration: 0.5}, {Content: "x"}, {}}})
	got.Add(node.Node{Texts: []node.Text{{Content: "y", Count: -5, Duration: -1}}})
	got.Add(node.Node{Model: "a", Texts: []node.Text{{Count: 4, Duration: 1.25}}})
	got.Add(node.Node{Model: "b"})
	want := node.Totals{Nodes: 4, Texts: 5, Characters: 4, Tokens: 7, Uncounted: 2, Seconds: 1.75, Models: []string{"b", "a"}, ModelCount: 2}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(node.Totals{})); diff != "" {
		t.Error(diff)
	}
	var many node.Totals
	for i := range node.MaxTotalModels + 1 {
		many.Add(node.Node{Model: fmt.Sprint(i)})
	}
	if len(many.Models) != node.MaxTotalModels || many.ModelCount != node.MaxTotalModels+1 {
		t.Errorf("%d models of %d", len(many.Models), many.ModelCount)
	}
}
