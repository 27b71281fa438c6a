package library_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

// lost is a store in which flows went away, or cannot be read.
type lost struct {
	store.Store
	errs map[uuid.UUID]error
}

func (l lost) Flow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, error) {
	if err := l.errs[id]; err != nil {
		return flow.Flow{}, err
	}
	return l.Store.Flow(ctx, ns, id)
}

func anotherFlow(t *testing.T, l *library.Library) uuid.UUID {
	t.Helper()
	f, err := l.CreateFlow(t.Context(), ns, library.NewFlow{Flow: flow.Flow{Name: "another"}})
	if err != nil {
		t.Fatal(err)
	}
	return f.ID
}

// A link whose flow went away is told, on the path and by ValidateFlow; it may stay, and no new one may be made.
func TestDanglingLinks(t *testing.T) {
	t.Parallel()
	s := lost{memory.New(clock), map[uuid.UUID]error{}}
	l := library.New(s, &counting{})
	f, other, third := newFlow(t, l), anotherFlow(t, l), anotherFlow(t, l)
	a := add(t, l, f, "a")
	link := func(links ...library.LinkAt) error {
		_, err := l.UpdateFlow(t.Context(), ns, library.Update{Flow: f, Fields: []string{"links"}, Links: links})
		return err
	}
	if err := link(library.LinkAt{Node: a, Flow: other}, library.LinkAt{Flow: third}); err != nil {
		t.Fatal(err)
	}
	s.errs[other], s.errs[third] = store.ErrFlowNotFound, &store.UnreadableError{Path: "flows/000/002.yaml", Reason: "torn"}
	page, err := l.Path(t.Context(), ns, library.PathQuery{Flow: f, Node: a, MaxNodes: 9, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]library.LinkTo{{Flow: other, Problem: "its file is missing"}}, page.Nodes[0].Links); diff != "" {
		t.Error(diff)
	}
	problems, _, err := l.ValidateFlow(t.Context(), ns, f, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []flow.Problem{
		{Kind: flow.DanglingLink, Text: "links: 0 -> " + flow.Name(third) + ": flows/000/002.yaml cannot be read: torn", Link: flow.Link{Flow: third}, File: "flows/000/002.yaml"},
		{Kind: flow.DanglingLink, Text: "links: 1 -> " + flow.Name(other) + ": its file is missing", Link: flow.Link{From: 1, Flow: other}, Node: a},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
	if err := link(library.LinkAt{Flow: other}); err != nil {
		t.Errorf("a link that was there may move: %v", err)
	}
	expect(t, &library.UnreadableError{Kind: store.KindFlow, ID: third, Cause: &store.UnreadableError{Path: "flows/000/002.yaml", Reason: "torn"}},
		link(library.LinkAt{Flow: other}, library.LinkAt{Flow: third}))
	broken := errors.New("the disk is gone")
	s.errs[third] = broken
	if err := link(library.LinkAt{Flow: third}); !errors.Is(err, broken) {
		t.Errorf("any other trouble ends the call: %v", err)
	}
	s.errs[other] = broken
	if _, _, err := l.ValidateFlow(t.Context(), ns, f, 10); !errors.Is(err, broken) {
		t.Errorf("any other trouble ends the call: %v", err)
	}
}
