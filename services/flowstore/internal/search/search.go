// Package search is the index by which nodes are found: exact in Japanese and English.
//
// A word of a query is found where the folded text holds it, wherever that is: 京都 is in 東京都. Nothing is taken apart by a
// dictionary, which would miss 再試 in 再試行する (field/flowstore.md 4). The index keeps for every node which characters and
// pairs of characters of Chinese, Japanese and Korean it has, which words of other scripts and which signs; for each
// character and pair also whether a word begins with it, which is where the script changes. From that it knows all nodes that
// may hold a word, and for one or two characters, a sign, and a word or part of one, that they do; the texts of the others
// are read.
//
// Order of hits: nodes in which more words of the query begin a word come first, then those that have more of its words and
// tags as their tags, then the newer ones, then the larger id. It depends on nothing else, so pages of one query fit together
// for as long as nodes do not change.
//
// Nodes are put into a tail, which is searched one by one; a full tail becomes a segment that does not change, and segments of one
// size become one (docs/adr/0004-search-index.md).
//
// The index keeps no text. It is a copy of what the store has: its owner puts and removes nodes as they change, and makes
// it anew where its snapshot is damaged. All methods are safe for concurrent use.
package search

import (
	"fmt"
	"slices"
	"sync"
	"unique"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// Limits of the index.
const (
	// MaxNodes is the most nodes, removed ones included until Compact: twice what a tree holds (seed 004, 8.4).
	MaxNodes = 2_000_000
	// MaxBytes is how many bytes the words may take, and as many the places: half of what a segment can address.
	MaxBytes = 1 << 31
)

// FullError says that the index takes no more nodes, so that a search would miss some.
type FullError struct {
	// What is `nodes`, `bytes of words` or `bytes of places`, Limit the most that the index takes of it.
	What  string
	Limit int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the search index is full: it takes at most %d %s; put some of the nodes into another namespace", e.Limit, e.What)
}

// Index is the index of one namespace. Make it with New or Decode.
type Index struct {
	// writing is held by whoever changes the contents, and mu besides in the moment in which they change: a search waits
	// for no merge.
	writing sync.Mutex
	mu      sync.RWMutex
	contents
	partial bool
}

// contents is everything that a snapshot holds.
type contents struct {
	// nodes by place; a changed node gets a new place, and the old one is not live any more.
	nodes []entry
	place map[uuid.UUID]uint32
	live  set
	// latest is when the newest of each 64 places was made, or later: a page skips those that are too old for it.
	latest []int64
	// segments are the terms of the nodes, of all but the last, and tail those of the last.
	segments []*segment
	tail     []terms
	// labels are those that nodes have, each of them once, by what labelKey gives.
	labels map[string]*labels
	// Live nodes by role, model (as written) and tag.
	roles, models, tags map[string]*roaring.Bitmap
}

// entry is what is known of a node beside its terms.
type entry struct {
	id uuid.UUID
	// created in microseconds since 1970.
	created int64
	stamp   uint64
	*labels
}

// labels are what many nodes have alike.
type labels struct {
	model string
	// tags are as written, roles those of the texts; sorted, each of them once.
	tags, roles []string
	// kept are the kinds of characters that folding leaves in all of the texts.
	kept kinds
}

// New makes an empty index.
func New() *Index { return &Index{contents: empty()} }

func empty() contents {
	return contents{
		place: map[uuid.UUID]uint32{}, labels: map[string]*labels{},
		roles: map[string]*roaring.Bitmap{}, models: map[string]*roaring.Bitmap{}, tags: map[string]*roaring.Bitmap{},
	}
}

// Put adds a node, or replaces it. stamp is for the owner, who learns from Stamp of which content the index is. FullError, and
// then the index is as it was. Searches go on meanwhile.
func (x *Index) Put(n node.Node, stamp uint64) error {
	folded, roles := make([]string, len(n.Texts)), make([]string, len(n.Texts))
	kept := keptKinds
	for i, t := range n.Texts {
		l := locate(t.Content)
		folded[i], roles[i] = l.text, t.Role
		kept &= l.kept(t.Content)
	}
	t := termsOf(folded)
	l := labels{unique.Make(n.Model).Value(), distinct(n.Tags), distinct(roles), kept}

	x.writing.Lock()
	defer x.writing.Unlock()
	if err := x.room(t); err != nil {
		return err
	}
	x.put(entry{n.ID, n.Created.UnixMicro(), stamp, &l}, t)
	if len(x.tail) == tailNodes {
		x.settle()
	}
	return nil
}

// distinct gives each of the names once, sorted, in copies that hold on to no file.
func distinct(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = unique.Make(n).Value()
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (c *contents) room(t terms) error {
	words, places := len(t.words), 0
	for _, s := range c.segments {
		words += len(s.words.text)
		places += len(s.lists)
	}
	switch {
	case len(c.nodes) >= MaxNodes:
		return &FullError{"nodes", MaxNodes}
	case words > MaxBytes:
		return &FullError{"bytes of words", MaxBytes}
	case places > MaxBytes:
		return &FullError{"bytes of places", MaxBytes}
	}
	return nil
}

func (x *Index) put(e entry, t terms) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(e.id)
	x.enter(e)
	x.tail = append(x.tail, t)
}

// settled is the place behind those of the segments.
func (c *contents) settled() uint32 { return uint32(len(c.nodes) - len(c.tail)) }

// settle makes a segment of the tail.
func (x *Index) settle() {
	segments := tidied(append(slices.Clip(x.segments), settle(x.tail, x.settled())))
	x.mu.Lock()
	defer x.mu.Unlock()
	x.segments, x.tail = segments, nil
}

// enter gives a node the next place.
func (c *contents) enter(e entry) {
	place := uint32(len(c.nodes))
	e.labels = c.shared(e.labels)
	c.nodes = append(c.nodes, e)
	c.place[e.id] = place
	if int(place/64) == len(c.live) {
		c.live, c.latest = append(c.live, 0), append(c.latest, e.created)
	}
	c.live.add(place)
	c.latest[place/64] = max(c.latest[place/64], e.created)
	insert(c.models, e.model, place)
	for _, r := range e.roles {
		insert(c.roles, r, place)
	}
	c.addTags(e.tags, place)
}

// shared gives the labels that other nodes have as well, if there are such.
func (c *contents) shared(l *labels) *labels {
	var e encoder
	e.labels(l)
	key := string(e.b)
	if known := c.labels[key]; known != nil {
		return known
	}
	c.labels[key] = l
	return l
}

func insert(m map[string]*roaring.Bitmap, key string, place uint32) {
	b := m[key]
	if b == nil {
		b = roaring.New()
		m[key] = b
	}
	b.Add(place)
}

// Remove takes a node out; it says whether there was one. Its words stay in memory until Compact, and are in no snapshot.
func (x *Index) Remove(id uuid.UUID) bool {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.remove(id)
}

func (c *contents) remove(id uuid.UUID) bool {
	place, known := c.place[id]
	if !known {
		return false
	}
	e := &c.nodes[place]
	delete(c.place, id)
	c.live.take(place)
	take(c.models, e.model, place)
	for _, r := range e.roles {
		take(c.roles, r, place)
	}
	c.removeTags(e.tags, place)
	*e = entry{}
	return true
}

func take(m map[string]*roaring.Bitmap, key string, place uint32) {
	b := m[key]
	b.Remove(place)
	if b.IsEmpty() {
		delete(m, key)
	}
}

// Compact frees what removed nodes left behind, and makes one segment of all. Until it is done it needs as much memory again as
// the index has. Searches go on meanwhile; whoever puts or removes waits.
func (x *Index) Compact() {
	x.writing.Lock()
	defer x.writing.Unlock()
	x.compact()
}

func (x *Index) compact() {
	if len(x.nodes) == len(x.place) && len(x.tail) == 0 && len(x.segments) <= 1 {
		return
	}
	c, moved := empty(), make([]uint32, len(x.nodes))
	for place, e := range x.nodes {
		moved[place] = gone
		if e.labels != nil {
			moved[place] = uint32(len(c.nodes))
			c.enter(e)
		}
	}
	if len(c.nodes) > 0 {
		all := append(slices.Clip(x.segments), settle(x.tail, x.settled()))
		c.segments = []*segment{merge(all, moved, len(c.nodes))}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.contents = c
}

// Len is how many nodes are in the index.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.place)
}

// Has says whether a node is in the index.
func (x *Index) Has(id uuid.UUID) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, known := x.place[id]
	return known
}

// Stamp gives what a node was put with; ok is false where it is not in the index.
func (x *Index) Stamp(id uuid.UUID) (stamp uint64, ok bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	place, ok := x.place[id]
	if !ok {
		return 0, false
	}
	return x.nodes[place].stamp, true
}

// IDs gives the ids of all nodes, in no order, so that the owner can find those that the store no longer has.
func (x *Index) IDs() []uuid.UUID {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := make([]uuid.UUID, 0, len(x.place))
	for id := range x.place {
		out = append(out, id)
	}
	return out
}

// Dead is how many nodes were removed or replaced since the last Compact. Each costs memory as a live one does.
func (x *Index) Dead() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.nodes) - len(x.place)
}

// SetPartial says whether nodes are still to be put, as while an index is made anew: then results are approximate.
func (x *Index) SetPartial(partial bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.partial = partial
}

// Partial says what SetPartial said.
func (x *Index) Partial() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.partial
}
