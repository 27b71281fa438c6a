package storetest

import (
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

func largeCases() []testCase {
	return []testCase{
		{Revisions, "large ones are bounded by their size", func(e *env) {
			e.createNode("a", strings.Repeat("a", store.MaxRevisionBytes*2/3))
			e.replaceNode("a", strings.Repeat("b", store.MaxRevisionBytes*2/3))
			e.replaceNode("a", "c")
			kept := e.revisionsOfA()
			e.same(1, len(kept))
			e.same("b", kept[0].Texts[0].Content[:1])
		}},
		{Bounds, "a text of 4 MiB that is escaped all over", func(e *env) {
			want := textNode("n", strings.Repeat("春\x01", 1<<20))
			e.must(e.update(func(tx store.Tx) error { return tx.CreateNode(want) }))
			_, err := e.store.Flush(e.Context(), e.ns)
			e.must(err)
			if e.node("n").Texts[0].Content != want.Texts[0].Content {
				e.Error("another text is read than was written")
			}
		}},
		{Bounds, "a flow of 10,000 nodes", func(e *env) {
			want := flow.Flow{ID: id("f"), Name: "f", Created: start, Updated: start, Next: 10_001, Current: 10_000}
			for i := 1; i < want.Next; i++ {
				want.Members = append(want.Members, flow.Member{Index: i, Node: id(numbered("n", i))})
				want.Edges = append(want.Edges, flow.Edge{From: max(i-1, 1), To: max(i, 2)})
			}
			want.Edges = want.Edges[1:]
			e.must(e.update(func(tx store.Tx) error { return tx.CreateFlow(want) }))
			_, err := e.store.Flush(e.Context(), e.ns)
			e.must(err)
			e.same(want, e.flow("f"))
		}},
	}
}
