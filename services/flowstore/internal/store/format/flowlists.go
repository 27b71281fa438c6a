package format

import (
	"strconv"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// editMembers brings the list of nodes from one state of a flow to another. Entries that stay are not touched, whatever else
// a person wrote into them. ok is false where nodes are no list.
func editMembers(root *yamlx.Node, before, after flow.Flow) (ok bool) {
	list, ok := listOf(root, "nodes")
	if !ok {
		return false
	}
	kept, held := setOf(after.Members), setOf(before.Members)
	dropEntries(root, "nodes", func(entry *yamlx.Node) bool {
		index, _ := strconv.Atoi(valueOf(entry, "index"))
		id, _ := parseID(valueOf(entry, "id"))
		m := flow.Member{Index: index, Node: id}
		return held[m] && !kept[m]
	})
	for _, m := range after.Members {
		if !held[m] {
			list.Content = append(list.Content, entry("index", integer(m.Index), "id", scalar("!!str", m.Node.String())))
		}
	}
	return true
}

// editEdges does the same for the connections, whose ends may be written as indexes or ids.
func editEdges(root *yamlx.Node, before, after flow.Flow) (ok bool) {
	list, ok := listOf(root, "connections")
	if !ok {
		return false
	}
	r := &flowReader{}
	r.resolve(before.Members)
	held, names := namesOf(before.Edges), namesOf(after.Edges)
	dropEntries(root, "connections", func(entry *yamlx.Node) bool {
		from, fromOK := r.reference("", yamlx.Get(entry, "from"))
		to, toOK := r.reference("", yamlx.Get(entry, "to"))
		ends := [2]int{from, to}
		before, was := held[ends]
		name, stays := names[ends]
		if !fromOK || !toOK || !was {
			return false
		}
		if stays && name != before {
			setName(entry, name)
		}
		return !stays
	})
	for _, e := range after.Edges {
		if _, was := held[[2]int{e.From, e.To}]; was {
			continue
		}
		added := entry("from", integer(e.From), "to", integer(e.To))
		if e.Name != "" {
			setName(added, e.Name)
		}
		list.Content = append(list.Content, added)
	}
	return true
}

func setOf(members []flow.Member) map[flow.Member]bool {
	set := make(map[flow.Member]bool, len(members))
	for _, m := range members {
		set[m] = true
	}
	return set
}

// namesOf gives the name of each edge by its ends.
func namesOf(edges []flow.Edge) map[[2]int]string {
	names := make(map[[2]int]string, len(edges))
	for _, e := range edges {
		names[[2]int{e.From, e.To}] = e.Name
	}
	return names
}

func setName(entry *yamlx.Node, name string) {
	if n := yamlx.Get(entry, "name"); n != nil {
		n.Kind, n.Tag, n.Value, n.Style, n.Content = yamlx.Scalar, "!!str", name, yamlx.DoubleQuoted, nil
		return
	}
	entry.Content = append(entry.Content, scalar("!!str", "name"), quoted(name))
}

// dropEntries takes entries out of a list. Comments on lines of their own stay, at the next entry: they may speak of more
// than what goes.
func dropEntries(root *yamlx.Node, key string, gone func(entry *yamlx.Node) bool) {
	list := yamlx.Get(root, key)
	var kept []*yamlx.Node
	left := ""
	for _, entry := range list.Content {
		if gone(entry) {
			left = lines(left, ownLines(entry))
			continue
		}
		entry.HeadComment = lines(left, entry.HeadComment)
		left = ""
		kept = append(kept, entry)
	}
	switch list.Content = kept; {
	case left == "":
	case len(kept) > 0:
		last := kept[len(kept)-1]
		last.FootComment = lines(last.FootComment, left)
	default:
		name := root.Content[keyAt(root, key)]
		name.HeadComment = lines(name.HeadComment, left)
	}
}

// ownLines gives the comments of an entry that stand on lines of their own.
func ownLines(n *yamlx.Node) string {
	all := n.HeadComment
	for _, c := range n.Content {
		all = lines(all, ownLines(c))
	}
	return lines(all, n.FootComment)
}

func valueOf(mapping *yamlx.Node, key string) string {
	if n := yamlx.Get(mapping, key); n != nil {
		return n.Value
	}
	return ""
}

// listOf gives the list of a key, made where there is none.
func listOf(root *yamlx.Node, key string) (list *yamlx.Node, ok bool) {
	n := yamlx.Get(root, key)
	switch {
	case n == nil:
		n = &yamlx.Node{Kind: yamlx.Sequence, Tag: "!!seq"}
		root.Content = append(root.Content, scalar("!!str", key), n)
	case isNull(n):
		n.Kind, n.Tag, n.Value = yamlx.Sequence, "!!seq", ""
	}
	if len(n.Content) == 0 {
		n.Style = 0
	}
	return n, n.Kind == yamlx.Sequence
}

func entry(key1 string, value1 *yamlx.Node, key2 string, value2 *yamlx.Node) *yamlx.Node {
	return &yamlx.Node{Kind: yamlx.Mapping, Tag: "!!map", Content: []*yamlx.Node{scalar("!!str", key1), value1, scalar("!!str", key2), value2}}
}

func scalar(tag, value string) *yamlx.Node {
	return &yamlx.Node{Kind: yamlx.Scalar, Tag: tag, Value: value}
}

func quoted(text string) *yamlx.Node {
	n := scalar("!!str", text)
	n.Style = yamlx.DoubleQuoted
	return n
}

func integer(n int) *yamlx.Node { return scalar("!!int", strconv.Itoa(n)) }
