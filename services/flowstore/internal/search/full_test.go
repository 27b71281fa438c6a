package search

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// A full index refuses a node, also one that would replace another, and keeps what it has. The room is taken by memory that
// nobody touches.
func TestFullIndex(t *testing.T) {
	t.Parallel()
	n := node.Node{ID: uuid.UUID{1}, Texts: []node.Text{{Content: "夜 quick"}}}
	for what, fill := range map[string]func(x *Index){
		"nodes":           func(x *Index) { x.nodes = append(make([]entry, MaxNodes-1), x.nodes...) },
		"bytes of words":  func(x *Index) { x.segments = []*segment{{words: words{text: make([]byte, MaxBytes-len("quick"))}}} },
		"bytes of places": func(x *Index) { x.segments = []*segment{{lists: make([]byte, MaxBytes+1)}} },
	} {
		x := New()
		if err := x.Put(n, 0); err != nil {
			t.Fatal(err)
		}
		fill(x)
		err := x.Put(n, 0)
		if full := (*FullError)(nil); !errors.As(err, &full) || full.What != what {
			t.Errorf("%s: %v", what, err)
		}
		if !x.Has(n.ID) || x.Len() != 1 {
			t.Errorf("%s: the node that was there is gone", what)
		}
	}
}
