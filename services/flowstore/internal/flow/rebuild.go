package flow

import "github.com/google/uuid"

// MaxLine is the most nodes of one Rebuilding.
const MaxLine = 10_000

// Rebuilding gives the change, without its time, after which different nodes make a line in their order: those that are missing become
// members, and of the edges between the nodes only those of the line are left, with their names. All else stays; whether the line
// closes a cycle through other members is for Check to say.
func (f Flow) Rebuilding(line []uuid.UUID) (c Change) {
	find, next := f.Finder(len(line)), f.next()
	follows := make(map[int]int, len(line))
	last := 0
	for _, node := range line {
		index, held := find(node)
		if !held {
			index = next + len(c.Add)
			c.Add = append(c.Add, Member{Index: index, Node: node})
		}
		if last != 0 {
			follows[last] = index
			if e := (Edge{From: last, To: index}); !containsEdge(f.Edges, e) {
				c.Connect = append(c.Connect, e)
			}
		}
		last = index
	}
	follows[last] = 0
	for _, e := range f.Edges {
		to, listed := follows[e.From]
		if _, also := follows[e.To]; listed && also && to != e.To {
			c.Disconnect = append(c.Disconnect, e)
		}
	}
	return c
}
