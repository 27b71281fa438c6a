package search_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
)

// changed is a source in which the node is another than it was put, and is written in another form.
type changed struct{ search.Source }

func (changed) Texts(context.Context, uuid.UUID) ([]node.Text, uint64, bool, error) {
	return []node.Text{{Content: "か\u3099らんと"}}, 8, true, nil
}

// What the index knows of the form of a text holds for the text with the same stamp alone.
func TestATextThatChangedSinceItWasPut(t *testing.T) {
	t.Parallel()
	x := search.New()
	if err := x.Put(node.Node{ID: uuid.UUID{1}, Texts: []node.Text{{Content: "がらんと"}}}, 7); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"がらん", "がら"} { // read to be sure, and sure without
		q, err := search.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		res, err := x.Search(t.Context(), changed{}, q, search.Page{})
		if err != nil || len(res.Hits) != 1 || len(res.Hits[0].Highlights) != 1 {
			t.Errorf("%s: %+v, %v", text, res, err)
		}
	}
}
