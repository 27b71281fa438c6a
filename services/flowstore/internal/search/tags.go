package search

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/uuid"
)

// MaxTagPage is the most tags of one page.
const MaxTagPage = 1000

// tagKey is what tags are compared by (field/flowstore.md row 27).
func tagKey(name string) string { return strings.TrimSpace(Fold(name)) }

func (c *contents) addTags(names []string, place uint32) {
	for _, name := range names {
		if key := tagKey(name); key != "" { // made by hand; nobody can ask for it
			insert(c.tags, key, place)
		}
	}
}

func (c *contents) removeTags(names []string, place uint32) {
	for _, name := range names {
		if key := tagKey(name); c.tags[key] != nil { // not the second of two spellings of the last node
			take(c.tags, key, place)
		}
	}
}

// Tag is a tag and how many nodes have it.
type Tag struct {
	// Name is the spelling of the oldest node that has it (cases/flowstore.md 7), of equally old ones that with the smaller id, of
	// several spellings in one node the first in the order of bytes. Key is what it folds to.
	Name, Key string
	Nodes     int
}

// Tags lists the tags that begin with a text, folded, in the order of their keys: at most size of them, 1 to MaxTagPage, behind
// the key after, which is empty for the first page. next is the last key where there are more. PageError.
func (x *Index) Tags(prefix, after string, size int) (page []Tag, next string, err error) {
	if size < 1 || size > MaxTagPage {
		return nil, "", &PageError{"page_size", fmt.Sprintf("is %d; it must be 1 to %d", size, MaxTagPage)}
	}
	prefix = tagKey(prefix)
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, key := range slices.Sorted(maps.Keys(x.tags)) {
		if key <= after && after != "" || !strings.HasPrefix(key, prefix) {
			continue
		}
		if len(page) == size {
			return page, page[size-1].Key, nil
		}
		nodes := x.tags[key]
		page = append(page, Tag{x.spelling(key, nodes), key, int(nodes.GetCardinality())})
	}
	return page, "", nil
}

// Tagged is a tag, as Tag.Name spells it, with its nodes by their ids.
type Tagged struct {
	Name  string
	Nodes []uuid.UUID
}

// Tagged gives all tags by their names, byte by byte.
func (x *Index) Tagged() []Tagged {
	x.mu.RLock()
	defer x.mu.RUnlock()
	keys := make(map[string]string, len(x.tags))
	for key, nodes := range x.tags {
		keys[x.spelling(key, nodes)] = key
	}
	all := make([]Tagged, 0, len(keys))
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		ids := make([]uuid.UUID, 0, x.tags[keys[name]].GetCardinality())
		for _, place := range x.tags[keys[name]].ToArray() {
			ids = append(ids, x.nodes[place].id)
		}
		slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		all = append(all, Tagged{name, ids})
	}
	return all
}

// spelling is how the oldest of the nodes writes a tag.
func (c *contents) spelling(key string, nodes *roaring.Bitmap) string {
	var first *entry
	for it := nodes.Iterator(); it.HasNext(); {
		e := &c.nodes[it.Next()]
		if first == nil || cmp.Or(cmp.Compare(e.created, first.created), bytes.Compare(e.id[:], first.id[:])) < 0 {
			first = e
		}
	}
	at := slices.IndexFunc(first.tags, func(name string) bool { return tagKey(name) == key })
	return first.tags[at]
}
