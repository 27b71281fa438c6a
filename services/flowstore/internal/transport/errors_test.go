package transport_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transfer"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transport"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

var (
	one, two = uuid.MustParse(id(1)), uuid.MustParse(id(2))
	inner    = "Internal INTERNAL"
)

// answers says for every error of the domain what a caller gets. Those that the domain keeps to itself are faults of ours.
var answers = map[string]struct {
	err      error
	want     string
	metadata map[string]string
}{
	"library.NotFoundError": {&library.NotFoundError{Kind: store.KindFlow, ID: one}, "NotFound FLOW_NOT_FOUND", map[string]string{"flow": "flows/" + id(1)}},
	"library.TakenError":    {&library.TakenError{Kind: store.KindNode, ID: one}, "AlreadyExists ALREADY_EXISTS", map[string]string{"name": "nodes/" + id(1)}},
	"library.UnreadableError": {&library.UnreadableError{Kind: store.KindFlow, ID: one, Cause: &store.UnreadableError{Path: "flows/000/000.yaml", Reason: "r"}},
		"DataLoss UNREADABLE_FILE", map[string]string{"name": "flows/" + id(1), "path": "flows/000/000.yaml"}},
	"node.OutsideError":          {&node.OutsideError{At: 5, Most: 2}, "InvalidArgument INVALID_FIELD", nil},
	"node.NothingCutError":       {&node.NothingCutError{Characters: 5}, "InvalidArgument INVALID_FIELD", nil},
	"library.DiffTooLargeError":  {&library.DiffTooLargeError{Node: one, Other: two, Bytes: 1 << 30}, "ResourceExhausted LIMIT_EXCEEDED", map[string]string{"limit": "4194304"}},
	"library.TooLargeError":      {&library.TooLargeError{Node: one, Bytes: 1 << 30}, "ResourceExhausted LIMIT_EXCEEDED", map[string]string{"node": "nodes/" + id(1), "limit": "12582912"}},
	"library.RequestReusedError": {&library.RequestReusedError{Request: one}, "InvalidArgument REQUEST_ID_REUSED", map[string]string{"request_id": id(1)}},
	"library.ManyError": {&library.ManyError{Errs: []error{&library.NotFoundError{Kind: store.KindNode, ID: one}, &library.NotFoundError{Kind: store.KindNode, ID: two}}},
		"NotFound NODE_NOT_FOUND", map[string]string{"node": "nodes/" + id(1)}},
	"a fault among many":            {&library.ManyError{Errs: []error{&library.NotFoundError{Kind: store.KindNode, ID: one}, errors.New("of ours")}}, inner, nil},
	"library.RevisionNotFoundError": {&library.RevisionNotFoundError{Node: one, Number: 7}, "NotFound REVISION_NOT_FOUND", map[string]string{"node": "nodes/" + id(1), "revision": "7"}},
	"library.PlaceGoneError":        {&library.PlaceGoneError{Flow: one}, "InvalidArgument INVALID_PAGE_TOKEN", nil},
	"flow.NotMemberError": {&flow.NotMemberError{Flow: one, Nodes: []uuid.UUID{two, one}}, "FailedPrecondition NOT_IN_FLOW",
		map[string]string{"flow": "flows/" + id(1), "node": "nodes/" + id(2)}},
	"flow.CycleError": {&flow.CycleError{Flow: one, Path: []uuid.UUID{two, one, two}}, "FailedPrecondition CYCLE",
		map[string]string{"flow": "flows/" + id(1), "path": "nodes/" + id(2) + ",nodes/" + id(1) + ",nodes/" + id(2)}},
	"flow.NotConnectedError": {&flow.NotConnectedError{Flow: one, From: two, To: one}, "FailedPrecondition NOT_CONNECTED",
		map[string]string{"flow": "flows/" + id(1), "parent": "nodes/" + id(2), "child": "nodes/" + id(1)}},
	"flow.HasChildrenError": {&flow.HasChildrenError{Flow: one, Node: two, Children: []uuid.UUID{one}}, "FailedPrecondition HAS_CHILDREN",
		map[string]string{"flow": "flows/" + id(1), "node": "nodes/" + id(2), "children": "1"}},
	"etag.StaleError": {&etag.StaleError{Name: "flows/" + id(1), Given: "old", Current: "new"}, "Aborted ETAG_MISMATCH",
		map[string]string{"flow": "flows/" + id(1), "etag": "old", "current_etag": "new"}},
	"a stale node": {&etag.StaleError{Name: "nodes/" + id(1), Given: "old", Current: "new"}, "Aborted ETAG_MISMATCH",
		map[string]string{"node": "nodes/" + id(1), "etag": "old", "current_etag": "new"}},
	"flow.NoCurrentError": {&flow.NoCurrentError{Flow: one}, "FailedPrecondition NO_CURRENT_NODE", map[string]string{"flow": "flows/" + id(1)}},
	"flow.FullError": {&flow.FullError{Flow: one, What: "nodes", Limit: 5}, "ResourceExhausted LIMIT_EXCEEDED",
		map[string]string{"flow": "flows/" + id(1), "what": "nodes", "limit": "5"}},
	"flow.MemberError":           {&flow.MemberError{Flow: one, Node: two}, inner, nil},
	"flow.UnknownIndexError":     {&flow.UnknownIndexError{Flow: one, Index: 1}, inner, nil},
	"flow.NextIndexError":        {&flow.NextIndexError{Flow: one, Index: 1, Next: 2}, inner, nil},
	"flow.OldIndexError":         {&flow.OldIndexError{Flow: one, Index: 1}, inner, nil},
	"flow.UndoError":             {&flow.UndoError{Flow: one, Moved: []flow.Moved{{Key: "k", Left: "a", Now: "b"}}}, inner, nil},
	"flow.HeadError":             {&flow.HeadError{Flow: one, Name: "main"}, "NotFound HEAD_NOT_FOUND", map[string]string{"flow": "flows/" + id(1), "head": "main"}},
	"flow.HeadTakenError":        {&flow.HeadTakenError{Flow: one, Name: "main"}, "AlreadyExists ALREADY_EXISTS", map[string]string{"flow": "flows/" + id(1), "head": "main"}},
	"store.ReadOnlyError":        {&store.ReadOnlyError{Cause: errors.New("no space left on device")}, "Unavailable STORE_READ_ONLY", map[string]string{"cause": "no space left on device"}},
	"store.ErrFull":              {store.ErrFull, "ResourceExhausted LIMIT_EXCEEDED", map[string]string{"limit": "1000000"}},
	"store.CrowdedError":         {&store.CrowdedError{Namespace: "x", Limit: 1000}, "ResourceExhausted LIMIT_EXCEEDED", map[string]string{"limit": "1000"}},
	"store.ErrClosed":            {store.ErrClosed, "Unavailable DRAINING", nil},
	"store.UnreadableError":      {&store.UnreadableError{Path: "p", Reason: "r"}, inner, nil},
	"store.NamespaceError":       {&store.NamespaceError{Name: "x"}, inner, nil},
	"store.ErrNodeNotFound":      {store.ErrNodeNotFound, inner, nil},
	"store.ErrFlowNotFound":      {store.ErrFlowNotFound, inner, nil},
	"store.ErrTaken":             {store.ErrTaken, inner, nil},
	"store.ErrPruned":            {store.ErrPruned, inner, nil},
	"store.ErrNoStep":            {store.ErrNoStep, inner, nil},
	"store.ErrNotDropped":        {store.ErrNotDropped, inner, nil},
	"library.NotDeletedError":    {&library.NotDeletedError{Kind: store.KindFlow, ID: one}, "FailedPrecondition NOT_DELETED", map[string]string{"name": "flows/" + id(1)}},
	"library.PurgeTooLargeError": {&library.PurgeTooLargeError{Flow: one}, "ResourceExhausted LIMIT_EXCEEDED", map[string]string{"flow": "flows/" + id(1), "limit": "10000"}},
	"store.PurgedError": {&store.PurgedError{Tombstone: store.Tombstone{Thing: store.Thing{Kind: store.KindNode, ID: one}, At: now, Reason: "r"}},
		"FailedPrecondition PURGED", map[string]string{"name": "nodes/" + id(1), "purge_time": "2025-05-09T06:48:06.53372Z", "purge_reason": "r"}},
	"store.DroppedError": {&store.DroppedError{Thing: store.Thing{Kind: store.KindNode, ID: one}}, inner, nil},
	"library.InUseError": {&library.InUseError{Node: one, Flows: []uuid.UUID{one, two}}, "FailedPrecondition NODE_IN_USE",
		map[string]string{"node": "nodes/" + id(1), "flow_count": "2"}},
	"library.TooManyError": {&library.TooManyError{Node: one}, "ResourceExhausted LIMIT_EXCEEDED", map[string]string{"node": "nodes/" + id(1), "limit": "10000"}},
	"library.NoStepError":  {&library.NoStepError{Flow: one}, "FailedPrecondition NOTHING_TO_UNDO", map[string]string{"flow": "flows/" + id(1)}},
	"library.UndoRefusedError": {&library.UndoRefusedError{Flow: one, Cause: &flow.UndoError{Flow: one, Moved: []flow.Moved{{Key: "k", Left: "a", Now: "b"}}}},
		"FailedPrecondition UNDO_REFUSED", map[string]string{"flow": "flows/" + id(1)}},
	"refused by what it would make": {&library.UndoRefusedError{Flow: one, Cause: &flow.MemberError{Flow: one, Node: two}},
		"FailedPrecondition UNDO_REFUSED", map[string]string{"flow": "flows/" + id(1)}},
	"refused by a purge": {&library.UndoRefusedError{Flow: one, Cause: &store.PurgedError{Tombstone: store.Tombstone{Thing: store.Thing{Kind: store.KindNode, ID: two}, At: now, Reason: "r"}}},
		"FailedPrecondition PURGED", map[string]string{"name": "nodes/" + id(2), "purge_time": "2025-05-09T06:48:06.53372Z", "purge_reason": "r"}},
	"a deleted node": {&library.NotFoundError{Kind: store.KindNode, ID: one, Deleted: time.Unix(0, 0)}, "NotFound DELETED",
		map[string]string{"name": "nodes/" + id(1), "delete_time": "1970-01-01T00:00:00Z"}},
	"the id of a deleted node": {&library.TakenError{Kind: store.KindNode, ID: one, Deleted: time.Unix(0, 0)}, "AlreadyExists ALREADY_EXISTS",
		map[string]string{"name": "nodes/" + id(1), "delete_time": "1970-01-01T00:00:00Z"}},
	"search.QueryError": {&search.QueryError{Violations: []search.Violation{{At: 3, Part: "x", Message: "is wrong"}}},
		"InvalidArgument INVALID_QUERY", map[string]string{"character": "3"}},
	"search.PageError":     {&search.PageError{Field: "page_token", Message: "is none"}, "InvalidArgument INVALID_PAGE_TOKEN", nil},
	"transfer.FormatError": {&transfer.FormatError{Reason: "r"}, "InvalidArgument UNREADABLE_IMPORT", nil},
}

