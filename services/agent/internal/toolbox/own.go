package toolbox

import (
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessiontool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Own is what belongs to a session alone: the tools that its client has declared, and those that look at the session itself. It is a Session.
type Own struct {
	Desk  *clienttool.Desk
	Nodes sessiontool.Nodes
	Flows sessiontool.Flows
	Clock Clock
	// ToolCalls are the calls of a turn that are allowed.
	ToolCalls int
}

var _ Session = Own{}

// Effect implements Session.
func (o Own) Effect(ns string, s ledger.Session, d tool.Definition) router.Effect {
	return o.Desk.Effects(ns, s.ID)(d)
}

// Reads implements Session.
func (o Own) Reads(ns string, s ledger.Session) map[string]router.ReadFunc {
	t := &sessiontool.Tools{Namespace: ns, Session: s, Nodes: o.Nodes, Flows: o.Flows, Clock: o.Clock, ToolCalls: o.ToolCalls}
	return t.Reads()
}
