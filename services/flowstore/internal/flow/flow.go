// Package flow is the graph in which nodes continue each other: a novel, a conversation.
//
// A flow changes by a Change only, never by sending the whole of it (field/flowstore.md 3): that is what keeps two
// writers from losing each other's work, and what the log, undo and events record. Plain values and pure functions.
package flow

import (
	"time"

	"github.com/google/uuid"
)

// Flow is a graph of nodes.
type Flow struct {
	ID               uuid.UUID
	Name             string
	Description      string
	Created, Updated time.Time
	Story            Story
	// Members by Index, ascending. An index is never given twice (field/flowstore.md row 21).
	Members []Member
	// Edges by From, then To. Edges of a hand-made cycle and edges to indexes that are not there stay here, are listed in
	// Problems and are left out of every traversal (rows 20 and 21; cases 4).
	Edges []Edge
	// Current is the index of the reader's place; 0 for none.
	Current int
	// Next is the index that the next member gets.
	Next int
	// Problems are what is wrong in a hand-edited file, each in one sentence. Nothing is repaired unasked.
	Problems []string
}

// Member is a node's place in a flow. Index counts from 1.
type Member struct {
	Index int
	Node  uuid.UUID
}

// Edge leads from a member to one that continues it; both are indexes.
type Edge struct{ From, To int }

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

// Change is one operation on a flow. All of it happens or nothing. It is pure data: the log keeps it as JSON and replays it.
type Change struct {
	// At becomes the flow's Updated.
	At time.Time `json:"at"`
	// Add are new members, with the indexes they get.
	Add []Member `json:"add,omitempty"`
	// Connect are new edges. One that is there already is no error and changes nothing.
	Connect []Edge `json:"connect,omitempty"`
	// Current moves the reader's place: nil leaves it, 0 takes it away.
	Current *int `json:"current,omitempty"`
}