// failing is a domain in which every call fails the same way.
type failing struct{ err error }

func (f failing) CreateNode(context.Context, string, library.NewNode) (node.Node, error) {
	return node.Node{}, f.err
}
func (f failing) Node(context.Context, string, uuid.UUID) (node.Node, error) {
	return node.Node{}, f.err
}
func (f failing) UpdateNode(context.Context, string, library.NodeUpdate) (node.Node, error) {
	return node.Node{}, f.err
}
func (f failing) Revisions(context.Context, string, library.RevisionsQuery) (library.RevisionsPage, error) {
	return library.RevisionsPage{}, f.err
}
func (f failing) RestoreRevision(context.Context, string, library.Restoring) (node.Node, error) {
	return node.Node{}, f.err
}
func (f failing) CreateFlow(context.Context, string, library.NewFlow) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Flow(context.Context, string, uuid.UUID) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) AddNode(context.Context, string, library.Addition) (library.Placed, error) {
	return library.Placed{}, f.err
}
func (f failing) SplitNode(context.Context, string, library.Splitting) (library.Placed, error) {
	return library.Placed{}, f.err
}
func (f failing) SetCurrent(context.Context, string, uuid.UUID, uuid.UUID) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Connect(context.Context, string, library.Connection) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Disconnect(context.Context, string, library.Connection) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Reconnect(context.Context, string, library.Reconnection) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Remove(context.Context, string, library.Removal) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Branch(context.Context, string, library.Branching) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Fork(context.Context, string, library.Forking) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Rebuild(context.Context, string, library.Rebuilding) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Delete(context.Context, string, library.Deletion) (library.Deleted, error) {
	return library.Deleted{}, f.err
}
func (f failing) UndeleteNode(context.Context, string, library.Return) (node.Brief, error) {
	return node.Brief{}, f.err
}
func (f failing) DeleteFlow(context.Context, string, library.Operation) (library.Trashed, error) {
	return library.Trashed{}, f.err
}
func (f failing) UndeleteFlow(context.Context, string, library.Return) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Undo(context.Context, string, library.Operation, bool) (library.Undone, error) {
	return library.Undone{}, f.err
}
func (f failing) UpdateFlow(context.Context, string, library.Update) (flow.Flow, error) {
	return flow.Flow{}, f.err
}
func (f failing) Path(context.Context, string, library.PathQuery) (library.Page, error) {
	return library.Page{}, f.err
}
func (f failing) Brief(context.Context, string, uuid.UUID) (node.Brief, error) {
	return node.Brief{}, f.err
}
func (f failing) Part(context.Context, string, uuid.UUID, node.Part) (node.Brief, error) {
	return node.Brief{}, f.err
}
func (f failing) Nodes(context.Context, string, library.ListQuery, library.NodeFilter, bool) (library.ListPage[node.Brief], error) {
	return library.ListPage[node.Brief]{}, f.err
}
func (f failing) Flows(context.Context, string, library.ListQuery, library.FlowFilter) (library.ListPage[flow.Flow], error) {
	return library.ListPage[flow.Flow]{}, f.err
}
func (f failing) History(context.Context, string, library.PathQuery) (library.Page, error) {
	return library.Page{}, f.err
}
func (f failing) DiffNodes(context.Context, string, uuid.UUID, uuid.UUID) ([]library.TextDiff, error) {
	return nil, f.err
}
func (f failing) DiffHeads(context.Context, string, library.HeadsQuery) (flow.HeadsDiff, error) {
	return flow.HeadsDiff{}, f.err
}
func (f failing) ValidateFlow(context.Context, string, uuid.UUID, int) ([]flow.Problem, int, error) {
	return nil, 0, f.err
}
func (f failing) Watch(context.Context, string, *int64, library.EventFilter) (*library.Watch, error) {
	return nil, f.err
}
func (f failing) PurgeNode(context.Context, string, library.Purge) (store.Purged, error) {
	return store.Purged{}, f.err
}
func (f failing) PurgeFlow(context.Context, string, library.Purge) (store.Purged, error) {
	return store.Purged{}, f.err
}
func (f failing) Search(context.Context, string, *search.Query, search.Page) (library.FoundPage, error) {
	return library.FoundPage{}, f.err
}
func (f failing) Tags(context.Context, string, string, string, int) (store.TagPage, error) {
	return store.TagPage{}, f.err
}
func (f failing) Flush(context.Context, string) (int, error) { return 0, f.err }
func (f failing) Mend(context.Context, string, store.MendOptions, func(int, int)) (store.Mended, error) {
	return store.Mended{}, f.err
}
func (f failing) Import(context.Context, string, io.Reader, library.Importing) (transfer.Report, error) {
	return transfer.Report{}, f.err
}
func (f failing) Export(context.Context, string, []uuid.UUID, io.Writer) error { return f.err }
func (f failing) Look(context.Context, string, func(int, int)) (store.Look, error) {
	return store.Look{}, f.err
}

