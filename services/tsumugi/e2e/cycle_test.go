package e2e

import (
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// pairs of callers, over flows of pairsPerFlow each.
const (
	pairs        = 1000
	pairsPerFlow = 50
	inParallel   = 16
)

// Two callers who each add an edge, and together would close a cycle: one of them is refused, every time.
func cycles(t *testing.T, m mode) {
	w := open(t, m, nobody)
	flows := make([]string, pairs/pairsPerFlow)
	for i := range flows {
		flows[i] = w.newFlow(t)
	}
	next := make(chan string)
	go func() {
		defer close(next)
		for i := range pairs {
			next <- flows[i%len(flows)]
		}
	}()
	var all sync.WaitGroup
	for range inParallel {
		all.Go(func() {
			for flow := range next {
				w.tryCycle(t, flow)
			}
		})
	}
	all.Wait()
	for _, flow := range flows {
		if f := w.flow(t, flow); len(f.Nodes) != 2*pairsPerFlow || len(f.Edges) != pairsPerFlow || cyclic(f) {
			t.Errorf("%s has %d nodes and %d edges, a cycle: %v", flow, len(f.Nodes), len(f.Edges), cyclic(f))
		}
	}
}

// tryCycle makes two nodes and has two callers connect them at once, in either direction.
func (w *world) tryCycle(t *testing.T, flow string) {
	var nodes [2]string
	for i := range nodes {
		added, err := w.flows.AddNode(w.ctx, &flowstorev1.AddNodeRequest{Flow: flow, Source: fresh("x")})
		if err != nil {
			t.Error(err)
			return
		}
		nodes[i] = added.Node.Name
	}
	var errs [2]error
	var both sync.WaitGroup
	start := make(chan struct{})
	for i := range errs {
		both.Go(func() {
			<-start
			errs[i] = w.addNode(&flowstorev1.AddNodeRequest{Flow: flow, Source: added(nodes[i]), Parents: []string{nodes[1-i]}})
		})
	}
	close(start)
	both.Wait()
	lost := errs[0]
	if lost == nil {
		lost = errs[1]
	}
	if e, ok := apierr.FromStatus(lost); (errs[0] == nil) == (errs[1] == nil) || !ok || e.Code != codes.FailedPrecondition || e.Reason != "CYCLE" {
		t.Errorf("one has to win and one to be refused: %v, %v", errs[0], errs[1])
	}
}

// cyclic says whether a flow has a cycle: whether something is left when nodes without a parent are taken away again and again.
func cyclic(f *flowstorev1.Flow) bool {
	open := map[int32]int{}
	for _, e := range f.Edges {
		open[e.To]++
	}
	var free []int32
	for _, n := range f.Nodes {
		if open[n.Index] == 0 {
			free = append(free, n.Index)
		}
	}
	taken := 0
	for ; taken < len(free); taken++ {
		for _, e := range f.Edges {
			if e.From != free[taken] {
				continue
			}
			if open[e.To]--; open[e.To] == 0 {
				free = append(free, e.To)
			}
		}
	}
	return taken < len(f.Nodes)
}
