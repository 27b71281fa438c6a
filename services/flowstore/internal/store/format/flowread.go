package format

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// Reader reads files as a namespace's config.yaml has it. Its zero value is that of a config.yaml without settings.
type Reader struct {
	// Timezone is that of times without a zone; nil is UTC. A node or flow with such a time has a warning that names it.
	Timezone *time.Location
}

// DecodeFlow is that of the zero Reader.
func DecodeFlow(data []byte) (flow.Flow, error) { return Reader{}.DecodeFlow(data) }

// DecodeFlow reads a flow file, also one that a person edited. What it cannot read it leaves out and tells in Problems;
// without a mapping and an id there is no flow, and the error is an *Error. Unknown keys are passed over.
func (d Reader) DecodeFlow(data []byte) (flow.Flow, error) {
	text, err := body(data)
	if err != nil {
		return flow.Flow{}, err
	}
	if f, ok := d.decodeCanonical(text); ok {
		return f, nil
	}
	return d.decodeEdited(text)
}

// decodeEdited reads a file of any form.
func (d Reader) decodeEdited(text []byte) (flow.Flow, error) {
	r, err := readFlow(text)
	if err != nil {
		return flow.Flow{}, err
	}
	r.zone = d.Timezone
	f := r.head()
	f.Members = r.members(r.keys["nodes"])
	r.resolve(f.Members)
	f.Edges = r.edges(r.keys["connections"])
	r.places(&f)
	return flow.Examine(f), r.err
}

// decodeCanonical reads the long lists without a YAML parser. ok is false where that cannot be done.
func (d Reader) decodeCanonical(text []byte) (f flow.Flow, ok bool) {
	head, members, edges, ok := lists(text)
	if !ok {
		return f, false
	}
	r, err := readFlow(head)
	if err != nil || r.keys["nodes"] != nil || r.keys["connections"] != nil {
		return f, false
	}
	r.zone = d.Timezone
	f = r.head()
	f.Members, f.Edges = members, edges
	r.resolve(members)
	r.places(&f)
	return flow.Examine(f), r.err == nil
}

// flowReader takes values out of a parsed flow file and notes what is wrong.
type flowReader struct {
	// zone is that of times without one; nil is UTC.
	zone     *time.Location
	keys     map[string]*yamlx.Node
	nodes    map[uuid.UUID]int
	problems []string
	err      error
}

func readFlow(text []byte) (*flowReader, error) {
	root, err := yamlx.Parse(text)
	if err != nil {
		var problems *yamlx.Error
		if errors.As(err, &problems) && len(problems.Problems) == 1 {
			return nil, unreadable("%s", problems.Problems[0])
		}
		return nil, unreadable("%s", err)
	}
	if root.Kind != yamlx.Mapping {
		return nil, unreadable("is no mapping of keys to values")
	}
	r := &flowReader{}
	r.keys = r.mapping("", root)
	return r, nil
}

func (r *flowReader) problem(n *yamlx.Node, place, format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf("%s: line %d: ", place, n.Line)+fmt.Sprintf(format, args...))
}

// mapping gives the values of a mapping by key; of two with one key the first.
func (r *flowReader) mapping(place string, n *yamlx.Node) map[string]*yamlx.Node {
	keys := make(map[string]*yamlx.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if keys[key] != nil {
			r.problem(n.Content[i], strings.TrimPrefix(place+"."+key, "."), "stands there twice; the first counts")
			continue
		}
		keys[key] = n.Content[i+1]
	}
	return keys
}

// head reads everything but the long lists and what refers to them.
func (r *flowReader) head() flow.Flow {
	f := flow.Flow{
		Name:        r.text("name", r.keys["name"]),
		Description: r.text("description", r.keys["description"]),
		Created:     r.time("created"),
		Updated:     r.time("updated"),
		Story:       r.story(r.keys["story"]),
	}
	id, err := parseID(r.text("id", r.keys["id"]))
	if err != nil {
		r.err = unreadable("id: %s", err)
	}
	f.ID = id
	return f
}

func (r *flowReader) text(place string, n *yamlx.Node) string {
	if text := r.given(place, n); text != nil {
		return *text
	}
	return ""
}

// given reads a text; nil where there is none.
func (r *flowReader) given(place string, n *yamlx.Node) *string {
	switch {
	case n == nil || isNull(n):
		return nil
	case n.Kind != yamlx.Scalar:
		r.problem(n, place, "must be a text; it is left out")
		return nil
	}
	return &n.Value
}

func isNull(n *yamlx.Node) bool { return n.Kind == yamlx.Scalar && n.Tag == "!!null" }

func (r *flowReader) time(key string) time.Time {
	n := r.keys[key]
	text := r.text(key, n)
	if text == "" {
		return time.Time{}
	}
	zone := cmp.Or(r.zone, time.UTC)
	t, err := parseTimeIn(text, zone)
	switch {
	case err != nil:
		r.problem(n, key, "%s; it is left out", err)
	case !hasZone(text):
		r.problem(n, key, "has no zone, such as Z or +09:00; it is taken for %s", cmp.Or(zone.String(), t.Format("-07:00")))
	}
	return t
}

