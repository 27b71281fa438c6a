package library_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

func TestPathPages(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	if text := path(t, l, library.PathQuery{Flow: f, MaxNodes: 10}); text != "" {
		t.Errorf("the path of an empty flow: %q", text)
	}
	var last uuid.UUID
	for _, text := range []string{"a", "bb", "ccc", "dddd", "e"} {
		if last == (uuid.UUID{}) {
			last = add(t, l, f, text)
		} else {
			last = add(t, l, f, text, last)
		}
	}
	// What a node takes besides its text; all but the first have a parent.
	base, parent := said("").Size(), 48
	cases := map[string]struct {
		nodes, bytes int
		want         []int
	}{
		"all on one":             {5, 5*base + 4*parent + 11, []int{5}},
		"by count":               {2, 1 << 20, []int{2, 2, 1}},
		"by bytes":               {5, 3*base + 2*parent + 6, []int{3, 2}},
		"a node that is too big": {5, 2*base + parent + 3, []int{2, 1, 1, 1}},
		"no room at all":         {0, 0, []int{1, 1, 1, 1, 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := library.PathQuery{Flow: f, Node: last, MaxNodes: c.nodes, MaxBytes: c.bytes}
			if text := path(t, l, q); text != "a bb ccc dddd e" {
				t.Errorf("path %q", text)
			}
			var sizes []int
			for len(sizes) == 0 || q.After != (library.Place{}) {
				page, err := l.Path(t.Context(), ns, q)
				if err != nil {
					t.Fatal(err)
				}
				sizes = append(sizes, len(page.Nodes))
				q.After = page.Next
			}
			if diff := cmp.Diff(c.want, sizes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A flow that changes between two pages: the pages go on to the node that the first one led to, and end.
func TestPathOfAFlowThatChanges(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	a := add(t, l, f, "a")
	b := add(t, l, f, "b", a)
	c := add(t, l, f, "c", b)
	q := library.PathQuery{Flow: f, MaxNodes: 1, MaxBytes: 1 << 20}
	first, err := l.Path(t.Context(), ns, q)
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, f, "other branch", a)
	between := said("x")
	if _, err := l.AddNode(t.Context(), ns, library.Addition{Flow: f, New: &between, Parents: []uuid.UUID{b}, Children: []uuid.UUID{c}}); err != nil {
		t.Fatal(err)
	}
	q.After = first.Next
	if text := path(t, l, q); text != "b x c" {
		t.Errorf("after the first page: %q", text)
	}
	q.After = library.Place{End: 3, Last: 77}
	_, err = l.Path(t.Context(), ns, q)
	expect(t, &library.PlaceGoneError{Flow: f}, err)
	q.After = library.Place{End: 77, Last: 1}
	_, err = l.Path(t.Context(), ns, q)
	expect(t, &library.PlaceGoneError{Flow: f}, err)
}

func TestPathRefusals(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	alone, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: said("alone")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Path(t.Context(), ns, library.PathQuery{Flow: f, Node: alone.ID})
	expect(t, &flow.NotMemberError{Flow: f, Nodes: []uuid.UUID{alone.ID}}, err)
	_, err = l.Path(t.Context(), ns, library.PathQuery{Flow: f, Node: id(4000)})
	expect(t, &library.NotFoundError{Kind: store.KindNode, ID: id(4000)}, err)
	_, err = l.Path(t.Context(), ns, library.PathQuery{Flow: id(4000)})
	noFlow := &library.NotFoundError{Kind: store.KindFlow, ID: id(4000)}
	expect(t, noFlow, err)
	_, err = l.Path(t.Context(), ns, library.PathQuery{Flow: id(4000), Node: id(4001)})
	expect(t, &library.ManyError{Errs: []error{noFlow, &library.NotFoundError{Kind: store.KindNode, ID: id(4001)}}}, err)
	_, err = l.Path(t.Context(), ns, library.PathQuery{Flow: id(4000), Node: alone.ID})
	expect(t, noFlow, err)
	add(t, l, f, "a")
	if _, err := l.SetCurrent(t.Context(), ns, f, uuid.UUID{}); err != nil {
		t.Fatal(err)
	}
	_, err = l.Path(t.Context(), ns, library.PathQuery{Flow: f})
	expect(t, &flow.NoCurrentError{Flow: f}, err)
}

// damaged is a store in which the files of some nodes cannot be read.
type damaged struct {
	store.Store
	errs map[uuid.UUID]error
}

func (d damaged) Node(ctx context.Context, ns string, id uuid.UUID) (node.Node, error) {
	if err := d.errs[id]; err != nil {
		return node.Node{}, err
	}
	return d.Store.Node(ctx, ns, id)
}

// A node that is missing or cannot be read is told in its place; the rest of the path goes on.
func TestPathWithDamagedNodes(t *testing.T) {
	t.Parallel()
	d := damaged{memory.New(clock), map[uuid.UUID]error{}}
	l := library.New(d, &counting{})
	f := newFlow(t, l)
	a := add(t, l, f, "a")
	b := add(t, l, f, "b", a)
	c := add(t, l, f, "c", b)
	huge := add(t, l, f, strings.Repeat("x", node.MaxSize), c)
	e := add(t, l, f, "e", huge)
	cause := &store.UnreadableError{Path: "nodes/000/002.xml", Reason: "holds no element"}
	d.errs[b], d.errs[c] = store.ErrNodeNotFound, cause
	page, err := l.Path(t.Context(), ns, library.PathQuery{Flow: f, MaxNodes: 10, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	for _, n := range page.Nodes {
		problems = append(problems, n.Problem)
	}
	want := []string{"", "its file is missing", "nodes/000/002.xml cannot be read: holds no element",
		"nodes/" + huge.String() + " is about 12583300 bytes long; the largest that can be sent is 12582912 bytes; ask for parts of its texts", ""}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
	if got := page.Nodes[2]; got.ID != c || got.Index != 3 || got.File != cause.Path || page.Nodes[1].File != "" || !cmp.Equal(got.Parents, []uuid.UUID{b}) {
		t.Errorf("the place of the unreadable node: %+v", got)
	}
	sums, err := l.Path(t.Context(), ns, library.PathQuery{Flow: f, MaxNodes: 1, Totals: true})
	if err != nil || sums.Totals.Nodes != 3 || sums.Totals.Unreadable != 2 || sums.Totals.Characters != node.MaxSize+2 {
		t.Errorf("%+v, %v", sums.Totals, err)
	}
	_, err = l.AddNode(t.Context(), ns, library.Addition{Flow: f, Node: c, Parents: []uuid.UUID{a}})
	if diff := cmp.Diff(error(&library.UnreadableError{Kind: store.KindNode, ID: c, Cause: cause}), err); diff != "" {
		t.Errorf("adding an edge to an unreadable node: %s", diff)
	}
	for _, in := range []library.Addition{
		{Flow: f, Node: a, Parents: []uuid.UUID{c}}, {Flow: f, Node: a, Children: []uuid.UUID{c}},
	} {
		_, err = l.AddNode(t.Context(), ns, in)
		if diff := cmp.Diff(error(&library.UnreadableError{Kind: store.KindNode, ID: c, Cause: cause}), err); diff != "" {
			t.Errorf("connecting with an unreadable node: %s", diff)
		}
	}
	text := said("x")
	_, err = l.AddNode(t.Context(), ns, library.Addition{Flow: f, New: &text, Parents: []uuid.UUID{b}})
	expect(t, &library.NotFoundError{Kind: store.KindNode, ID: b}, err)
	broken := errors.New("the disk is gone")
	d.errs[e] = broken
	if _, err := l.Path(t.Context(), ns, library.PathQuery{Flow: f, MaxNodes: 1, Totals: true}); !errors.Is(err, broken) {
		t.Errorf("any other trouble ends the sums: %v", err)
	}
	if _, err := l.Path(t.Context(), ns, library.PathQuery{Flow: f, MaxNodes: 10, MaxBytes: 1 << 20}); !errors.Is(err, broken) {
		t.Errorf("any other trouble ends the call: %v", err)
	}
}
