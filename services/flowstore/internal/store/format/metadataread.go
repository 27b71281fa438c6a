package format

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// NodeIndex is what was read from metadata/index.yaml.
type NodeIndex struct {
	// Updated is when the namespace had last changed; zero where the file does not say.
	Updated time.Time
	Nodes   []NodeEntry
	// Problems say what was left out, with the line of each: of a node that stands there twice the first counts. Of more than
	// maxProblems the last says how many. A file with problems is better made anew.
	Problems []string
}

// TagIndex is what was read from metadata/tags.yaml; as NodeIndex.
type TagIndex struct {
	Updated  time.Time
	Tags     []TagEntry
	Problems []string
}

// maxProblems bounds what is told of one file.
const maxProblems = 100

// DecodeNodeIndex reads metadata/index.yaml, in the order of the file. What EncodeNodeIndex wrote is read line by line, in
// a time that grows with the file (cases/perf.md 10). Anything else goes through a YAML parser, up to yamlx.MaxBytes. The
// error is an *Error; the file can be made from the nodes, so it is a reason to make it anew and never one not to start.
func DecodeNodeIndex(data []byte) (NodeIndex, error) {
	if len(data) > MaxMetadata {
		return NodeIndex{}, unreadable("is %d bytes long; the limit is %d", len(data), MaxMetadata)
	}
	text := strings.TrimPrefix(string(data), string(byteOrderMark))
	if x, ok := nodeLines(text); ok {
		return x, nil
	}
	return editedNodeIndex([]byte(text))
}

// DecodeTags reads metadata/tags.yaml; as DecodeNodeIndex.
func DecodeTags(data []byte) (TagIndex, error) {
	if len(data) > MaxMetadata {
		return TagIndex{}, unreadable("is %d bytes long; the limit is %d", len(data), MaxMetadata)
	}
	text := strings.TrimPrefix(string(data), string(byteOrderMark))
	if x, ok := tagLines(text); ok {
		return x, nil
	}
	return editedTags([]byte(text))
}

// lineReader goes through the lines of a metadata file of our own form. After the first that is otherwise, ok is false.
type lineReader struct {
	rest string
	// line is the number of the line that rest begins in.
	line     int
	ok       bool
	problems []string
}

// has says whether the line goes on with a text, and stands behind it then.
func (r *lineReader) has(text string) bool {
	rest, found := strings.CutPrefix(r.rest, text)
	r.rest = rest
	return found
}

// value takes the rest of the line, but for what it must end with.
func (r *lineReader) value(end string) string {
	line, rest, found := strings.Cut(r.rest, "\n")
	line, ends := strings.CutSuffix(line, end)
	r.ok = r.ok && found && ends
	r.rest = rest
	r.line++
	return line
}

func (r *lineReader) quoted(end string) string {
	text, ok := unquote(r.value(end))
	r.ok = r.ok && ok
	return text
}

func (r *lineReader) time() time.Time {
	t, ok := canonicalTime(r.value(""))
	r.ok = r.ok && ok
	return t
}

func (r *lineReader) id(end string) uuid.UUID {
	id, err := parseID(r.value(end))
	r.ok = r.ok && err == nil
	return id
}

// begin reads what stands before the entries, and says whether there are any.
func (r *lineReader) begin(key string) (updated time.Time, entries bool) {
	if r.has(metaUpdated) {
		updated = r.time()
	}
	if r.has(key + ": {}\n") {
		r.ok = r.ok && r.rest == ""
		return updated, false
	}
	r.ok = r.has(key) && r.value(":") == "" && r.rest != "" && r.ok
	return updated, true
}

func (r *lineReader) problem(place string, line int) {
	r.problems = append(r.problems, fmt.Sprintf("%s: line %d: stands there twice; the first counts", place, line))
}

func nodeLines(text string) (NodeIndex, bool) {
	r := &lineReader{rest: text, line: 1, ok: true}
	var x NodeIndex
	var entries bool
	x.Updated, entries = r.begin("nodes")
	// Nearly every node has a time.
	about := strings.Count(text, "\n"+metaCreated)
	x.Nodes = make([]NodeEntry, 0, about)
	keys := newKeys(compareIDs, about)
	for entries && r.ok && r.rest != "" {
		line := r.line
		n := NodeEntry{ID: r.key()}
		if r.has(metaCreated) {
			n.Created = r.time()
		}
		if r.has(metaKeywords) {
			n.Keywords = listed(r.quoted(""))
		}
		if r.has(metaSummary) {
			n.Summary = r.quoted("")
		}
		if r.ok && !keys.first(n.ID) {
			r.problem("nodes."+n.ID.String(), line)
			continue
		}
		x.Nodes = append(x.Nodes, n)
	}
	x.Problems = first(r.problems)
	return x, r.ok
}

// key reads the id that begins an entry.
func (r *lineReader) key() uuid.UUID {
	r.ok = r.has("  ") && r.ok
	return r.id(":")
}

func tagLines(text string) (TagIndex, bool) {
	r := &lineReader{rest: text, line: 1, ok: true}
	var x TagIndex
	var entries bool
	x.Updated, entries = r.begin("tags")
	keys := newKeys(strings.Compare, 0)
	for entries && r.ok && r.rest != "" {
		line := r.line
		t := TagEntry{Tag: r.tag()}
		t.Nodes = r.items(t.Tag)
		if r.ok && !keys.first(t.Tag) {
			r.problem("tags."+cut(t.Tag), line)
			continue
		}
		x.Tags = append(x.Tags, t)
	}
	x.Problems = first(r.problems)
	return x, r.ok
}

// tag reads the line, or the two lines, before the nodes of a tag.
func (r *lineReader) tag() string {
	if r.has(metaLongKey) {
		name := r.quoted("")
		r.ok = r.has(metaLongEnd) && r.ok
		r.line++
		return name
	}
	start := r.rest
	r.ok = r.has("  ") && r.ok
	name := r.quoted(":")
	r.ok = r.ok && len(start)-len(r.rest) <= maxPlainKey+len("  :\n")
	return name
}

// items reads the nodes of a tag, at least one.
func (r *lineReader) items(tag string) (nodes []uuid.UUID) {
	keys := newKeys(compareIDs, 0)
	for r.ok && r.has(metaItem) {
		line := r.line
		id := r.id("")
		if r.ok && !keys.first(id) {
			r.problem("tags."+cut(tag)+"."+id.String(), line)
			continue
		}
		nodes = append(nodes, id)
	}
	r.ok = r.ok && len(nodes) > 0
	return nodes
}

func compareIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

// keys tells which keys stood there before. While they rise, as in every file that we wrote, the last one is enough.
type keys[K comparable] struct {
	compare func(a, b K) int
	rising  []K
	seen    map[K]bool
}

func newKeys[K comparable](compare func(a, b K) int, room int) *keys[K] {
	return &keys[K]{compare: compare, rising: make([]K, 0, room)}
}

func (k *keys[K]) first(key K) bool {
	if k.seen == nil {
		if n := len(k.rising); n == 0 || k.compare(k.rising[n-1], key) < 0 {
			k.rising = append(k.rising, key)
			return true
		}
		k.seen = make(map[K]bool, 2*len(k.rising))
		for _, r := range k.rising {
			k.seen[r] = true
		}
	}
	if k.seen[key] {
		return false
	}
	k.seen[key] = true
	return true
}

// listed takes a text apart that lists words with commas, of any of the three kinds (field/flowstore.md row 27).
func listed(text string) (words []string) {
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(node.Commas, c) }) {
		if part = strings.TrimSpace(part); part != "" {
			words = append(words, part)
		}
	}
	return words
}
