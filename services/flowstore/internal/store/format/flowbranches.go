package format

import (
	"maps"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// heads reads the named branches, by name (field/flowstore.md row 26).
func (r *flowReader) heads(n *yamlx.Node) (heads []flow.Head) {
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yamlx.Mapping {
		r.problem(n, "heads", "must be a mapping of names to indexes or ids of nodes; it is left out")
		return nil
	}
	places := r.mapping("heads", n)
	for _, name := range slices.Sorted(maps.Keys(places)) {
		index, ok := r.reference("heads", places[name])
		switch {
		case name == "":
			r.problem(places[name], "heads", "a name is empty; it is left out")
		case !ok || index == 0:
			r.problem(places[name], flow.HeadPlace(name), "must be the index or the id of a node of this flow; it is left out")
		default:
			heads = append(heads, flow.Head{Name: name, Index: index})
		}
	}
	return heads
}

// links reads the links to other flows.
func (r *flowReader) links(n *yamlx.Node) (links []flow.Link) {
	r.entries("links", n, func(entry *yamlx.Node, keys map[string]*yamlx.Node) {
		if l, ok := r.link(keys["flow"], keys["from"]); ok {
			links = append(links, l)
		} else {
			r.problem(entry, "links", "needs flow, a UUID, and where it begins at a node, from, its index or id; it is left out")
		}
	})
	return links
}

func (r *flowReader) link(to, from *yamlx.Node) (l flow.Link, ok bool) {
	id, err := parseID(r.text("links.flow", to))
	if from != nil && !isNull(from) {
		if l.From, ok = r.reference("links.from", from); !ok {
			return l, false
		}
	}
	l.Flow = id
	return l, err == nil
}

// editHeads brings the heads from one state of a flow to another. Those that stay are not touched. ok is false where heads are
// no mapping.
func editHeads(root *yamlx.Node, before, after flow.Flow) (ok bool) {
	if slices.Equal(before.Heads, after.Heads) {
		return true
	}
	heads := yamlx.Get(root, "heads")
	if heads == nil || isNull(heads) {
		removeKey(root, "heads")
		heads = &yamlx.Node{Kind: yamlx.Mapping, Tag: "!!map"}
		insert(root, "heads", heads)
	}
	if heads.Kind != yamlx.Mapping {
		return false
	}
	old, now := headsOf(before.Heads), headsOf(after.Heads)
	for _, h := range before.Heads {
		for now[h.Name] == 0 && yamlx.Get(heads, h.Name) != nil { // a name may stand there twice
			removeKey(heads, h.Name)
		}
	}
	for _, h := range after.Heads {
		if old[h.Name] != h.Index {
			setHead(heads, h)
		}
	}
	if len(heads.Content) == 0 {
		removeKey(root, "heads")
	}
	return true
}

func setHead(heads *yamlx.Node, h flow.Head) {
	if n := yamlx.Get(heads, h.Name); n != nil {
		*n = yamlx.Node{
			Kind: yamlx.Scalar, Tag: "!!int", Value: integer(h.Index).Value,
			HeadComment: n.HeadComment, LineComment: n.LineComment, FootComment: n.FootComment,
		}
		return
	}
	heads.Content = append(heads.Content, quoted(h.Name), integer(h.Index))
}

func headsOf(heads []flow.Head) map[string]int {
	places := make(map[string]int, len(heads))
	for _, h := range heads {
		places[h.Name] = h.Index
	}
	return places
}

// editLinks does the same for the links.
func editLinks(root *yamlx.Node, before, after flow.Flow) (ok bool) {
	if slices.Equal(before.Links, after.Links) {
		return true
	}
	if yamlx.Get(root, "links") == nil {
		insert(root, "links", &yamlx.Node{Kind: yamlx.Sequence, Tag: "!!seq"})
	}
	list, ok := listOf(root, "links")
	if !ok {
		return false
	}
	r := &flowReader{}
	r.resolve(before.Members)
	dropEntries(root, "links", func(entry *yamlx.Node) bool {
		l, ok := r.link(yamlx.Get(entry, "flow"), yamlx.Get(entry, "from"))
		return ok && slices.Contains(before.Links, l) && !slices.Contains(after.Links, l)
	})
	for _, l := range after.Links {
		if slices.Contains(before.Links, l) {
			continue
		}
		added := &yamlx.Node{Kind: yamlx.Mapping, Tag: "!!map", Content: []*yamlx.Node{scalar("!!str", "flow"), scalar("!!str", l.Flow.String())}}
		if l.From != 0 {
			added = entry("flow", scalar("!!str", l.Flow.String()), "from", integer(l.From))
		}
		list.Content = append(list.Content, added)
	}
	if len(list.Content) == 0 {
		removeKey(root, "links")
	}
	return true
}