var _ transport.Library = failing{}

func TestErrorsOfTheDomain(t *testing.T) {
	t.Parallel()
	for name, tt := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, failing{tt.err})
			flowID, nodeID := "flows/"+id(1), "nodes/"+id(1)
			_, e1 := c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said("a")})
			_, e2 := c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: nodeID})
			_, e3 := c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "n"}})
			_, e4 := c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: flowID})
			_, e5 := c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{Flow: flowID, Source: &flowstorev1.AddNodeRequest_Node{Node: nodeID}})
			_, e6 := c.SetCurrentNode(t.Context(), &flowstorev1.SetCurrentNodeRequest{Flow: flowID})
			_, e7 := c.ListPathNodes(t.Context(), &flowstorev1.ListPathNodesRequest{Flow: flowID})
			_, e8 := c.FlushStore(t.Context(), &flowstorev1.FlushStoreRequest{})
			_, e9 := c.ListNodes(t.Context(), &flowstorev1.ListNodesRequest{})
			_, e10 := c.ListFlows(t.Context(), &flowstorev1.ListFlowsRequest{})
			_, e11 := c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: nodeID, View: flowstorev1.NodeView_NODE_VIEW_BASIC})
			_, e12 := c.ListHistoryNodes(t.Context(), &flowstorev1.ListHistoryNodesRequest{Flow: flowID})
			_, e13 := c.DiffNodes(t.Context(), &flowstorev1.DiffNodesRequest{Node: nodeID, Other: nodeID})
			_, e14 := c.DiffHeads(t.Context(), &flowstorev1.DiffHeadsRequest{Flow: flowID, Node: nodeID, Other: nodeID})
			_, e15 := c.ValidateFlow(t.Context(), &flowstorev1.ValidateFlowRequest{Flow: flowID})
			_, e16 := receive(c.CheckStore(t.Context(), &flowstorev1.CheckStoreRequest{}))
			_, repair := receive(c.RepairStore(t.Context(), &flowstorev1.RepairStoreRequest{}))
			_, watch := receive(c.WatchEvents(t.Context(), &flowstorev1.WatchEventsRequest{}))
			_, e17 := c.PurgeNode(t.Context(), &flowstorev1.PurgeNodeRequest{Name: nodeID, Reason: "r"})
			_, e18 := c.PurgeFlow(t.Context(), &flowstorev1.PurgeFlowRequest{Name: flowID, Reason: "r"})
			for _, call := range trashCalls(c, flowID, nodeID) {
				answered(t, call(t.Context()), tt.want, tt.metadata)
			}
			_, e19 := importing(t.Context(), c, nil, "[]")
			_, e20 := exporting(c.ExportFlows(t.Context(), &flowstorev1.ExportFlowsRequest{}))
			_, e21 := c.SearchNodes(t.Context(), &flowstorev1.SearchNodesRequest{Query: "夜"})
			_, e22 := c.ListTags(t.Context(), &flowstorev1.ListTagsRequest{})
			for _, err := range []error{e17, e18, e19, e20, e21, e22, watch, e16, repair, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15} {
				answered(t, err, tt.want, tt.metadata)
			}
			for _, call := range nodeOperations(c, flowID, nodeID) {
				answered(t, call(t.Context(), "x", ""), tt.want, tt.metadata)
			}
			for _, call := range operations(c, flowID, nodeID, "nodes/"+id(2)) {
				answered(t, call(t.Context(), "", ""), tt.want, tt.metadata)
			}
		})
	}
}

func answered(t *testing.T, err error, want string, metadata map[string]string) {
	t.Helper()
	e := refusal(t, err)
	if got := e.Code.String() + " " + e.Reason; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if diff := cmp.Diff(metadata, e.Metadata); diff != "" && e.Code != codes.Internal {
		t.Errorf("metadata: %s", diff)
	}
	if _, known := flowstorev1.ErrorReason_value["ERROR_REASON_"+e.Reason]; !known {
		t.Errorf("the contract does not know the reason %s", e.Reason)
	}
}

// No error of the domain is missing above: a new one needs an answer.
func TestEveryErrorHasAnAnswer(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"flow", "library", "store", "transfer"} {
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", folder, err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range declaredErrors(parsed) {
				if _, ok := answers[folder+"."+name]; !ok && !strings.HasSuffix(file, "_test.go") {
					t.Errorf("%s.%s is in no row", folder, name)
				}
			}
		}
	}
}

// declaredErrors gives the exported names like NotFoundError and ErrFull of a file.
func declaredErrors(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if strings.HasSuffix(spec.Name.Name, "Error") {
					names = append(names, spec.Name.Name)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if strings.HasPrefix(name.Name, "Err") {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
