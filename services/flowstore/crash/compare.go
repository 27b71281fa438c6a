package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// readers is how many things are read at once.
const readers = 8

// compare looks what became of the operations that were under way, asks for each once more, and then holds all flows, and
// all nodes that changed, to what was acknowledged.
func (t *trial) compare(ctx context.Context, s *server) error {
	found, err := s.readAll(ctx, t.touched())
	if err != nil {
		return err
	}
	t.compareUnderWay(found)
	for _, o := range t.underWay {
		made, err := o.ask(ctx, s.client)
		if err != nil {
			return fmt.Errorf("asking once more for the %s that was under way: %w", o.rpc, err)
		}
		t.ledger.acknowledge(o, made)
	}
	t.underWay = nil
	return t.compareThings(ctx, s, slices.Concat(t.ledger.flows, t.ledger.takeFresh()))
}

// touched are all flows, and the nodes that operations under way may have changed.
func (t *trial) touched() []string {
	things := slices.Clone(t.ledger.flows)
	for _, o := range t.underWay {
		for k := range o.writes {
			if o.token == "" || !strings.Contains(k.Thing, o.token) {
				things = append(things, k.Thing)
			}
		}
	}
	slices.Sort(things)
	return slices.Compact(things)
}

// compareUnderWay holds what was found to what was acknowledged or was under way: of each operation all or nothing.
func (t *trial) compareUnderWay(found map[string]map[string]string) {
	after, growing := map[key]outcome{}, map[string]bool{}
	for _, o := range t.underWay {
		t.compareWhole(o, found)
		for k, value := range o.writes {
			after[k] = outcome{value, o.token}
			growing[k.Thing] = growing[k.Thing] || o.token != ""
		}
	}
	for thing, got := range found {
		want := t.ledger.is[thing]
		for part := range bothKeys(want, got) {
			next, changing := after[key{thing, part}]
			switch {
			case got[part] == want[part], changing && next.is(got[part], want[part]):
			case want[part] == "" && growing[thing]: // a name that only the answer would have told
			default:
				t.Lose("%s, %s: %q; acknowledged was %q, under way (%v) %q", thing, part, got[part], want[part], changing, next.value)
			}
		}
	}
}

// outcome is what a key becomes. One with a token tells a name that only the answer would have told: anything new is it, until
// the same request is answered again.
type outcome struct{ value, token string }

func (o outcome) is(got, before string) bool {
	if o.token != "" && strings.Contains(o.value, o.token) {
		return got != before
	}
	return got == o.value
}

// compareWhole finds an operation of which only a part was done.
func (t *trial) compareWhole(o *operation, found map[string]map[string]string) {
	var done, open []string
	for k, value := range o.writes {
		got, read := found[k.Thing]
		if !read || o.token != "" && strings.Contains(k.Part, o.token) || value == t.ledger.is[k.Thing][k.Part] {
			continue
		}
		if (outcome{value, o.token}).is(got[k.Part], t.ledger.is[k.Thing][k.Part]) {
			done = append(done, k.Thing+", "+k.Part)
		} else {
			open = append(open, k.Thing+", "+k.Part)
		}
	}
	if len(done) > 0 && len(open) > 0 {
		t.Lose("half of a %s: done is %q, and not %q", o.rpc, done, open)
	}
}

// compareThings holds things to what was acknowledged, exactly.
func (t *trial) compareThings(ctx context.Context, s *server, things []string) error {
	found, err := s.readAll(ctx, things)
	for thing, got := range found {
		t.compareParts(thing, t.ledger.is[thing], got)
	}
	return err
}

func (t *trial) compareParts(where string, want, got map[string]string) {
	for part := range bothKeys(want, got) {
		switch {
		case got[part] == want[part]:
		case want[part] == "":
			t.Lose("%s, %s: %q, and nobody asked for it", where, part, got[part])
		default:
			t.Lose("%s, %s: %q; acknowledged was %q", where, part, got[part], want[part])
		}
	}
}

// bothKeys visits the keys of two maps, each once.
func bothKeys(a, b map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, k := range slices.Sorted(maps.Keys(a)) {
			if !yield(k) {
				return
			}
		}
		for _, k := range slices.Sorted(maps.Keys(b)) {
			if _, seen := a[k]; !seen && !yield(k) {
				return
			}
		}
	}
}

// readAll reads things, several at once.
func (s *server) readAll(ctx context.Context, things []string) (map[string]map[string]string, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readers)
	parts := make([]map[string]string, len(things))
	for i, thing := range things {
		group.Go(func() (err error) {
			parts[i], err = s.read(ctx, thing)
			if err != nil {
				err = fmt.Errorf("reading %s: %w", thing, err)
			}
			return err
		})
	}
	err := group.Wait()
	all := make(map[string]map[string]string, len(things))
	for i, thing := range things {
		all[thing] = parts[i]
	}
	return all, err
}
