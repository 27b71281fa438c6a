package files

import (
	"container/list"
	"sync"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// flowCacheBytes is about how much memory the parsed flows of one namespace take.
const flowCacheBytes = 64 << 20

// loadedFlow is a flow as its file has it.
type loadedFlow struct {
	flow flow.Flow
	hash commitlog.Hash
	// path, size and modTime are those of the file before it was read: when they are others, it is read again.
	path          string
	size, modTime int64
}

func (l loadedFlow) is(path string, info filesys.Info) bool {
	return l.path == path && l.size == info.Size && l.modTime == info.ModTime
}

// flowCache keeps the flows that were used last.
type flowCache struct {
	mu    sync.Mutex
	limit int64
	bytes int64
	order *list.List // of loadedFlow, the last used in front
	byID  map[uuid.UUID]*list.Element
}

func newFlowCache(limit int64) *flowCache {
	return &flowCache{limit: limit, order: list.New(), byID: map[uuid.UUID]*list.Element{}}
}

func (c *flowCache) get(id uuid.UUID) (loadedFlow, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byID[id]
	if e == nil {
		return loadedFlow{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(loadedFlow), true
}

func (c *flowCache) put(l loadedFlow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byID[l.flow.ID]; e != nil {
		c.remove(e)
	}
	c.byID[l.flow.ID] = c.order.PushFront(l)
	c.bytes += flowBytes(l.flow)
	for c.bytes > c.limit && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

// drop forgets a flow.
func (c *flowCache) drop(id uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byID[id]; e != nil {
		c.remove(e)
	}
}

func (c *flowCache) remove(e *list.Element) {
	l := c.order.Remove(e).(loadedFlow)
	delete(c.byID, l.flow.ID)
	c.bytes -= flowBytes(l.flow)
}
