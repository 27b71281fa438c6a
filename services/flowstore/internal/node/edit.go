package node

import (
	"cmp"
	"slices"
	"time"
)

// Editable are the parts of a node that an update may name, by their names in the contract.
func Editable() []string {
	names := make([]string, len(editable))
	for i, e := range editable {
		names[i] = e.name
	}
	return names
}

var editable = []struct {
	name string
	edit func(to *Node, from Node)
}{
	{"texts", func(to *Node, from Node) { to.Texts = from.Texts }},
	{"model", func(to *Node, from Node) { to.Model = from.Model }},
	{"tags", func(to *Node, from Node) { to.Tags = from.Tags }},
	{"generation", func(to *Node, from Node) { to.Generation = from.Generation }},
	{"summary", func(to *Node, from Node) { to.Summary.Text = from.Summary.Text }},
	{"score", func(to *Node, from Node) { to.Score = from.Score }},
	{"note", func(to *Node, from Node) { to.Note = from.Note }},
}

// Edited gives the node with the named parts of another one, as Rounded keeps them. Names that Editable does not give change nothing.
//
// A summary is fresh while the texts say what it was made from (field/flowstore.md row 24, cases/flowstore.md 35): other texts
// make it stale, and one that is new, made at a time, is fresh if source is the Source of the texts as they become. An empty source
// is that of these texts. No summary is always stale, and was never made.
func (n Node) Edited(from Node, names []string, source string, at time.Time) Node {
	before := n
	for _, e := range editable {
		if slices.Contains(names, e.name) {
			e.edit(&n, from)
		}
	}
	n = n.Rounded()
	now := n.Source()
	if !slices.Contains(names, "summary") {
		n.Summary.Stale = n.Summary.Stale || now != before.Source()
		return n
	}
	n.Summary = Summary{Text: n.Summary.Text, Stale: source != "" && source != now, Built: at, Source: cmp.Or(source, now)}
	switch was := before.Summary; {
	case n.Summary.Text == "":
		n.Summary = Summary{Stale: true}
	case n.Summary.Text == was.Text && n.Summary.Stale == was.Stale:
		n.Summary.Built = was.Built
	}
	return n
}
