package files

import (
	"fmt"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// rebase applies changes to another version of their flow than the one that they were made for. Members that it holds
// already keep their index, others get the next one where theirs is taken; an edge that leads nowhere or closes a cycle, a head
// or a link that would stand at nothing is left out, and told. What is to go and is not there has gone.
func rebase(f flow.Flow, changes []flow.Change) (flow.Flow, []string) {
	r := rebasing{flow: f, index: map[int]int{}}
	for _, c := range changes {
		r.apply(c)
	}
	return r.flow, r.lost
}

// rebasing is a flow onto which changes are put.
type rebasing struct {
	flow flow.Flow
	// index is where members stand, by their index in the version that the changes were made for.
	index map[int]int
	// lost tells what could not be done.
	lost []string
}

func (r *rebasing) at(index int) int {
	if to, moved := r.index[index]; moved {
		return to
	}
	return index
}

func (r *rebasing) edge(e flow.Edge) flow.Edge {
	return flow.Edge{From: r.at(e.From), To: r.at(e.To), Name: e.Name}
}

func (r *rebasing) apply(c flow.Change) {
	one := flow.Change{
		At: laterOf(c.At, r.flow.Updated), Name: c.Name, Description: c.Description, Story: c.Story, Remove: r.leaving(c.Remove),
	}
	for _, e := range c.Disconnect {
		one.Disconnect = append(one.Disconnect, r.edge(e))
	}
	for _, l := range c.Unlink {
		one.Unlink = append(one.Unlink, flow.Link{From: r.at(l.From), Flow: l.Flow})
	}
	one.Restore = r.returning(c.Restore, one.Remove)
	one.Add = r.joining(slices.Concat(r.outOf(c.Restore, one.Restore), c.Add), one.Remove)
	r.flow = r.flow.Apply(one)
	for _, e := range c.Connect {
		r.put(flow.Change{At: one.At, Connect: []flow.Edge{r.edge(e)}}, "the connection from %d to %d", r.at(e.From), r.at(e.To))
	}
	for _, h := range c.Heads {
		r.put(flow.Change{At: one.At, Heads: []flow.Head{{Name: h.Name, Index: r.at(h.Index)}}}, "the head %q", h.Name)
	}
	for _, l := range c.Link {
		r.put(flow.Change{At: one.At, Link: []flow.Link{{From: r.at(l.From), Flow: l.Flow}}}, "the link to %s", flow.Name(l.Flow))
	}
	if c.Current != nil {
		current := r.at(*c.Current)
		if move := (flow.Change{At: one.At, Current: &current}); r.flow.Check(move) == nil {
			r.flow = r.flow.Apply(move)
		}
	}
}

// put applies one step, or tells that it could not be done.
func (r *rebasing) put(c flow.Change, what string, args ...any) {
	if err := r.flow.Check(c); err != nil {
		r.lost = append(r.lost, fmt.Sprintf(what+" could not be made: %v", append(args, err)...))
		return
	}
	r.flow = r.flow.Apply(c)
}

// leaving finds the members that are to go by their nodes.
func (r *rebasing) leaving(members []flow.Member) (here []flow.Member) {
	for _, m := range members {
		if index, held := r.flow.IndexOf(m.Node); held {
			here = append(here, flow.Member{Index: index, Node: m.Node})
		}
	}
	return here
}

// returning gives the members that can come back with their indexes; they do so alone if they are in the flow already.
func (r *rebasing) returning(members, leaving []flow.Member) (here []flow.Member) {
	for _, m := range members {
		index := r.at(m.Index)
		one := flow.Change{Remove: leaving, Restore: append(here, flow.Member{Index: index, Node: m.Node})}
		if r.flow.Check(one) == nil {
			here, r.index[m.Index] = one.Restore, index
		}
	}
	return here
}

// outOf gives the members that are not among those that come back.
func (r *rebasing) outOf(members, returning []flow.Member) (rest []flow.Member) {
	for _, m := range members {
		if !slices.ContainsFunc(returning, func(back flow.Member) bool { return back.Node == m.Node }) {
			rest = append(rest, m)
		}
	}
	return rest
}

// joining gives new members their indexes.
func (r *rebasing) joining(members, leaving []flow.Member) (here []flow.Member) {
	next := r.flow.Next
	for _, m := range members {
		if held, ok := r.flow.IndexOf(m.Node); ok && !slices.Contains(leaving, flow.Member{Index: held, Node: m.Node}) {
			r.index[m.Index] = held
			continue
		}
		r.index[m.Index] = next
		here = append(here, flow.Member{Index: next, Node: m.Node})
		next++
	}
	return here
}
