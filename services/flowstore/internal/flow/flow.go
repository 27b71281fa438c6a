// Package flow is the graph in which nodes continue each other: a novel, a conversation.
//
// A flow changes by a Change only, never by sending the whole of it (field/flowstore.md 3): that is what keeps two
// writers from losing each other's work, and what the log, undo and events record. Plain values and pure functions.
package flow

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// Collection begins the names of flows.
const Collection = "flows/"

// Name is what the contract, and every message to a person, calls a flow: `flows/{uuid}`.
func Name(id uuid.UUID) string { return Collection + id.String() }

// Limits of one flow. They keep an answer with a whole flow, and its file, below 16 MiB.
const (
	// MaxMembers is the most nodes that a flow takes.
	MaxMembers = 100_000
	// MaxEdges is the most edges that a flow takes.
	MaxEdges = 200_000
	// MaxIndex is the largest index of a member.
	MaxIndex = 1_000_000_000
	// MaxEdgeNames is how much the names of all edges may take together, in bytes.
	MaxEdgeNames = 1 << 20
	// MaxHeads and MaxLinks are the most heads, and links, that a flow takes.
	MaxHeads = 1000
	MaxLinks = 1000
)

// Flow is a graph of nodes. A Flow is never changed in place: Apply makes a new one, and its slices are only read.
type Flow struct {
	ID               uuid.UUID
	Name             string
	Description      string
	Created, Updated time.Time
	Story            Story
	// Members by Index, ascending. An index is never given twice (field/flowstore.md row 21).
	Members []Member
	// Edges by From, then To. Edges of a hand-made cycle and edges to indexes that are not there stay here, are listed in
	// Problems and are left out of every traversal (field/flowstore.md rows 20 and 21;
	// cases/flowstore.md 4).
	Edges []Edge
	// Skipped are the edges that traversals leave out, in the order of Edges. Examine finds them.
	Skipped []Edge
	// Heads by Name, each once. One of a hand-made file that stands at no member stays here and is listed in Problems.
	Heads []Head
	// Links by From, then Flow, each once. One of a hand-made file that begins at no member stays here, as a head does.
	Links []Link
	// Current is the index of the reader's place; 0 for none.
	Current int
	// Next is the index that the next member gets. It never falls, also when the last member is removed.
	Next int
	// Problems are what is wrong in a hand-edited file, each in one sentence that begins with the place in the file.
	// Nothing is repaired unasked.
	Problems []string
}

// Member is a node's place in a flow. Index counts from 1.
type Member struct {
	Index int       `json:"index"`
	Node  uuid.UUID `json:"node"`
}

// Edge leads from a member to one that continues it; both are indexes. A flow has at most one edge from one to another.
type Edge struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Name is what people call the branch that begins here; mostly empty (field/flowstore.md row 26).
	Name string `json:"name,omitempty"`
}

// Head is a named branch: the member at its end, by index (field/flowstore.md row 26).
type Head struct {
	Name string `json:"name"`
	// Index is never 0 in a flow; in a Change, 0 takes the name away.
	Index int `json:"index"`
}

// Link leads from a member to another flow, which may hold the same node (a fork does) or go on from it.
type Link struct {
	// From is the index of the member; 0: the flow as a whole.
	From int       `json:"from"`
	Flow uuid.UUID `json:"flow"`
}

// Story is what a writer fixes about a work. A nil text was not given.
type Story struct {
	Title         *string
	Keywords      []string
	Genres        []string
	Synopsis      *string
	Setting       *string
	Plot          *string
	Note          *string
	DialogueLevel *string
	Rating        *string
}

// Change is one operation on a flow, done in the order of its fields. All of it happens or nothing. It is pure data: the log
// keeps it as JSON and replays it.
type Change struct {
	// At becomes the flow's Updated.
	At time.Time `json:"at"`
	// Name, Description and Story take the place of what the flow had; nil leaves it.
	Name        *string `json:"name,omitempty"`
	Description *string `json:"description,omitempty"`
	Story       *Story  `json:"story,omitempty"`
	// Remove are members that leave the flow, as they stand in it. Their edges, heads and links go with them; their nodes stay
	// stored.
	Remove []Member `json:"remove,omitempty"`
	// Trashed are those nodes of Remove that went to the trash with the change: they come back from there when it is undone. The flow
	// itself is the same without it.
	Trashed []uuid.UUID `json:"trashed,omitempty"`
	// Disconnect are edges that go; their names do not count.
	Disconnect []Edge `json:"disconnect,omitempty"`
	// Unlink are links that go.
	Unlink []Link `json:"unlink,omitempty"`
	// Restore are members that come back with the indexes that they had.
	Restore []Member `json:"restore,omitempty"`
	// Add are new members, with the indexes they get: Next, Next+1 and so on.
	Add []Member `json:"add,omitempty"`
	// Connect are new edges. One that is there already is no error, and gets the name where one is given.
	Connect []Edge `json:"connect,omitempty"`
	// Heads are names that get another place, or none.
	Heads []Head `json:"heads,omitempty"`
	// Link are new links. One that is there already is no error.
	Link []Link `json:"link,omitempty"`
	// Current moves the reader's place: nil leaves it, 0 takes it away. A removed member's place is taken away unasked.
	Current *int `json:"current,omitempty"`
}

// Empty says that the change does nothing.
func (c Change) Empty() bool {
	return c.Current == nil && !c.Step()
}

// Step says that a change is one that people undo: moving the reader's place alone is none.
func (c Change) Step() bool {
	return c.Name != nil || c.Description != nil || c.Story != nil ||
		len(c.Remove)+len(c.Disconnect)+len(c.Unlink)+len(c.Restore)+len(c.Add)+len(c.Connect)+len(c.Heads)+len(c.Link) > 0
}

// NodesOf gives the nodes of members, in their order.
func NodesOf(members []Member) []uuid.UUID {
	ids := make([]uuid.UUID, len(members))
	for i, m := range members {
		ids[i] = m.Node
	}
	return ids
}

// IndexOf gives the index of a node; ok is false where the flow does not hold it. Linear, and the newest are asked for most: about
// 5 us for the oldest of 10,000 members.
func (f Flow) IndexOf(node uuid.UUID) (index int, ok bool) {
	for i := len(f.Members) - 1; i >= 0; i-- {
		if f.Members[i].Node == node {
			return f.Members[i].Index, true
		}
	}
	return 0, false
}

// Finder gives IndexOf for those who ask for n nodes: for many it makes a table first.
func (f Flow) Finder(n int) func(node uuid.UUID) (index int, ok bool) {
	if n <= most {
		return f.IndexOf
	}
	indexes := make(map[uuid.UUID]int, len(f.Members))
	for _, m := range f.Members {
		indexes[m.Node] = m.Index
	}
	return func(node uuid.UUID) (int, bool) {
		index, held := indexes[node]
		return index, held
	}
}

// NodeAt gives the node at an index; ok is false where no member has it.
func (f Flow) NodeAt(index int) (node uuid.UUID, ok bool) {
	at, ok := position(f.Members, index)
	if !ok {
		return uuid.UUID{}, false
	}
	return f.Members[at].Node, true
}

// Edge gives the edge from one index to another; ok is false where there is none.
func (f Flow) Edge(from, to int) (e Edge, ok bool) {
	at, ok := slices.BinarySearchFunc(f.Edges, Edge{From: from, To: to}, compareEdges)
	if !ok {
		return Edge{}, false
	}
	return f.Edges[at], true
}
