// Package recent holds what was used last, within a bound of bytes.
package recent

import "sync"

// Cache holds values by their keys. Those that are not used while others of Max bytes come are forgotten. The zero value holds nothing;
// with Max it is ready. Safe for concurrent use; a value is shared by all who get it.
type Cache[K comparable, V any] struct {
	// Max is how many bytes a generation may have, of which there are two.
	Max int

	mu sync.Mutex
	// What is not used while young fills goes with old.
	young, old map[K]sized[V]
	bytes      int
}

type sized[V any] struct {
	value V
	size  int
}

// Get gives what is held under a key.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.young[key]
	if !ok {
		if s, ok = c.old[key]; ok {
			c.keep(key, s)
		}
	}
	return s.value, ok
}

// Put holds a value in place of what was under the key. size is about how many bytes it takes; one that is larger than a sixteenth of Max
// is not held.
func (c *Cache[K, V]) Put(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > c.Max/16 {
		delete(c.young, key)
		delete(c.old, key)
		return
	}
	c.keep(key, sized[V]{value, size})
}

func (c *Cache[K, V]) keep(key K, s sized[V]) {
	if c.bytes >= c.Max || c.young == nil {
		c.young, c.old, c.bytes = map[K]sized[V]{}, c.young, 0
	}
	c.bytes += s.size - c.young[key].size
	c.young[key] = s
}
