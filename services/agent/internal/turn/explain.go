package turn

import (
	"context"
	"fmt"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
)

// dry stands where a call that nobody makes has no id, and begins the id under which a person approves their own call (C76).
const dry = audit.DryRun

// Query asks what would become of a call.
type Query struct {
	// Session is where a model would propose it, as the session is now.
	Session, Tool string
	// Args are JSON.
	Args []byte
	Who  gate.Who
}

// Explained is what would become of a call, and why.
type Explained struct {
	// Verdict is Deny where Stop says at which step of the pipeline it is stopped. Explanation has every rule that was looked at, and the risk
	// with its reasons, where it came so far.
	Verdict     policy.Verdict
	Stop        *router.Stop
	Explanation policy.Explanation
	// Args are as they would run; Defaulted are those that the schema has filled in. CallHash says which call it is, Paths what it touches.
	Args      []byte
	Defaulted []string
	CallHash  canon.Hash
	Paths     []string
	// Approval is what a person would be asked, or would be if they were, and Pages what they would be shown: the diff, where the caller may
	// read the target (S21). nil where the call is stopped, or where NotAsked says why no approval could be made.
	Approval *gate.Approval
	Pages    []canon.Page
	NotAsked string
}

// Explain says what would become of a call that a model proposes in EXECUTION: the verdict with every rule that was looked at, the risk, and what
// a person would be asked. Nothing is written, charged or asked. store.ErrNotFound.
func (e *Engine) Explain(ctx context.Context, ns string, q Query) (Explained, error) {
	s, err := e.Ledger.Get(ctx, ns, q.Session)
	if err != nil {
		return Explained{}, err
	}
	r, err := e.Tools.Router(ctx, ns, s)
	if err != nil {
		return Explained{}, err
	}
	j := r.Judge(ctx, e.outside(ns, s, []string{policy.RoleUser}), router.Call{ID: dry, Tool: q.Tool, Args: q.Args})
	return e.explained(ns, s, q.Who, j), ctx.Err()
}

// outside is what the router goes by for a call that no turn makes: it stands outside the table, and is charged to nobody (C76).
func (e *Engine) outside(ns string, s ledger.Session, roles []string) router.Session {
	return router.Session{
		Namespace: ns, Session: s.ID, Task: dry, Roles: slices.Clone(roles), InExecution: true, Standing: standing(s), Unknown: hashes(s.Talk.Unknown), Now: e.Clock.Now(),
	}
}

// explained tells what was judged.
func (e *Engine) explained(ns string, s ledger.Session, who gate.Who, j router.Judged) Explained {
	out := Explained{
		Verdict: j.Verdict(), Stop: j.Stop, Explanation: j.Explanation, Args: j.Args, Defaulted: j.Defaulted, CallHash: j.CallHash, Paths: j.Paths,
	}
	if out.Verdict == policy.Deny {
		return out
	}
	made, err := gate.ForCalls([]gate.ToolCall{{
		Origin: gate.Origin{
			ID: ownDryRun(s, who), Namespace: ns, Session: s.ID, Task: dry, Turn: dry, Call: j.Call.ID, Seq: 1, Requester: nameOf(who), Now: e.Clock.Now(), Life: e.Limits.Approval,
		},
		Judged: j.Asked(), Why: j.Explanation, Subject: j.Subject, Plan: j.Shown,
	}}, 0)
	if err == nil {
		out.Pages, err = made[0].Content.Show(made[0].Approval)
	}
	if err != nil {
		out.NotAsked = err.Error()
		return out
	}
	a := made[0].Approval.Hashless()
	out.Approval = &a
	return out
}

// nameOf names a caller: a person, or a session by its token.
func nameOf(who gate.Who) string { return who.Actor().Name }

// ownDryRun is the id of the approval that a person gives to their own call: its digest fits nobody else's, and no call after the next one.
func ownDryRun(s ledger.Session, who gate.Who) string {
	return fmt.Sprintf("%s/%d/%s", dry, s.Directs, nameOf(who))
}