func (r *flowReader) story(n *yamlx.Node) flow.Story {
	if n == nil || isNull(n) {
		return flow.Story{}
	}
	if n.Kind != yamlx.Mapping {
		r.problem(n, "story", "must be a mapping of keys to values; it is left out")
		return flow.Story{}
	}
	keys := r.mapping("story", n)
	text := func(key string) *string { return r.given("story."+key, keys[key]) }
	return flow.Story{
		Title:         text("title"),
		Keywords:      r.list("story.keywords", keys["keywords"]),
		Genres:        r.list("story.genres", keys["genres"]),
		Synopsis:      text("synopsis"),
		Setting:       text("setting"),
		Plot:          text("plot"),
		Note:          text("note"),
		DialogueLevel: text("dialogue_level"),
		Rating:        text("rating"),
	}
}

// list reads a list of texts; one text with commas, of any of the three kinds, is one, too (field/flowstore.md row 27).
func (r *flowReader) list(place string, n *yamlx.Node) []string {
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind == yamlx.Scalar {
		return listed(n.Value)
	}
	var items []string
	for _, item := range r.sequence(place, n) {
		if text := r.given(place, item); text != nil {
			items = append(items, *text)
		}
	}
	return items
}

func (r *flowReader) sequence(place string, n *yamlx.Node) []*yamlx.Node {
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yamlx.Sequence {
		r.problem(n, place, "must be a list; it is left out")
		return nil
	}
	return n.Content
}

// entries reads the mappings of a list.
func (r *flowReader) entries(place string, n *yamlx.Node, read func(entry *yamlx.Node, keys map[string]*yamlx.Node)) {
	for _, entry := range r.sequence(place, n) {
		if entry.Kind != yamlx.Mapping {
			r.problem(entry, place, "must be an entry of keys and values; it is left out")
			continue
		}
		read(entry, r.mapping(place, entry))
	}
}

func (r *flowReader) members(n *yamlx.Node) (members []flow.Member) {
	r.entries("nodes", n, func(entry *yamlx.Node, keys map[string]*yamlx.Node) {
		index, indexErr := strconv.Atoi(r.text("nodes.index", keys["index"]))
		id, idErr := parseID(r.text("nodes.id", keys["id"]))
		if indexErr != nil || idErr != nil {
			r.problem(entry, "nodes", "needs an index, a whole number, and an id, a UUID; it is left out")
			return
		}
		members = append(members, flow.Member{Index: index, Node: id})
	})
	return members
}

// resolve notes which node has which index: edges and current may name either (field/flowstore.md row 21).
func (r *flowReader) resolve(members []flow.Member) {
	r.nodes = make(map[uuid.UUID]int, len(members))
	for _, m := range members {
		if _, twice := r.nodes[m.Node]; !twice {
			r.nodes[m.Node] = m.Index
		}
	}
}

func (r *flowReader) edges(n *yamlx.Node) (edges []flow.Edge) {
	r.entries("connections", n, func(entry *yamlx.Node, keys map[string]*yamlx.Node) {
		from, fromOK := r.reference("connections.from", keys["from"])
		to, toOK := r.reference("connections.to", keys["to"])
		if !fromOK || !toOK {
			r.problem(entry, "connections", "needs from and to, indexes or ids of nodes of this flow; it is left out")
			return
		}
		edges = append(edges, flow.Edge{From: from, To: to, Name: r.text("connections.name", keys["name"])})
	})
	return edges
}

// places reads what refers to members, which are known now, and ends the reading.
func (r *flowReader) places(f *flow.Flow) {
	f.Current, f.Next = r.current(), r.next()
	f.Heads, f.Links = r.heads(r.keys["heads"]), r.links(r.keys["links"])
	f.Problems = r.problems
}

func (r *flowReader) current() int {
	n := r.keys["current"]
	if n == nil || isNull(n) {
		return 0
	}
	index, ok := r.reference("current", n)
	if !ok {
		r.problem(n, "current", "must be the index or the id of a node of this flow; it is left out")
	}
	return index
}

// next reads the index for the next member, where it is more than the members tell: the last one may have been removed.
func (r *flowReader) next() int {
	n := r.keys["next"]
	if n == nil || isNull(n) {
		return 0
	}
	index, err := strconv.Atoi(r.text("next", n))
	if err != nil || index < 1 || index > flow.MaxIndex+1 {
		r.problem(n, "next", "must be a whole number from 1 to %d; it is left out", flow.MaxIndex+1)
		return 0
	}
	return index
}

// reference reads an index, or the id of a member.
func (r *flowReader) reference(place string, n *yamlx.Node) (index int, ok bool) {
	text := r.text(place, n)
	if index, err := strconv.Atoi(text); err == nil {
		return index, index >= 0 && index <= flow.MaxIndex
	}
	id, err := parseID(text)
	if err != nil {
		return 0, false
	}
	index, ok = r.nodes[id]
	return index, ok
}
