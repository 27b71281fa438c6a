package flow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// Invert gives the change, without its time, that takes c back: before.Apply(c).Apply(back) is before in all but Updated and
// Next. Only what no operation may make does not come back in a flow that hands edited: an edge that traversals left out (nor its
// name), a head or link of nothing. It needs the flow as it was: c does not tell what went with a member. A change
// that was undone is done again by the inverse of its inverse, since an index is never given twice. What adds, or takes edges away,
// costs what it changes; other changes 2 ms for 10,000 members.
func Invert(before Flow, c Change) (back Change) {
	skips := len(c.Disconnect) > 0 && len(before.Skipped) > 0 // other edges may be left out when some go
	if c.Story == nil && !skips && len(c.Remove)+len(c.Restore)+len(c.Link)+len(c.Unlink) == 0 {
		return invertAddition(before, c)
	}
	after := before.Apply(c)
	back = after.Rewriting(before)
	for i, h := range back.Heads {
		if _, held := position(before.Members, h.Index); !held {
			back.Heads[i].Index = 0
		}
	}
	back.Link = slices.DeleteFunc(back.Link, func(l Link) bool {
		_, held := position(before.Members, l.From)
		return l.From != 0 && !held
	})
	back.Remove = membersNotIn(after.Members, before.Members)
	back.Restore = membersNotIn(before.Members, after.Members)
	if !shared(before.Edges, after.Edges) {
		back.Disconnect, back.Connect = after.edgesTo(before, indexesOf(back.Remove))
	}
	// Where a member gave its index to another one, the place goes with that one when it is taken out again.
	if after.Current != before.Current || indexesOf(back.Remove)[after.Current] {
		back.Current = &before.Current
	}
	return back
}

// invertAddition is Invert for a change that takes nothing away but edges.
func invertAddition(before Flow, c Change) (back Change) {
	if c.Name != nil && *c.Name != before.Name {
		back.Name = &before.Name
	}
	if c.Description != nil && *c.Description != before.Description {
		back.Description = &before.Description
	}
	back.Remove = slices.Clone(c.Add)
	back.Disconnect, back.Connect = invertEdges(before, c)
	written := map[string]bool{}
	for _, h := range slices.Backward(c.Heads) { // of two with one name the last one counts
		index := before.headAt(h.Name)
		if _, held := position(before.Members, index); !held {
			index = 0
		}
		if was := (Head{Name: h.Name, Index: index}); was != h && !written[h.Name] {
			back.Heads = append(back.Heads, was)
		}
		written[h.Name] = true
	}
	if c.Current != nil && *c.Current != before.Current {
		back.Current = &before.Current
	}
	return back
}

// invertEdges gives the edges that end, and those that begin, when invertAddition's change is taken back.
func invertEdges(before Flow, c Change) (ending, beginning []Edge) {
	brought, made, ended := indexesOf(c.Add), withEdges(nil, c.Connect), withEdges(nil, c.Disconnect)
	for _, e := range made {
		old, there := before.Edge(e.From, e.To)
		stayed := there && !containsEdge(ended, e)
		switch {
		case brought[e.From] || brought[e.To] || containsEdge(before.Skipped, e):
		case !there:
			ending = append(ending, e)
		case e.Name != old.Name && (e.Name != "" || !stayed):
			ending = append(ending, e)
			beginning = append(beginning, old)
		}
	}
	for _, e := range ended {
		if old, there := before.Edge(e.From, e.To); there && !containsEdge(made, e) {
			beginning = append(beginning, old)
		}
	}
	return ending, beginning
}

// headAt gives the index of a head; 0 where there is none.
func (f Flow) headAt(name string) int {
	if at, held := slices.BinarySearchFunc(f.Heads, Head{Name: name}, compareHeads); held {
		return f.Heads[at].Index
	}
	return 0
}

