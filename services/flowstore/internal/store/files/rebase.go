package files

import (
	"fmt"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// rebase applies changes to another version of their flow than the one that they were made for. Members that it holds
// already keep their index, others get the next one where theirs is taken; an edge that leads nowhere or closes a cycle
// is left out, and told. What is to go and is not there has gone.
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
	one.Add = r.joining(c.Add, one.Remove)
	r.flow = r.flow.Apply(one)
	for _, e := range c.Connect {
		r.connect(flow.Change{At: one.At, Connect: []flow.Edge{r.edge(e)}})
	}
	if c.Current != nil {
		current := r.at(*c.Current)
		if move := (flow.Change{At: one.At, Current: &current}); r.flow.Check(move) == nil {
			r.flow = r.flow.Apply(move)
		}
	}
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

func (r *rebasing) connect(c flow.Change) {
	if err := r.flow.Check(c); err != nil {
		e := c.Connect[0]
		r.lost = append(r.lost, fmt.Sprintf("the connection from %d to %d could not be made: %v", e.From, e.To, err))
		return
	}
	r.flow = r.flow.Apply(c)
}
