package transport_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transport"
)

// receive reads a stream to its end.
func receive[E any](stream grpc.ServerStreamingClient[E], err error) (events []*E, _ error) {
	if err != nil {
		return nil, err
	}
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
}

// looking is a library whose look finds one of each kind among many files, and looks twice.
type looking struct{ transport.Library }

func (looking) Look(_ context.Context, _ string, progress func(read, files int)) (store.Look, error) {
	const files = 5_000
	for range 2 {
		for read := 1; read <= files; read++ {
			progress(read, files)
		}
	}
	look := store.Look{Nodes: 4_000, Flows: 1_000, More: map[store.Damage]int{store.DamageCycle: 3, store.DamageNUL: 4}}
	for _, kind := range store.Damages {
		look.Findings = append(look.Findings, store.Finding{Path: "nodes/000/001.xml", Line: 7, Kind: kind, Reason: "reason", Fix: "fix", By: store.ByRepair})
	}
	return look, nil
}

func TestCheckStore(t *testing.T) {
	t.Parallel()
	events, err := receive(client(t, looking{}).CheckStore(t.Context(), &flowstorev1.CheckStoreRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	var steps []*flowstorev1.CheckProgress
	var findings []*flowstorev1.StoreFinding
	kinds := map[flowstorev1.StoreFinding_Kind]bool{}
	for _, e := range events {
		if p := e.GetProgress(); p != nil {
			steps = append(steps, p)
		}
		if f := e.GetFinding(); f != nil {
			findings = append(findings, f)
			kinds[f.GetKind()] = true
		}
	}
	if first, last := steps[0], steps[len(steps)-1]; first.GetFilesRead() != 1 || last.GetFilesRead() != 5000 || len(steps) < 10 || len(steps) > 120 {
		t.Errorf("%d steps, the first %v, the last %v", len(steps), first, last)
	}
	if len(kinds) != len(flowstorev1.StoreFinding_Kind_name)-1 || kinds[0] || len(findings) != len(store.Damages) {
		t.Errorf("%d findings of %d kinds", len(findings), len(kinds))
	}
	same(t, &flowstorev1.StoreFinding{
		Kind: flowstorev1.StoreFinding_KIND_UNREADABLE, Path: "nodes/000/001.xml", Line: 7, Reason: "reason", Fix: "fix",
		Mending: flowstorev1.StoreFinding_MENDING_REPAIR,
	}, findings[0])
	same(t, &flowstorev1.CheckResult{NodeFiles: 4_000, FlowFiles: 1_000, MoreFindings: 7}, proto.Message(events[len(events)-1].GetResult()))
}

func (looking) Mend(_ context.Context, _ string, o store.MendOptions, progress func(read, files int)) (store.Mended, error) {
	progress(1, 1)
	m := store.Mended{Steps: []store.MendStep{{Path: "nodes/index.tsv", Text: "is written anew"}, {Path: "flows/000/000.yaml", Text: "gets line feeds", Left: "busy"}}}
	if o.Apply && o.Current {
		m.Folder = ".flowstore/repair/now"
	}
	return m, nil
}

func TestRepairStore(t *testing.T) {
	t.Parallel()
	for _, apply := range []bool{false, true} {
		events, err := receive(client(t, looking{}).RepairStore(t.Context(), &flowstorev1.RepairStoreRequest{Apply: apply, Current: true}))
		if err != nil || len(events) != 4 || events[0].GetProgress().GetFiles() != 1 {
			t.Fatalf("events %v, %v", events, err)
		}
		same(t, &flowstorev1.RepairStep{Path: "nodes/index.tsv", Action: "is written anew"}, events[1].GetStep())
		same(t, &flowstorev1.RepairStep{Path: "flows/000/000.yaml", Action: "gets line feeds", Left: "busy"}, events[2].GetStep())
		want := &flowstorev1.RepairResult{Left: 1}
		if apply {
			want = &flowstorev1.RepairResult{Changed: 1, Left: 1, Folder: ".flowstore/repair/now"}
		}
		same(t, want, events[3].GetResult())
	}
}
