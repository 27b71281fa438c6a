package turn

import (
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// told is what a model is told of its tools: what a prompt shows of them, and the schema that its answer is held to.
type told struct {
	shown  []tool.Shown
	schema string
}

// tellings keeps what was told last. A registry never changes, and all sessions of a configuration have the same one.
type tellings struct {
	mu sync.Mutex
	of map[*tool.Registry]told
}

// maxTellings bounds what is kept; then it is made anew.
const maxTellings = 64

// tell gives what is told of tools.
func (k *tellings) tell(all *tool.Registry) told {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, ok := k.of[all]; ok {
		return t
	}
	var t told
	var tools []envelope.Tool
	for _, one := range all.Tools() {
		t.shown = append(t.shown, one.Show())
		tools = append(tools, envelope.Tool{Name: one.Full(), Schema: one.Input})
	}
	t.schema = envelope.Constraint(tools)
	if len(k.of) >= maxTellings || k.of == nil {
		k.of = map[*tool.Registry]told{}
	}
	k.of[all] = t
	return t
}