// shared says whether two slices are one, as Apply leaves what a change does not concern.
func shared[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// membersNotIn gives the members that others do not hold at their index.
func membersNotIn(members, others []Member) (list []Member) {
	if shared(members, others) {
		return nil
	}
	for _, m := range members {
		if at, held := position(others, m.Index); !held || others[at] != m {
			list = append(list, m)
		}
	}
	return list
}

// edgesTo gives what makes of the flow's edges those of another one, but for those of members that go. An edge gets another name
// by ending and beginning again.
func (f Flow) edgesTo(to Flow, gone map[int]bool) (ending, beginning []Edge) {
	for _, e := range f.Edges {
		other, stays := to.Edge(e.From, e.To)
		if leaves := !stays || other.Name != e.Name && !containsEdge(to.Skipped, e); leaves && !gone[e.From] && !gone[e.To] {
			ending = append(ending, e)
		}
	}
	for _, e := range to.Edges {
		if other, held := f.Edge(e.From, e.To); (!held || other.Name != e.Name) && !containsEdge(to.Skipped, e) {
			beginning = append(beginning, e)
		}
	}
	return ending, beginning
}

// UndoError says that what a change left does not stand any more, so that taking it back would take something else with it.
type UndoError struct {
	Flow uuid.UUID
	// Moved are all keys with another value, in the order of the change.
	Moved []Moved
}

// Moved is a key with another value than a change left it with, in words for people.
type Moved struct{ Key, Left, Now string }

func (e *UndoError) Error() string {
	var told []string
	for _, m := range e.Moved[:min(len(e.Moved), most)] {
		told = append(told, fmt.Sprintf("%s was left %s and is %s now", m.Key, m.Left, m.Now))
	}
	if more := len(e.Moved) - most; more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s was edited since, which cannot be kept: %s", Name(e.Flow), strings.Join(told, "; "))
}

// Stands says whether what a change left of a flow still stands: each key that it wrote has that value now, and a member that it
// brought has no other edges, heads and links than those that it gave. The reader's place does not count: reading on is
// no edit. *UndoError.
func Stands(now Flow, c Change) error {
	s := standing{now: now, change: c}
	s.words()
	s.members()
	s.edges()
	s.branches()
	if len(s.moved) == 0 {
		return nil
	}
	return &UndoError{Flow: now.ID, Moved: s.moved}
}

// standing compares a flow with what a change left.
type standing struct {
	now    Flow
	change Change
	moved  []Moved
}

func (s *standing) differs(differs bool, key, left, now string) {
	if differs {
		s.moved = append(s.moved, Moved{key, left, now})
	}
}

// none is what is not there.
const none = "absent"

func (s *standing) words() {
	c, now := s.change, s.now
	if c.Name != nil {
		s.differs(*c.Name != now.Name, "the name", quoted(*c.Name), quoted(now.Name))
	}
	if c.Description != nil {
		s.differs(*c.Description != now.Description, "the description", quoted(*c.Description), quoted(now.Description))
	}
	if c.Story != nil {
		s.differs(!c.Story.Same(now.Story), "the story", "as that change wrote it", "another one")
	}
}

func quoted(text string) string { return fmt.Sprintf("%.60q", text) }

func (s *standing) members() {
	brought := slices.Concat(s.change.Restore, s.change.Add)
	find := s.now.Finder(len(s.change.Remove))
	for _, m := range s.change.Remove {
		if at, held := find(m.Node); !slices.ContainsFunc(brought, func(b Member) bool { return b.Node == m.Node }) {
			s.differs(held, node.Name(m.Node), none, place(at))
		}
	}
	for _, m := range brought {
		is := none
		other, held := s.now.NodeAt(m.Index)
		if held {
			is = node.Name(other)
		}
		s.differs(other != m.Node, indexKey(m.Index), node.Name(m.Node), is)
	}
}

func (s *standing) edges() {
	c := s.change
	ended, made := slices.Clone(c.Disconnect), slices.Clone(c.Connect)
	slices.SortFunc(ended, compareEdges)
	slices.SortStableFunc(made, compareEdges)
	made = slices.CompactFunc(made, sameEnds) // of two edges with one place the first counts
	for _, e := range ended {
		if held, there := s.now.Edge(e.From, e.To); !containsEdge(made, e) {
			s.differs(there, edgeKey(e), none, named(held))
		}
	}
	for _, e := range made {
		held, there := s.now.Edge(e.From, e.To)
		is := none
		if there {
			is = named(held)
		}
		wroteName := e.Name != "" || containsEdge(ended, e)
		s.differs(!there || wroteName && held.Name != e.Name, edgeKey(e), named(e), is)
	}
	brought := indexesOf(slices.Concat(c.Restore, c.Add))
	for _, e := range s.now.Edges {
		s.differs((brought[e.From] || brought[e.To]) && !containsEdge(made, e), edgeKey(e), none, named(e))
	}
}

func indexKey(index int) string { return fmt.Sprintf("index %d", index) }

func edgeKey(e Edge) string { return fmt.Sprintf("the edge from %d to %d", e.From, e.To) }

func named(e Edge) string {
	if e.Name == "" {
		return "there"
	}
	return "named " + quoted(e.Name)
}

func (s *standing) branches() {
	c := s.change
	written := map[string]bool{}
	for _, h := range slices.Backward(c.Heads) { // of two with one name the last one counts
		if !written[h.Name] {
			is := s.now.headAt(h.Name)
			s.differs(is != h.Index, headKey(h.Name), place(h.Index), place(is))
		}
		written[h.Name] = true
	}
	for _, l := range c.Unlink {
		s.differs(slices.Contains(s.now.Links, l) && !slices.Contains(c.Link, l), linkKey(l), none, "there")
	}
	for _, l := range c.Link {
		s.differs(!slices.Contains(s.now.Links, l), linkKey(l), "there", none)
	}
	brought := indexesOf(slices.Concat(c.Restore, c.Add))
	for _, h := range s.now.Heads {
		s.differs(brought[h.Index] && !written[h.Name], headKey(h.Name), "elsewhere", place(h.Index))
	}
	for _, l := range s.now.Links {
		s.differs(brought[l.From] && !slices.Contains(c.Link, l), linkKey(l), none, "there")
	}
}

func headKey(name string) string { return "the head " + quoted(name) }

func linkKey(l Link) string { return fmt.Sprintf("the link from %d to %s", l.From, Name(l.Flow)) }

func place(index int) string {
	if index == 0 {
		return none
	}
	return fmt.Sprintf("at index %d", index)
}
