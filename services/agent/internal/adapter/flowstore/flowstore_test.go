package flowstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/flowstore"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

// refusing is a connection to a flowstore that refuses every call.
type refusing struct {
	grpc.ClientConnInterface
	err error
}

func (r refusing) Invoke(context.Context, string, any, any, ...grpc.CallOption) error { return r.err }

// TestRefusalsNameTheCallersFields: flowstore names the fields of its own calls.
func TestRefusalsNameTheCallersFields(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41")
	node := func(c *flowstore.Client) error {
		_, err := c.Node(t.Context(), "n", id)
		return err
	}
	story := func(c *flowstore.Client) error {
		_, err := c.Story(t.Context(), "n", id)
		return err
	}
	path := func(c *flowstore.Client) (err error) {
		for _, err = range c.Path(t.Context(), "n", id, id) {
			break
		}
		return err
	}
	add := func(c *flowstore.Client) error {
		_, err := c.Add(t.Context(), "n", generation.Addition{Flow: id, Parent: id, Node: generation.Node{ID: id}})
		return err
	}
	for name, c := range map[string]struct {
		call         func(*flowstore.Client) error
		code         codes.Code
		reason       string
		theirs, ours string
	}{
		"the node of a generation":  {node, codes.DataLoss, "UNREADABLE_FILE", "name", "name"},
		"no such flow":              {story, codes.NotFound, "FLOW_NOT_FOUND", "name", "flow"},
		"no such parent":            {path, codes.NotFound, "NODE_NOT_FOUND", "node", "parent"},
		"a parent of another flow":  {path, codes.FailedPrecondition, "NOT_IN_FLOW", "node", "parent"},
		"a flow that is broken":     {path, codes.DataLoss, "UNREADABLE_FILE", "flow", "flow"},
		"a parent that went away":   {add, codes.NotFound, "NODE_NOT_FOUND", "parents[0]", "parent"},
		"what we made of our own":   {add, codes.NotFound, "NODE_NOT_FOUND", "new_node.texts", ""},
		"a flow that was not there": {add, codes.NotFound, "FLOW_NOT_FOUND", "flow", "flow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refusal := apierr.New(c.code, c.reason, "m").About(c.theirs, "d").GRPCStatus().Err()
			var got *apierr.Error
			if err := c.call(flowstore.New(refusing{err: refusal})); !errors.As(err, &got) || got.Reason != c.reason || got.Code != c.code {
				t.Fatalf("%v", err)
			}
			field := ""
			for _, v := range got.Violations {
				field += v.Field
			}
			if field != c.ours {
				t.Errorf("field %q, want %q", field, c.ours)
			}
		})
	}
}

// heard is a connection that remembers in which namespaces each method was called, and whose first AddNode finds
// flowstore away.
type heard struct {
	grpc.ClientConnInterface
	in map[string][]string
}

func (h heard) Invoke(ctx context.Context, method string, _, reply any, _ ...grpc.CallOption) error {
	h.in[method] = append(h.in[method], namespace.From(ctx))
	node := &flowstorev1.Node{Name: "nodes/0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41"}
	switch r := reply.(type) {
	case *flowstorev1.Node:
		r.Name = node.Name
	case *flowstorev1.ListPathNodesResponse:
		if r.Nodes = []*flowstorev1.PathNode{{Node: node}}; len(h.in[method]) == 1 {
			r.NextPageToken = "more"
		}
	case *flowstorev1.AddNodeResponse:
		if r.Node = node; len(h.in[method]) == 1 {
			return apierr.New(codes.Unavailable, "X", "not now").GRPCStatus().Err()
		}
	}
	return nil
}

// TestCallsActInTheNamespaceOfTheGeneration, whatever the context says: every page, and every try.
func TestCallsActInTheNamespaceOfTheGeneration(t *testing.T) {
	t.Parallel()
	h := heard{in: map[string][]string{}}
	c := flowstore.New(h)
	id := uuid.MustParse("0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41")
	if _, err := c.Node(t.Context(), "team-a", id); err != nil {
		t.Error(err)
	}
	if _, err := c.Story(t.Context(), "team-a", id); err != nil {
		t.Error(err)
	}
	for _, err := range c.Path(t.Context(), "team-a", id, id) {
		if err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Add(t.Context(), "team-a", generation.Addition{Flow: id, Node: generation.Node{ID: id}}); err != nil {
		t.Error(err)
	}
	for method, times := range map[string]int{
		flowstorev1.FlowStoreService_GetNode_FullMethodName: 1, flowstorev1.FlowStoreService_GetFlow_FullMethodName: 1,
		flowstorev1.FlowStoreService_ListPathNodes_FullMethodName: 2, flowstorev1.FlowStoreService_AddNode_FullMethodName: 2,
	} {
		if len(h.in[method]) != times {
			t.Errorf("%s was called %d times, want %d", method, len(h.in[method]), times)
		}
		for _, ns := range h.in[method] {
			if ns != "team-a" {
				t.Errorf("%s was called in the namespace %q", method, ns)
			}
		}
	}
}
