package generation

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
)

type heard struct {
	Observer
	faults []error
}

func (h *heard) Fault(_ context.Context, err error) { h.faults = append(h.faults, err) }

// TestFaultsBesideAGeneration: whoever reads on for nobody is no reason for the process to end.
func TestFaultsBesideAGeneration(t *testing.T) {
	t.Parallel()
	whole := Node{ID: uuid.New(), Record: &Record{Finish: FinishStop}}
	view := func() *View {
		return (&Service{limits: DefaultLimits()}).newView(replay(key{ns: "default"}, whole, asked{}), 0)
	}
	silent := view()
	silent.greeted, silent.after = true, 1
	for name, a := range map[string]*Answers{
		"a panic":        {views: []*View{view()}, next: func(context.Context, int, Node) (*View, error) { panic("ours") }},
		"an untold node": {views: []*View{silent}, next: func(context.Context, int, Node) (*View, error) { return nil, nil }},
	} {
		h := &heard{}
		(&Service{observer: h}).readOn(t.Context(), a)
		if len(h.faults) != 1 || !errors.Is(h.faults[0], errUntold) && !errors.As(h.faults[0], new(*PanicError)) {
			t.Errorf("%s: told %v", name, h.faults)
		}
	}
}
