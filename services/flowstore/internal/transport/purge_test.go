package transport_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
)

const purged = "FailedPrecondition PURGED"

// dropped puts things into the trash.
func dropped(t *testing.T, s store.Store, things ...store.Thing) {
	t.Helper()
	err := s.Update(t.Context(), "default", func(tx store.Tx) (err error) {
		for _, of := range things {
			err = errors.Join(err, tx.Drop(of))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// inTrash makes something and puts it into the trash of the caller's namespace.
func inTrash(t *testing.T, s store.Store, ctx context.Context, of store.Thing) string { //nolint:revive // The test comes first.
	t.Helper()
	err := s.Update(t.Context(), namespace.From(ctx), func(tx store.Tx) error {
		if of.Kind == store.KindNode {
			return errors.Join(tx.CreateNode(node.Node{ID: of.ID}), tx.Drop(of))
		}
		return errors.Join(tx.CreateFlow(flow.Flow{ID: of.ID, Next: 1}), tx.Drop(of))
	})
	if err != nil {
		t.Fatal(err)
	}
	return of.Kind.Name(of.ID)
}

func TestPurge(t *testing.T) {
	t.Parallel()
	s := memory.New(func() time.Time { return now })
	c := client(t, library.New(s, &counting{}))
	aFlow, aNode := "flows/"+id(500), "nodes/"+id(501)
	must[*flowstorev1.Flow](t)(c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "n"}, FlowId: id(500)}))
	must[*flowstorev1.AddNodeResponse](t)(c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{Flow: aFlow, Source: fresh(), NodeId: id(501)}))
	node := func(name, reason string) (*flowstorev1.Tombstone, error) {
		return c.PurgeNode(t.Context(), &flowstorev1.PurgeNodeRequest{Name: name, Reason: reason})
	}
	flow := func(name, reason string) (*flowstorev1.Tombstone, error) {
		return c.PurgeFlow(t.Context(), &flowstorev1.PurgeFlowRequest{Name: name, Reason: reason, PurgeNodes: true})
	}
	for _, tt := range []struct {
		call         func(name, reason string) (*flowstorev1.Tombstone, error)
		name, reason string
		want         string
		fields       []string
	}{
		{node, "x", "", invalid, []string{"name", "reason"}},
		{node, aNode, " ", invalid, []string{"reason"}},
		{flow, "nodes/x", strings.Repeat("x", 1025), invalid, []string{"name", "reason"}},
		{node, aNode, strings.Repeat("長", 341), notDeleted, []string{"name"}},
		{flow, aFlow, "r", notDeleted, []string{"name"}},
		{node, "nodes/" + id(404), "r", noNode, []string{"name"}},
		{flow, "flows/" + id(404), "r", noFlow, []string{"name"}},
	} {
		_, err := tt.call(tt.name, tt.reason)
		expectSorted(t, err, tt.want, tt.fields...)
	}
	dropped(t, s, store.Thing{Kind: store.KindFlow, ID: uuid.MustParse(id(500))})
	got := must[*flowstorev1.Tombstone](t)(flow(aFlow, "理由"))
	same(t, &flowstorev1.Tombstone{Name: aFlow, PurgeTime: got.GetPurgeTime(), Reason: "理由", Nodes: []string{aNode}}, got)
	if got.GetPurgeTime().AsTime().Before(now) {
		t.Errorf("purged at %v", got.GetPurgeTime())
	}
	again := must[*flowstorev1.Tombstone](t)(flow(aFlow, "another"))
	same(t, got, again)
	same(t, &flowstorev1.Tombstone{Name: aNode, PurgeTime: got.GetPurgeTime(), Reason: "理由"}, must[*flowstorev1.Tombstone](t)(node(aNode, "x")))
	_, err := c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: aNode})
	expect(t, err, purged, "name")
	_, err = c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: aFlow})
	expect(t, err, purged, "name")
	_, err = c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said("x"), NodeId: id(501)})
	expect(t, err, purged, "node_id")
	told, at := refusal(t, err), got.GetPurgeTime().AsTime().Format(time.RFC3339Nano)
	if told.Metadata["purge_time"] != at || !strings.Contains(told.Message, at) || told.Violations[0].Description == told.Message {
		t.Errorf("told %+v; it was purged at %s", told, at)
	}
	_, err = c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "n"}, FlowId: id(500)})
	expect(t, err, purged, "flow_id")
}
