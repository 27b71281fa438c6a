package library_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/worddiff"
)

func TestDiffNodes(t *testing.T) {
	t.Parallel()
	l := open()
	stored := func(texts ...node.Text) uuid.UUID {
		n, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: node.Node{Texts: texts}})
		if err != nil {
			t.Fatal(err)
		}
		return n.ID
	}
	a := stored(node.Text{Role: "user", Content: "雨の日"}, node.Text{Role: "assistant", Content: "x"}, node.Text{Role: "user", Content: "second"})
	b := stored(node.Text{Role: "system", Content: "s"}, node.Text{Role: "user", Content: "雪の日"}, node.Text{Role: "user", Content: "second"})
	got, err := l.DiffNodes(t.Context(), ns, a, b)
	want := []library.TextDiff{
		{Role: "user", InNode: true, InOther: true, Parts: []worddiff.Part{{Op: worddiff.Delete, Text: "雨"}, {Op: worddiff.Insert, Text: "雪"}, {Op: worddiff.Equal, Text: "の日"}}},
		{Role: "assistant", InNode: true, Parts: []worddiff.Part{{Op: worddiff.Delete, Text: "x"}}},
		{Role: "user", InNode: true, InOther: true, Parts: []worddiff.Part{{Op: worddiff.Equal, Text: "second"}}},
		{Role: "system", InOther: true, Parts: []worddiff.Part{{Op: worddiff.Insert, Text: "s"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	noA, noB := &library.NotFoundError{Kind: store.KindNode, ID: id(4000)}, &library.NotFoundError{Kind: store.KindNode, ID: id(4001)}
	_, err = l.DiffNodes(t.Context(), ns, id(4000), id(4001))
	expect(t, &library.ManyError{Errs: []error{noA, noB}}, err)
	_, err = l.DiffNodes(t.Context(), ns, id(4000), id(4000))
	expect(t, noA, err)
	large := stored(node.Text{Role: "user", Content: strings.Repeat("x", library.MaxDiff)})
	if _, err = l.DiffNodes(t.Context(), ns, large, stored(node.Text{Role: "user"})); err != nil {
		t.Errorf("as long as may be: %v", err)
	}
	_, err = l.DiffNodes(t.Context(), ns, large, a)
	expect(t, &library.DiffTooLargeError{Node: large, Other: a, Bytes: library.MaxDiff + 9 + 1 + 6}, err)
}

func TestDiffHeads(t *testing.T) {
	t.Parallel()
	d := damaged{memory.New(clock), map[uuid.UUID]error{}}
	l := library.New(d, &counting{})
	f := newFlow(t, l)
	a := add(t, l, f, "a")
	b, c := add(t, l, f, "b", a), add(t, l, f, "c", a)
	alone, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: said("alone")})
	if err != nil {
		t.Fatal(err)
	}
	d.errs[b] = &store.UnreadableError{Path: "nodes/000/001.xml", Reason: "torn"} // no text is read
	got, err := l.DiffHeads(t.Context(), ns, library.HeadsQuery{Flow: f, Node: b, Other: c})
	want := flow.HeadsDiff{Common: []flow.Member{{Index: 1, Node: a}}, Only: []flow.Member{{Index: 2, Node: b}}, OtherOnly: []flow.Member{{Index: 3, Node: c}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	got, err = l.DiffHeads(t.Context(), ns, library.HeadsQuery{Flow: f, Node: c, Other: c})
	if diff := cmp.Diff(flow.HeadsDiff{Common: []flow.Member{{Index: 3, Node: c}}}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	noNode := &library.NotFoundError{Kind: store.KindNode, ID: id(4000)}
	_, err = l.DiffHeads(t.Context(), ns, library.HeadsQuery{Flow: f, Node: alone.ID, Other: id(4000)})
	expect(t, &library.ManyError{Errs: []error{noNode, &flow.NotMemberError{Flow: f, Nodes: []uuid.UUID{alone.ID}}}}, err)
	_, err = l.DiffHeads(t.Context(), ns, library.HeadsQuery{Flow: id(4001), Node: a, Other: id(4000)})
	expect(t, &library.ManyError{Errs: []error{&library.NotFoundError{Kind: store.KindFlow, ID: id(4001)}, noNode}}, err)
}
