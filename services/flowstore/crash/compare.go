package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// readers is how many texts are read at once.
const readers = 8

// compare asks again for what was under way, and then holds flows and new texts to what was acknowledged.
func (t *trial) compare(ctx context.Context, s *server) error {
	for _, f := range t.ledger.flows {
		got, err := s.client.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: f.name})
		if err != nil {
			return fmt.Errorf("reading %s: %w", f.name, err)
		}
		if at := got.GetCurrent(); at != f.current && at != f.moving {
			t.lose("the current node of %s is %q; acknowledged was %q, under way %q", f.name, at, f.current, f.moving)
		}
		if text := got.GetDescription(); text != f.text && text != f.writing {
			t.lose("the description of %s is %q; acknowledged was %q, under way %q", f.name, text, f.text, f.writing)
		}
	}
	for _, again := range t.underWay {
		if err := again(ctx, s.client); err != nil {
			return fmt.Errorf("asking once more for what was under way: %w", err)
		}
	}
	t.underWay = nil
	for _, f := range t.ledger.flows {
		got, err := s.client.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: f.name})
		if err != nil {
			return fmt.Errorf("reading %s: %w", f.name, err)
		}
		t.compareFlow(f, got)
	}
	t.compareTexts(ctx, s, t.ledger.takeFresh())
	return nil
}

// compareFlow holds a flow to the ledger: the same nodes, each with the same parents, and no others.
func (t *trial) compareFlow(f *flowRecord, got *flowstorev1.Flow) {
	names := map[int32]string{}
	parents := map[string][]string{}
	for _, n := range got.GetNodes() {
		names[n.GetIndex()] = n.GetNode()
		parents[n.GetNode()] = nil
	}
	for _, e := range got.GetEdges() {
		parents[names[e.GetTo()]] = append(parents[names[e.GetTo()]], names[e.GetFrom()])
	}
	t.compareParents("flow "+f.name, f.parents, parents)
	if len(got.GetWarnings()) > 0 {
		t.lose("flow %s has warnings: %q", f.name, got.GetWarnings())
	}
}

func (t *trial) compareParents(where string, want, got map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		has, there := got[name]
		slices.Sort(has)
		switch {
		case !there:
			t.lose("%s: %s is not there", where, name)
		case !slices.Equal(has, want[name]):
			t.lose("%s: %s continues %v, acknowledged was %v", where, name, has, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, known := want[name]; !known {
			t.lose("%s: %s is there, and nobody asked for it", where, name)
		}
	}
}

// compareTexts reads nodes and holds their texts to the ledger.
func (t *trial) compareTexts(ctx context.Context, s *server, names []string) {
	todo := make(chan string)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for name := range todo {
				n, err := s.client.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: name})
				mu.Lock()
				switch {
				case err != nil:
					t.lose("%s: %v", name, err)
				case len(n.GetTexts()) != 1 || n.GetTexts()[0].GetContent() != t.ledger.texts[name]:
					t.lose("%s has another text: %q, acknowledged was %q", name, n.GetTexts(), t.ledger.texts[name])
				}
				mu.Unlock()
			}
		})
	}
	for _, name := range names {
		todo <- name
	}
	close(todo)
	all.Wait()
}

// compareAll reads every text once more, over the service and out of the files.
func (t *trial) compareAll(ctx context.Context, s *server) error {
	t.compareTexts(ctx, s, slices.Sorted(maps.Keys(t.ledger.texts)))
	if _, err := s.client.FlushStore(ctx, &flowstorev1.FlushStoreRequest{}); err != nil {
		return fmt.Errorf("flushing: %w", err)
	}
	return t.compareTree()
}
