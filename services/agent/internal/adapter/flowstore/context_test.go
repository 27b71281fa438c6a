package flowstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/flowstore"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

var here = uuid.MustParse("0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41")

// asked is a connection that remembers what it was asked and in which namespaces, and answers with one node.
type asked struct {
	grpc.ClientConnInterface
	in       []string
	requests []proto.Message
}

func (a *asked) Invoke(ctx context.Context, _ string, request, reply any, _ ...grpc.CallOption) error {
	a.in = append(a.in, namespace.From(ctx))
	a.requests = append(a.requests, proto.Clone(request.(proto.Message)))
	node := &flowstorev1.Node{
		Name: "nodes/" + here.String(), Tags: []string{"港"}, Summary: &flowstorev1.NodeSummary{Text: "s", CharacterCount: 300, Stale: true},
		Texts: []*flowstorev1.Text{{Role: "user", Content: "beginning", CharacterCount: 300}, {Role: "assistant", Content: "all"}},
	}
	switch r := reply.(type) {
	case *flowstorev1.Node:
		proto.Merge(r, node)
	case *flowstorev1.ListPathNodesResponse:
		r.Nodes = []*flowstorev1.PathNode{{Node: node, Problem: "p", ProblemPath: "f"}}
		if len(a.requests) == 1 {
			r.NextPageToken = "more"
		}
	case *flowstorev1.ListHistoryNodesResponse:
		r.Nodes = []*flowstorev1.PathNode{{Node: node}}
	case *flowstorev1.Flow:
		r.Nodes = []*flowstorev1.FlowNode{{Index: 1, Node: node.Name}, {Index: 2, Node: "nodes/1192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41"}}
		r.Edges = []*flowstorev1.Edge{{From: 1, To: 2}, {From: 9, To: 2}}
	case *flowstorev1.SearchNodesResponse:
		r.Hits = []*flowstorev1.SearchHit{{Node: node}, {Node: &flowstorev1.Node{Name: node.Name}}}
		r.NextPageToken, r.Approximate = "more", true
	}
	return nil
}

// What a context is made of is read in the namespace of the caller, page by page, and says where only beginnings were read.
func TestReadingForAContext(t *testing.T) {
	t.Parallel()
	a := &asked{}
	c := flowstore.New(a)
	pages := 0
	for step, err := range c.Way(t.Context(), "team-a", here, here, "parent") {
		if n := step.Node; err != nil || n.ID != here || !n.Texts[0].Cut || n.Texts[1].Cut || !n.Summary.Cut || !n.Stale || step.Problem != "p" || step.File != "f" {
			t.Errorf("%+v, %v", step, err)
		}
		pages++
	}
	for _, err := range c.History(t.Context(), "team-a", here) {
		if err != nil {
			t.Error(err)
		}
	}
	before, err := c.Before(t.Context(), "team-a", here)
	if err != nil || len(before) != 1 || !slices.Equal(before[uuid.MustParse("1192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41")], []uuid.UUID{here}) {
		t.Errorf("%v, %v", before, err)
	}
	for _, much := range []nodecontext.Much{nodecontext.Beginnings, nodecontext.WholeSummary, nodecontext.Everything} {
		if n, err := c.Glance(t.Context(), "team-a", here, much); err != nil || n.ID != here {
			t.Errorf("%+v, %v", n, err)
		}
	}
	hits, err := c.Search(t.Context(), "team-a", nodecontext.Query{Tags: []string{`a"b`, "“港”"}}, "page")
	if err != nil || len(hits.Nodes) != 1 || hits.Next != "more" || !hits.Approximate {
		t.Errorf("%+v, %v", hits, err)
	}
	if pages != 2 || len(a.in) != 8 || slices.ContainsFunc(a.in, func(ns string) bool { return ns != "team-a" }) {
		t.Errorf("%d pages, in %v", pages, a.in)
	}
	if q := a.requests[7].(*flowstorev1.SearchNodesRequest); q.Query != `tag:"a""b","““港””"` || q.PageToken != "page" {
		t.Errorf("%v", q)
	}
	if q := a.requests[0].(*flowstorev1.ListPathNodesRequest); q.View != flowstorev1.NodeView_NODE_VIEW_BASIC {
		t.Errorf("%v", q)
	}
}

// What flowstore refuses of a context has the caller's names; a node that is not there, or in the trash, is none.
func TestRefusalsOfAContext(t *testing.T) {
	t.Parallel()
	refused := func(code codes.Code, reason, field string) *flowstore.Client {
		return flowstore.New(refusing{err: apierr.New(code, reason, "m").About(field, "d").GRPCStatus().Err()})
	}
	for _, reason := range []string{"NODE_NOT_FOUND", "DELETED"} {
		if _, err := refused(codes.NotFound, reason, "name").Glance(t.Context(), "n", here, nodecontext.Everything); !errors.Is(err, nodecontext.ErrNoNode) {
			t.Errorf("%s: %v", reason, err)
		}
	}
	search := func(q nodecontext.Query) error {
		_, err := refused(codes.InvalidArgument, "INVALID_QUERY", "query").Search(t.Context(), "n", q, "")
		return err
	}
	way := func() (err error) {
		for _, err = range refused(codes.NotFound, "NODE_NOT_FOUND", "node").Way(t.Context(), "n", here, here, "merge_parents[3]") {
			break
		}
		return err
	}
	for want, err := range map[string]error{
		"refs.tags": search(nodecontext.Query{Tags: []string{"a"}}), "refs.query": search(nodecontext.Query{Words: "a"}), "merge_parents[3]": way(),
	} {
		var got *apierr.Error
		if !errors.As(err, &got) || len(got.Violations) != 1 || got.Violations[0].Field != want {
			t.Errorf("%v, want field %s", err, want)
		}
	}
}
