package merge_test

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/merge"
)

// graph makes a flow of nodes by number and edges by index.
func graph(nodes []int, edges ...flow.Edge) flow.Flow {
	f := flow.Flow{ID: node(999), Edges: edges}
	for _, n := range nodes {
		f.Members = append(f.Members, flow.Member{Index: n % 100, Node: node(n)})
	}
	return flow.Examine(f)
}

func edge(from, to int) flow.Edge { return flow.Edge{From: from, To: to} }

// Node 102 of ours and node 202 of theirs both have index 2, and so on.
func TestMerge(t *testing.T) {
	t.Parallel()
	base := graph([]int{1}, nil...)
	three := graph([]int{1, 2, 3}, edge(1, 2), edge(2, 3))
	five := graph([]int{1, 2, 3, 4, 5}, edge(1, 2), edge(2, 3), edge(3, 4), edge(4, 5))
	for name, c := range map[string]struct {
		base, ours, theirs flow.Flow
		nodes              []int
		edges              []flow.Edge
		told               string
	}{
		"both go on (cases/flowstore.md 32)": {
			base, graph([]int{1, 102}, edge(1, 2)), graph([]int{1, 202}, edge(1, 2)),
			[]int{1, 102, 202}, []flow.Edge{edge(1, 2), edge(1, 3)}, "",
		},
		"theirs made a chain": {
			base, graph([]int{1, 102}, edge(1, 2)), graph([]int{1, 202, 203}, edge(1, 2), edge(2, 3)),
			[]int{1, 102, 202, 203}, []flow.Edge{edge(1, 2), edge(1, 3), edge(3, 4)}, "",
		},
		"without a base": {
			flow.Flow{}, graph([]int{1, 102}, edge(1, 2)), graph([]int{1, 202}, edge(1, 2)),
			[]int{1, 102, 202}, []flow.Edge{edge(1, 2), edge(1, 3)}, "",
		},
		"ours removed, theirs did not touch it": {
			three, graph([]int{1, 2}, edge(1, 2)), three, []int{1, 2}, []flow.Edge{edge(1, 2)}, "",
		},
		"ours removed what theirs builds on": {
			three, graph([]int{1, 2}, edge(1, 2)), graph([]int{1, 2, 3, 204}, edge(1, 2), edge(2, 3), edge(3, 4)),
			[]int{1, 2, 3, 204}, []flow.Edge{edge(1, 2), edge(2, 3), edge(3, 4)}, "nodes: ours is without node " + node(3).String() + ", and ",
		},
		"theirs removed what ours builds on": {
			three, graph([]int{1, 2, 3, 104}, edge(1, 2), edge(2, 3), edge(3, 4)), graph([]int{1, 2}, edge(1, 2)),
			[]int{1, 2, 3, 104}, []flow.Edge{edge(1, 2), edge(2, 3), edge(3, 4)}, "nodes: theirs is without node " + node(3).String() + ", and ",
		},
		"ours removed a branch, and theirs builds on the end of it": {
			five, graph([]int{1, 2}, edge(1, 2)), graph([]int{1, 2, 3, 4, 5, 206}, edge(1, 2), edge(2, 3), edge(3, 4), edge(4, 5), edge(5, 6)),
			[]int{1, 2, 3, 4, 5, 206}, []flow.Edge{edge(1, 2), edge(2, 3), edge(3, 4), edge(4, 5), edge(5, 6)},
			"nodes: ours is without node " + node(3).String() + ", and node " + node(4).String() + " of theirs continues it; it is in the flow, too",
		},
		"theirs removed a branch, and ours builds on the middle of it": {
			five, graph([]int{1, 2, 3, 4, 5, 106}, edge(1, 2), edge(2, 3), edge(3, 4), edge(4, 5), edge(4, 6)), graph([]int{1}),
			[]int{1, 2, 3, 4, 106}, []flow.Edge{edge(1, 2), edge(2, 3), edge(3, 4), edge(4, 6)},
			"nodes: theirs is without node " + node(2).String() + ", and node " + node(3).String() + " of ours continues it; it is in the flow, too",
		},
		"each removed one of two neighbours": {
			five, graph([]int{1, 3, 4, 5}, edge(1, 3), edge(3, 4), edge(4, 5)), graph([]int{1, 2, 4, 5}, edge(1, 2), edge(2, 4), edge(4, 5)),
			[]int{1, 4, 5}, []flow.Edge{edge(1, 4), edge(4, 5)}, "connections: " + node(1).String() + " -> " + node(4).String() + " is new",
		},
		"theirs removed one of three that ours removed": {
			five, graph([]int{1, 5}, edge(1, 5)), graph([]int{1, 2, 4, 5}, edge(1, 2), edge(2, 4), edge(4, 5)),
			[]int{1, 5}, []flow.Edge{edge(1, 5)}, "",
		},
		"ours removed a node, and theirs all from the next one on": {
			five, graph([]int{1, 3, 4, 5}, edge(1, 3), edge(3, 4), edge(4, 5)), graph([]int{1, 2}, edge(1, 2)), []int{1}, nil, "",
		},
		"each removed one of two neighbours, and ours builds on the one of theirs": {
			five, graph([]int{1, 3, 4, 5, 106}, edge(1, 3), edge(3, 4), edge(4, 5), edge(3, 6)), graph([]int{1, 2, 4, 5}, edge(1, 2), edge(2, 4), edge(4, 5)),
			[]int{1, 3, 4, 5, 106}, []flow.Edge{edge(1, 3), edge(3, 4), edge(3, 6), edge(4, 5)}, "nodes: theirs is without node " + node(3).String() + ", and ",
		},
		"ours cut off what theirs leads to past a node that ours took out": {
			graph([]int{1, 2, 3, 4}, edge(1, 2), edge(2, 3), edge(4, 3)), graph([]int{1, 3, 4}, edge(4, 3)), graph([]int{1, 2, 3, 4}, edge(1, 2), edge(2, 3), edge(4, 3)),
			[]int{1, 3, 4}, []flow.Edge{edge(4, 3)}, "",
		},
		"together they would close a cycle": {
			graph([]int{1, 2}), graph([]int{1, 2}, edge(1, 2)), graph([]int{1, 2}, edge(2, 1)),
			[]int{1, 2}, []flow.Edge{edge(1, 2)}, node(2).String() + " -> " + node(1).String() + " of theirs is left out",
		},
		"one of two edges of theirs is enough for a cycle": {
			graph([]int{1, 2, 3}), graph([]int{1, 2, 3}, edge(1, 2)), graph([]int{1, 2, 3}, edge(2, 3), edge(3, 1)),
			[]int{1, 2, 3}, []flow.Edge{edge(1, 2), edge(2, 3)}, node(3).String() + " -> " + node(1).String() + " of theirs is left out",
		},
		"an edge of theirs waits for a node that is to come": {
			base, graph([]int{1, 102}, edge(1, 2)), graph([]int{1, 202}, edge(1, 2), edge(1, 3)),
			[]int{1, 102, 202}, []flow.Edge{edge(1, 2), edge(1, 3), edge(1, 4)}, "",
		},
		"a hand gave the index of a node that comes back to another one": {
			graph([]int{1, 2}), graph([]int{1, 102}), graph([]int{1, 2, 203}, edge(2, 3)),
			[]int{1, 102, 2, 203}, []flow.Edge{edge(3, 4)}, "nodes: ours is without node " + node(2).String() + ", and ",
		},
		"theirs has an edge to nothing where ours has a node": {
			base, graph([]int{1, 102}, edge(1, 2)), graph([]int{1}, edge(1, 2)),
			[]int{1, 102}, []flow.Edge{edge(1, 2)}, "index 2, where no node was,",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, told, err := merge.Flows(c.base, c.ours, c.theirs)
			if err != nil {
				t.Fatal(err)
			}
			var nodes []int
			for _, m := range got.Members {
				n, err := strconv.Atoi(strings.TrimLeft(m.Node.String()[24:], "0"))
				if err != nil {
					t.Fatal(err)
				}
				nodes = append(nodes, n)
			}
			if diff := cmp.Diff(c.nodes, nodes); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.edges, got.Edges); diff != "" {
				t.Error(diff)
			}
			if all := strings.Join(told, "\n"); !strings.Contains(all, c.told) || (c.told == "") != (all == "") {
				t.Errorf("told %q", told)
			}
		})
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	base := flow.Flow{Name: "n", Description: "d", Story: flow.Story{Title: ptr("t"), Plot: ptr("p"), Keywords: []string{"a", "b"}}}
	ours, theirs := base, base
	ours.Name, ours.Description = "ours", "ours"
	ours.Story = flow.Story{Title: ptr("t"), Plot: ptr("ours"), Keywords: []string{"x", "a"}}
	theirs.Name = "theirs"
	theirs.Created, theirs.Updated = at(1), at(2)
	theirs.Story = flow.Story{Plot: ptr("theirs"), Note: ptr("new"), Keywords: []string{"b", "y"}}
	got, told, err := merge.Flows(base, ours, theirs)
	if err != nil {
		t.Fatal(err)
	}
	want := flow.Story{Plot: ptr("ours"), Note: ptr("new"), Keywords: []string{"x", "y"}}
	if diff := cmp.Diff(want, got.Story); diff != "" || got.Name != "ours" || got.Description != "ours" {
		t.Errorf("%q %q %s", got.Name, got.Description, diff)
	}
	if !got.Created.Equal(at(1)) || !got.Updated.Equal(at(2)) {
		t.Errorf("created %s, updated %s", got.Created, got.Updated)
	}
	if len(told) != 2 || !strings.Contains(told[0], `name: both changed it; "ours", of ours, stays, and "theirs", of theirs, does not`) || !strings.HasPrefix(told[1], "story.plot: ") {
		t.Errorf("%q", told)
	}
}

