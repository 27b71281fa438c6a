package store

import (
	"context"
	"errors"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/origin"
)

// EventKind is what happened. The names are part of the contract.
type EventKind string

// The kinds of events.
const (
	// NodeCreated: a node was made, or came back from the trash.
	NodeCreated EventKind = "node_created"
	// NodeUpdated: something of a node changed besides its tags and summary; where a hand changed its file, nobody knows what.
	NodeUpdated EventKind = "node_updated"
	// NodeDeleted: a node went to the trash, was purged, or its last file went away.
	NodeDeleted EventKind = "node_deleted"
	// TagsUpdated: a node has other tags.
	TagsUpdated EventKind = "tags_updated"
	// SummaryUpdated: a node has another summary, or the one it has became stale.
	SummaryUpdated EventKind = "summary_updated"
	// FlowCreated: a flow was made, or came back from the trash.
	FlowCreated EventKind = "flow_created"
	// FlowUpdated: anything of a flow changed.
	FlowUpdated EventKind = "flow_updated"
	// FlowDeleted: a flow went to the trash, was purged, or its last file went away.
	FlowDeleted EventKind = "flow_deleted"
	// ExternalChange: a hand changed a file of the tree that stands for no node or flow, or can be read no longer.
	ExternalChange EventKind = "external_change"
)

// EventKinds are all kinds of events.
var EventKinds = []EventKind{
	NodeCreated, NodeUpdated, NodeDeleted, FlowCreated, FlowUpdated, FlowDeleted, TagsUpdated, SummaryUpdated, ExternalChange,
}

// Event is a change that was made. A function of Update has one for each thing and kind, in the order of its writes.
type Event struct {
	// Seq rises from event to event. The first one of a new local.db is larger than any that an older one gave.
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	// Of is the thing; the zero Thing for ExternalChange.
	Of Thing `json:"of,omitzero"`
	// Path is the file of an ExternalChange.
	Path string `json:"path,omitempty"`
	// Origin is who did it, as the caller named itself, or External.
	Origin string `json:"origin,omitempty"`
}

// External is the origin of what a hand did in the tree.
const External = origin.External

// MaxEvents is about how many events of a namespace are kept.
const MaxEvents = 100_000

// ErrPruned says that events after the one asked for are kept no longer, or that it never was: read everything anew.
var ErrPruned = errors.New("the events since then are not kept")

// WithOrigin names who makes the changes of an Update, for Event.Origin, as the chain of every server does (package origin).
func WithOrigin(ctx context.Context, name string) context.Context { return origin.With(ctx, name) }

// Origin gives what WithOrigin named, empty for nobody.
func Origin(ctx context.Context) string { return origin.From(ctx) }
