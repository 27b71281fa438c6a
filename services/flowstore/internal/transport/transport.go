// Package transport answers FlowStoreService: proto to domain, one call of the domain, domain to proto. One file for each
// RPC.
package transport

import (
	"context"
	"io"

	"github.com/google/uuid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transfer"
)

// Library is the domain that the service speaks for; *library.Library is one. ns is the namespace.
type Library interface {
	CreateNode(ctx context.Context, ns string, in library.NewNode) (node.Node, error)
	Node(ctx context.Context, ns string, id uuid.UUID) (node.Node, error)
	UpdateNode(ctx context.Context, ns string, in library.NodeUpdate) (node.Node, error)
	Revisions(ctx context.Context, ns string, q library.RevisionsQuery) (library.RevisionsPage, error)
	RestoreRevision(ctx context.Context, ns string, in library.Restoring) (node.Node, error)
	CreateFlow(ctx context.Context, ns string, in library.NewFlow) (flow.Flow, error)
	Flow(ctx context.Context, ns string, id uuid.UUID) (flow.Flow, error)
	AddNode(ctx context.Context, ns string, in library.Addition) (library.Placed, error)
	SplitNode(ctx context.Context, ns string, in library.Splitting) (library.Placed, error)
	SetCurrent(ctx context.Context, ns string, flowID, nodeID uuid.UUID) (flow.Flow, error)
	Connect(ctx context.Context, ns string, in library.Connection) (flow.Flow, error)
	Disconnect(ctx context.Context, ns string, in library.Connection) (flow.Flow, error)
	Reconnect(ctx context.Context, ns string, in library.Reconnection) (flow.Flow, error)
	Remove(ctx context.Context, ns string, in library.Removal) (flow.Flow, error)
	Branch(ctx context.Context, ns string, in library.Branching) (flow.Flow, error)
	Fork(ctx context.Context, ns string, in library.Forking) (flow.Flow, error)
	Rebuild(ctx context.Context, ns string, in library.Rebuilding) (flow.Flow, error)
	Delete(ctx context.Context, ns string, in library.Deletion) (library.Deleted, error)
	UndeleteNode(ctx context.Context, ns string, in library.Return) (node.Brief, error)
	DeleteFlow(ctx context.Context, ns string, op library.Operation) (library.Trashed, error)
	UndeleteFlow(ctx context.Context, ns string, in library.Return) (flow.Flow, error)
	Undo(ctx context.Context, ns string, op library.Operation, redo bool) (library.Undone, error)
	UpdateFlow(ctx context.Context, ns string, in library.Update) (flow.Flow, error)
	Path(ctx context.Context, ns string, q library.PathQuery) (library.Page, error)
	Brief(ctx context.Context, ns string, id uuid.UUID) (node.Brief, error)
	Part(ctx context.Context, ns string, id uuid.UUID, p node.Part) (node.Brief, error)
	Nodes(ctx context.Context, ns string, q library.ListQuery, f library.NodeFilter, full bool) (library.ListPage[node.Brief], error)
	Search(ctx context.Context, ns string, q *search.Query, page search.Page) (library.FoundPage, error)
	Tags(ctx context.Context, ns, prefix, after string, size int) (store.TagPage, error)
	Flows(ctx context.Context, ns string, q library.ListQuery, f library.FlowFilter) (library.ListPage[flow.Flow], error)
	History(ctx context.Context, ns string, q library.PathQuery) (library.Page, error)
	DiffNodes(ctx context.Context, ns string, id, other uuid.UUID) ([]library.TextDiff, error)
	DiffHeads(ctx context.Context, ns string, q library.HeadsQuery) (flow.HeadsDiff, error)
	ValidateFlow(ctx context.Context, ns string, id uuid.UUID, most int) (problems []flow.Problem, more int, err error)
	Watch(ctx context.Context, ns string, since *int64, f library.EventFilter) (*library.Watch, error)
	PurgeNode(ctx context.Context, ns string, in library.Purge) (store.Purged, error)
	PurgeFlow(ctx context.Context, ns string, in library.Purge) (store.Purged, error)
	Import(ctx context.Context, ns string, r io.Reader, in library.Importing) (transfer.Report, error)
	Export(ctx context.Context, ns string, flows []uuid.UUID, w io.Writer) error
	Flush(ctx context.Context, ns string) (files int, err error)
	Look(ctx context.Context, ns string, progress func(read, files int)) (store.Look, error)
	Mend(ctx context.Context, ns string, o store.MendOptions, progress func(read, files int)) (store.Mended, error)
}

// Server is FlowStoreService.
type Server struct {
	flowstorev1.UnimplementedFlowStoreServiceServer
	library Library
}

// New makes a Server.
func New(l Library) *Server { return &Server{library: l} }