func TestCurrent(t *testing.T) {
	t.Parallel()
	place := func(current int) flow.Flow {
		f := graph([]int{1, 2, 3})
		f.Current = current
		return f
	}
	for _, c := range []struct{ base, ours, theirs, want, told int }{
		{1, 1, 1, 1, 0}, {1, 2, 1, 2, 0}, {1, 1, 3, 3, 0}, {1, 2, 3, 2, 1}, {1, 2, 2, 2, 0}, {1, 0, 1, 0, 0}, {1, 1, 0, 0, 0}, {0, 0, 2, 2, 0},
	} {
		got, told, err := merge.Flows(place(c.base), place(c.ours), place(c.theirs))
		if err != nil || got.Current != c.want || len(told) != c.told {
			t.Errorf("%+v: %d, %q, %v", c, got.Current, told, err)
		}
	}
	ours := graph([]int{1, 2})
	ours.Current = 1
	if got, _, err := merge.Flows(place(1), ours, place(3)); err != nil || got.Current != 1 {
		t.Errorf("a place that ours took out: %d, %v", got.Current, err)
	}
}

func TestHeadsAndLinks(t *testing.T) {
	t.Parallel()
	with := func(f flow.Flow, heads []flow.Head, links ...flow.Link) flow.Flow {
		f.Heads, f.Links = heads, links
		return flow.Examine(f)
	}
	base := with(graph([]int{1, 2}), []flow.Head{{Name: "both", Index: 1}, {Name: "gone", Index: 1}, {Name: "main", Index: 1}}, flow.Link{From: 1, Flow: node(901)}, flow.Link{From: 2, Flow: node(902)})
	ours := with(graph([]int{1, 2, 103}, edge(1, 3)), []flow.Head{{Name: "both", Index: 3}, {Name: "main", Index: 1}}, flow.Link{From: 1, Flow: node(901)}, flow.Link{From: 3, Flow: node(903)})
	theirs := with(graph([]int{1, 2, 203}, edge(1, 3)), []flow.Head{{Name: "both", Index: 2}, {Name: "gone", Index: 1}, {Name: "main", Index: 3}, {Name: "new", Index: 3}},
		flow.Link{From: 1, Flow: node(901)}, flow.Link{From: 2, Flow: node(902)}, flow.Link{From: 3, Flow: node(904)})
	got, told, err := merge.Flows(base, ours, theirs)
	if err != nil || len(told) != 1 || !strings.HasPrefix(told[0], `heads: both moved "both"; `) {
		t.Errorf("%v, %q", err, told)
	}
	wantHeads := []flow.Head{{Name: "both", Index: 3}, {Name: "main", Index: 4}, {Name: "new", Index: 4}}
	wantLinks := []flow.Link{{From: 1, Flow: node(901)}, {From: 3, Flow: node(903)}, {From: 4, Flow: node(904)}}
	if diff := cmp.Diff(wantHeads, got.Heads) + cmp.Diff(wantLinks, got.Links); diff != "" {
		t.Error(diff)
	}
	// A node that comes back brings its head and its links.
	got, _, err = merge.Flows(base, with(graph([]int{2}), nil, flow.Link{From: 2, Flow: node(902)}), theirs)
	if err != nil || !slices.Contains(got.Heads, flow.Head{Name: "gone", Index: 1}) || !slices.Contains(got.Links, flow.Link{From: 1, Flow: node(901)}) {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestTooMuch(t *testing.T) {
	t.Parallel()
	half := func(first int) flow.Flow {
		f := flow.Flow{ID: node(0)}
		for i := range flow.MaxMembers/2 + 1 {
			f.Members = append(f.Members, flow.Member{Index: i + 1, Node: node(first + i)})
		}
		return flow.Examine(f)
	}
	_, _, err := merge.Flows(flow.Flow{}, half(1), half(1_000_000))
	if full := (*flow.FullError)(nil); !errors.As(err, &full) || full.What != "nodes" {
		t.Errorf("%v", err)
	}
	last := flow.Examine(flow.Flow{Members: []flow.Member{{Index: flow.MaxIndex, Node: node(1)}}})
	_, _, err = merge.Flows(flow.Flow{}, last, graph([]int{2}))
	if full := (*flow.FullError)(nil); !errors.As(err, &full) || full.What != "indexes" {
		t.Errorf("%v", err)
	}
}

// Whoever gives a flow a new field decides how it is merged, and then adds it here.
func TestEveryFieldIsMerged(t *testing.T) {
	t.Parallel()
	for typ, want := range map[reflect.Type][]string{
		reflect.TypeFor[flow.Flow](): {
			"ID", "Name", "Description", "Created", "Updated", "Story", "Members", "Edges", "Skipped", "Heads", "Links", "Current", "Next", "Problems",
		},
		reflect.TypeFor[flow.Story](): {
			"Title", "Keywords", "Genres", "Synopsis", "Setting", "Plot", "Note", "DialogueLevel", "Rating",
		},
		reflect.TypeFor[flow.Edge](): {"From", "To", "Name"},
	} {
		var fields []string
		for i := range typ.NumField() {
			fields = append(fields, typ.Field(i).Name)
		}
		if diff := cmp.Diff(want, fields); diff != "" {
			t.Errorf("%s: %s", typ, diff)
		}
	}
}
