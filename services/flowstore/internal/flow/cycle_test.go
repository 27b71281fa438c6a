package flow_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// A cycle is found, and none is seen where there is none, also where a long way leads from larger indexes to smaller ones, as
// edges hardly ever do.
func TestCyclesAgainstTheOrder(t *testing.T) {
	t.Parallel()
	const last = 30
	f := graph(last+1, "")
	closing := &flow.CycleError{Flow: f.ID, Closing: [][2]uuid.UUID{{node(1), node(last)}}}
	for i := last; i > 1; i-- {
		f = f.Apply(flow.Change{Connect: []flow.Edge{{From: i, To: i - 1}}})
		closing.Path = append(closing.Path, node(i))
	}
	closing.Path = append(closing.Path, node(1), node(last))
	if diff := cmp.Diff(error(closing), f.Check(flow.Change{Connect: edges("1-30")})); diff != "" {
		t.Error(diff)
	}
	if err := f.Check(flow.Change{Connect: edges("31-30")}); err != nil {
		t.Error(err)
	}
	// Through a node that comes with the change.
	through := flow.Change{Add: members(last + 2), Connect: edges("1-32 32-30")}
	if err := f.Check(through); !errors.As(err, new(*flow.CycleError)) {
		t.Errorf("through a new node: %v", err)
	}
	through.Connect = edges("31-32 32-30")
	if err := f.Check(through); err != nil {
		t.Error(err)
	}
}
