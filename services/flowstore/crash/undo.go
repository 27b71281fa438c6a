package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// step is a change of a flow that can be undone: the parts that it changed, and the nodes that it sent to the trash.
type step struct {
	before, after map[string]string
	trashed       map[string]bool
}

// steps are the last ones of a flow, of each list the next one last.
type steps struct{ done, undone []step }

// maxSteps is how many are known of a flow: fewer than flowstore keeps (store.MaxSteps).
const maxSteps = 100

// takeTurns gives an operation its turn on each flow that it needs or changes. Before it locks anything.
func (l *ledger) takeTurns(o *operation) {
	o.turns = map[string]int{}
	on := slices.Clone(o.shares)
	for k := range o.exclusive {
		on = append(on, k)
	}
	for _, k := range on {
		if k.Part == partIs {
			l.turns[k.Thing]++
			if l.locks[k] == 0 {
				o.turns[k.Thing] = l.turns[k.Thing]
			}
		}
	}
}

// noteSteps keeps what an operation changed in flows. Of two at once nobody knows which came last, so that then none is known.
func (l *ledger) noteSteps(o *operation, writes map[key]string) {
	changed := map[string]*step{}
	for k, value := range writes {
		before := l.is[k.Thing][k.Part]
		if !strings.HasPrefix(k.Thing, "flows/") || before == value {
			continue
		}
		s := changed[k.Thing]
		if s == nil {
			s = &step{map[string]string{}, map[string]string{}, map[string]bool{}}
			changed[k.Thing] = s
		}
		s.before[k.Part], s.after[k.Part] = before, value
		if node, isMember := strings.CutPrefix(k.Part, prefixMember); isMember && writes[key{node, partTrash}] == isThere {
			s.trashed[node] = true
		}
	}
	for flow, s := range changed {
		known := l.steps[flow]
		if known == nil {
			known = &steps{}
			l.steps[flow] = known
		}
		_, made := s.after[partIs]
		_, trashed := s.after[partTrash]
		_, placed := s.after[partCurrent]
		switch {
		case o.moves != 0:
			known.move(o.moves, *s)
		case made, trashed, placed && len(s.after) == 1: // no step
		case o.turns[flow] == l.turns[flow]:
			known.undone = nil
			known.done = append(known.done, *s)
			known.done = known.done[max(0, len(known.done)-maxSteps):]
		default:
			*known = steps{}
		}
	}
}

// move notes that the next step was undone, or done again, by a change.
func (s *steps) move(by int, now step) {
	if by < 0 {
		moved := s.done[len(s.done)-1]
		s.done = s.done[:len(s.done)-1]
		s.undone = append(s.undone, step{now.after, now.before, moved.trashed})
		return
	}
	now.trashed = s.undone[len(s.undone)-1].trashed
	s.undone = s.undone[:len(s.undone)-1]
	s.done = append(s.done, now)
}

// moving is an operation that undoes the last step of a flow, or does it again.
func (d drawing) moving(by int, ask request) *operation {
	s := d.steps[d.flow]
	if s == nil {
		return nil
	}
	list := s.done
	if by > 0 {
		list = s.undone
	}
	if len(list) == 0 {
		return nil
	}
	moved := list[len(list)-1]
	from, to := moved.after, moved.before
	if by > 0 {
		from, to = to, from
	}
	o := &operation{writes: map[key]string{}, owns: []key{{d.flow, partIs}}, ask: ask, moves: by}
	for part, value := range to {
		node, isMember := strings.CutPrefix(part, prefixMember)
		if isMember && value != "" && from[part] == "" && !d.bringBack(o, node, moved) {
			return nil
		}
		o.writes[key{d.flow, part}] = value
	}
	if by > 0 && !d.trashAgain(o, moved) {
		return nil
	}
	if !d.place(o, from, to) {
		return nil
	}
	return o
}

// bringBack has a node in a flow again, out of the trash where the step sent it there; false where it was deleted since.
func (d drawing) bringBack(o *operation, node string, moved step) bool {
	switch {
	case d.is[node][partText] != "":
		o.shares = append(o.shares, key{node, partText})
	case moved.trashed[node] && d.is[node][partTrash] == isThere:
		for k, value := range d.back(node, nil).writes {
			o.writes[k] = value
		}
	default:
		return false
	}
	return true
}

// trashAgain has nodes go to the trash that a step sent there, which is done again, unless another flow holds them; false where one in the
// trash does.
func (d drawing) trashAgain(o *operation, moved step) bool {
	for node := range moved.trashed {
		if d.is[node][partText] != "" && !d.drop(o, node, map[string]bool{d.flow: true}) {
			return false
		}
	}
	return true
}

// place finds where the reader stands after a step was moved, who may have gone on since; false where the ledger does not know.
func (d drawing) place(o *operation, from, to map[string]string) bool {
	now := d.is[d.flow][partCurrent]
	left, moved := from[partCurrent]
	after, touched := to[prefixMember+now]
	gone := touched && after == ""
	if moved && (now == left || gone) {
		return true
	}
	delete(o.writes, key{d.flow, partCurrent})
	return !gone
}

func undoFlow(d drawing) *operation {
	req := &flowstorev1.UndoFlowRequest{Flow: d.flow, RequestId: requestID()}
	return d.moving(-1, func(ctx context.Context, c client) (string, error) {
		_, err := c.UndoFlow(ctx, req)
		return "", err
	})
}

func redoFlow(d drawing) *operation {
	req := &flowstorev1.RedoFlowRequest{Flow: d.flow, RequestId: requestID()}
	return d.moving(1, func(ctx context.Context, c client) (string, error) {
		_, err := c.RedoFlow(ctx, req)
		return "", err
	})
}

// noteTrash keeps what goes to the trash, and the markers of what is purged. Before it is written.
func (l *ledger) noteTrash(writes map[key]string) {
	for k, value := range writes {
		switch {
		case k.Part == partTrash && value != "":
			l.kept[k.Thing] = maps.Clone(l.is[k.Thing])
		case k.Part == partPurged:
			l.noteErased(k.Thing)
		}
	}
	for k, value := range writes {
		if k.Part == partTrash && value == "" {
			delete(l.kept, k.Thing)
		}
	}
}
