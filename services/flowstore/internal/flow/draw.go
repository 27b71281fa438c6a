package flow

import (
	"strconv"
	"strings"
)

// maxIndent is how far a line of a drawing is set in at most, in branches: a flow may branch at each of its nodes.
const maxIndent = 20

// Draw writes a flow in lines, by index and in the order of History, so that a person sees its branches (field/flowstore.md
// row 29). A line is a run of members that continue each other:
//
//	1→2<       2 has several children
//	  2<3>5    3 is one of them; 5, where branches merge, continues it
//	  2<4>5
//	>5→6       5 continues all that end with >5
//	×6→2       an edge of the file that paths leave out, such as one that closes a cycle
//
// Each edge stands there once; one from a member with several children straight to where branches merge is `2<>5`.
func (f Flow) Draw() []string {
	d := drawing{graph: f.walkable()}
	d.depth = make([]int, len(d.members))
	for _, step := range f.History() {
		at, _ := position(d.members, step.Index)
		d.put(int32(at))
	}
	d.end()
	for _, e := range f.Skipped {
		d.lines = append(d.lines, "×"+strconv.Itoa(e.From)+"→"+strconv.Itoa(e.To))
	}
	return d.lines
}

// drawing is a flow that is being drawn.
type drawing struct {
	graph
	lines []string
	// depth is how many branches each member that was drawn lies in.
	depth []int
	// line is the one that is being written, last the member at its end.
	line strings.Builder
	last int32
}

// put draws the next member of the history.
func (d *drawing) put(at int32) {
	if parents := d.in.of(at); len(parents) == 1 && len(d.out.of(parents[0])) == 1 {
		d.depth[at] = d.depth[parents[0]]
		d.line.WriteString("→" + d.name(at)) // the history has it just behind its parent
	} else {
		d.end()
		d.begin(at, parents)
	}
	d.last = at
}

// begin begins a line with a member: a root, one of several children, or one with several parents.
func (d *drawing) begin(at int32, parents []int32) {
	before := ""
	switch len(parents) {
	case 0:
	case 1:
		d.depth[at] = d.depth[parents[0]] + 1
		before = d.name(parents[0]) + "<"
	default:
		before = ">"
		d.depth[at] = d.mergeDepth(parents)
	}
	d.line.WriteString(indent(d.depth[at]) + before + d.name(at))
}

// mergeDepth is one less than that of the outermost of the branches that merge.
func (d *drawing) mergeDepth(parents []int32) int {
	least := -1
	for _, p := range parents {
		depth := d.depth[p]
		if len(d.out.of(p)) > 1 {
			depth++
		}
		if least < 0 || depth < least {
			least = depth
		}
	}
	return max(least-1, 0)
}

// end ends the line, if there is one, with what becomes of its last member.
func (d *drawing) end() {
	if d.line.Len() == 0 {
		return
	}
	children := d.out.of(d.last)
	switch len(children) {
	case 0:
	case 1:
		d.line.WriteString(">" + d.name(children[0]))
	default:
		d.line.WriteString("<")
	}
	d.lines = append(d.lines, d.line.String())
	d.line.Reset()
	if len(children) < 2 {
		return
	}
	for _, child := range children {
		if len(d.in.of(child)) > 1 {
			d.lines = append(d.lines, indent(d.depth[d.last]+1)+d.name(d.last)+"<>"+d.name(child))
		}
	}
}

func (d *drawing) name(at int32) string { return strconv.Itoa(d.members[at].Index) }

func indent(depth int) string { return strings.Repeat("  ", min(depth, maxIndent)) }
