package flow

// HeadsDiff tells where the ways to two members part.
type HeadsDiff struct {
	// Common are the last members that lie on both ways: those from which no other such member goes on. One in a tree, none
	// where the ways begin at different roots, several where branches were merged twice. In the order of Path.
	Common []Member
	// Only and OtherOnly lie on one of the ways alone, in the order of Path.
	Only, OtherOnly []Member
}

// DiffHeads tells apart the ways to two members, by index; nothing where there is no such member.
func (f Flow) DiffHeads(index, other int) HeadsDiff {
	at, ok := position(f.Members, index)
	otherAt, otherOK := position(f.Members, other)
	if !ok || !otherOK {
		return HeadsDiff{}
	}
	g := f.walkable()
	before, otherBefore := g.ancestors(int32(at)), g.ancestors(int32(otherAt))
	both := make([]bool, len(f.Members))
	for i := range both {
		both[i] = before[i] && otherBefore[i]
	}
	return HeadsDiff{
		Common:    g.membersOf(g.order(both), func(at int32) bool { return !g.leadsInto(at, both) }),
		Only:      g.membersOf(g.order(before), func(at int32) bool { return !both[at] }),
		OtherOnly: g.membersOf(g.order(otherBefore), func(at int32) bool { return !both[at] }),
	}
}

// leadsInto says whether a member is continued by one of those marked.
func (g graph) leadsInto(at int32, marked []bool) bool {
	for _, child := range g.out.of(at) {
		if marked[child] {
			return true
		}
	}
	return false
}

// membersOf gives the members of steps that are wanted.
func (g graph) membersOf(steps []Step, wanted func(at int32) bool) []Member {
	var members []Member
	for _, s := range steps {
		if at, _ := position(g.members, s.Index); wanted(int32(at)) {
			members = append(members, s.Member)
		}
	}
	return members
}
