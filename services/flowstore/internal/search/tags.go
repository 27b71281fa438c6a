package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

// MaxTagPage is the most tags of one page.
const MaxTagPage = 1000

// tag is a tag in all its spellings, which fold to one.
type tag struct {
	nodes *roaring.Bitmap
	// spellings with the number of nodes that have each.
	spellings map[string]int
}

// tagKey is what tags are compared by (field/flowstore.md row 27).
func tagKey(name string) string { return strings.TrimSpace(Fold(name)) }

func (c *contents) addTags(names []string, place uint32) {
	for _, name := range names {
		key := tagKey(name)
		if key == "" { // made by hand; nobody can ask for it
			continue
		}
		t := c.tags[key]
		if t == nil {
			t = &tag{roaring.New(), map[string]int{}}
			c.tags[key] = t
		}
		t.nodes.Add(place)
		t.spellings[name]++
	}
}

func (c *contents) removeTags(names []string, place uint32) {
	for _, name := range names {
		key := tagKey(name)
		t := c.tags[key]
		if t == nil { // empty, or one of two spellings of the last node that had it
			continue
		}
		t.nodes.Remove(place)
		if t.spellings[name]--; t.spellings[name] == 0 {
			delete(t.spellings, name)
		}
		if t.nodes.IsEmpty() {
			delete(c.tags, key)
		}
	}
}

// Tag is a tag and how many nodes have it.
type Tag struct {
	// Name is the spelling that most nodes have, of several the first in the order of bytes; Key is what it folds to.
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
		t := x.tags[key]
		page = append(page, Tag{t.name(), key, int(t.nodes.GetCardinality())})
	}
	return page, "", nil
}

func (t *tag) name() string {
	best := ""
	for name, nodes := range t.spellings {
		if n := t.spellings[best]; best == "" || nodes > n || nodes == n && name < best {
			best = name
		}
	}
	return best
}
