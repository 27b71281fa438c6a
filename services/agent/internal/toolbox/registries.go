package toolbox

import (
	"slices"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// maxRegistries bounds what is kept: more sessions at once have tools of their own only where each has declared others.
const maxRegistries = 64

// registries keeps the registries that were used last. To make one takes longer than to write a change, since it reads the schemas of the
// session's own tools; and what is told of a registry is kept for as long as it is the same one. The zero value is empty. Safe for concurrent
// use.
type registries struct {
	mu sync.Mutex
	// used are the latest first.
	used []made
}

// made is a registry, and what it was made of.
type made struct {
	admitted []*tool.Tool
	declared []tool.Definition
	registry *tool.Registry
}

// get gives the registry of tools that are admitted and of those that a session has declared.
func (r *registries) get(admitted []*tool.Tool, declared []tool.Definition) (*tool.Registry, error) {
	if found := r.find(admitted, declared); found != nil {
		return found, nil
	}
	own, err := clienttool.Tools(declared)
	if err != nil {
		return nil, err
	}
	registry, err := tool.NewRegistry(slices.Concat(admitted, own)...)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used = slices.Insert(r.used[:min(len(r.used), maxRegistries-1)], 0, made{admitted, declared, registry})
	return registry, nil
}

// find gives one that was made before; nil: there is none.
func (r *registries) find(admitted []*tool.Tool, declared []tool.Definition) *tool.Registry {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.used, func(m made) bool {
		return slices.EqualFunc(m.admitted, admitted, same) && slices.Equal(m.declared, declared)
	})
	if i < 0 {
		return nil
	}
	m := r.used[i]
	copy(r.used[1:i+1], r.used[:i])
	r.used[0] = m
	return m.registry
}

// same says that two tools are one: a server that is asked again tells its tools anew. Their hashes would not do, which say nothing of time
// limits and of the order of a schema's keys.
func same(a, b *tool.Tool) bool { return a == b || a.Definition == b.Definition }
