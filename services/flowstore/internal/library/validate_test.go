package library_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

func TestValidateFlow(t *testing.T) {
	t.Parallel()
	d := damaged{memory.New(clock), map[uuid.UUID]error{}}
	l := library.New(d, &counting{})
	f := newFlow(t, l)
	a := add(t, l, f, "a")
	b, c := add(t, l, f, "b", a), add(t, l, f, "c", a)
	if got, more, err := l.ValidateFlow(t.Context(), ns, f, 10); len(got) > 0 || more > 0 || err != nil {
		t.Errorf("a flow without fault: %v, %d more, %v", got, more, err)
	}
	d.errs[a], d.errs[c] = store.ErrNodeNotFound, &store.UnreadableError{Path: "nodes/000/002.xml", Reason: "torn"}
	want := []flow.Problem{
		{Kind: flow.MissingNode, Index: 1, Node: a, Text: "nodes: index 1, node " + a.String() + ": its file is missing"},
		{Kind: flow.UnreadableNode, Index: 3, Node: c, File: "nodes/000/002.xml", Text: "nodes: index 3, node " + c.String() + ": nodes/000/002.xml cannot be read: torn"},
	}
	for _, most := range []int{2, 1, 0} {
		got, more, err := l.ValidateFlow(t.Context(), ns, f, most)
		if diff := cmp.Diff(want[:most], got); diff != "" || more != 2-most || err != nil {
			t.Errorf("at most %d: %s, %d more, %v", most, diff, more, err)
		}
	}
	broken := errors.New("the disk is gone")
	d.errs[b] = broken
	if _, _, err := l.ValidateFlow(t.Context(), ns, f, 10); !errors.Is(err, broken) {
		t.Errorf("any other trouble ends the call: %v", err)
	}
	_, _, err := l.ValidateFlow(t.Context(), ns, id(4000), 10)
	expect(t, &library.NotFoundError{Kind: store.KindFlow, ID: id(4000)}, err)
}
