// Package router carries one call of a tool through the pipeline of field/review-agent.md 5. The turn of a session uses it, and whoever
// calls a tool without a model.
//
// JudgeAll takes steps 1 to 6: is it known, are its arguments whole, what is its hash, does the guard of the turn let it pass, may its
// paths be named, what do the rules say. Nothing on disk is changed, and where the answer is no, nothing of the target is read
// (S21, S27). ReadAll carries out at once what only looks. Run takes steps 8 to 12 of what may start: lock, stage, INTENT, effect,
// outcome; Reconcile finds out after a crash what became of it. No tool enforces anything: what no Judge has let pass and no
// Journal.Begin has written down never starts (cases/agent.md c34).
//
// What the package needs comes in as values or behind small interfaces: times, roles, standing rules, the store.
package router

import (
	"context"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Bounds of the router.
const (
	// MaxBatch is how many calls are judged, or carried out, at once.
	MaxBatch = folder.MaxChanges
	// MaxParallel is how many reads run at the same time.
	MaxParallel = 8
	// MaxAttempts is how often a call starts: once more after it was proven not done (field/review-agent.md 2c).
	MaxAttempts = 2
	// LockWait is how long a call waits for the folder before it is parked.
	LockWait = 5 * time.Second
	// ProofWait is how long Reconcile waits for it, before it says that nobody knows (C51).
	ProofWait = 30 * time.Second
	// Grace is how long something whose time is over, or that was canceled, may take to come back before it is left to itself (c17).
	Grace = 2 * time.Second
	// EndWait bounds the writing of an outcome, which a cancel does not stop.
	EndWait = 30 * time.Second
)

// Router holds what judges and carries out the calls of one session. Its fields are not changed while it works; after a change of tools
// or rules another one is made.
type Router struct {
	Tools *tool.Registry
	// Pins are the definitions that the session is to remember (field/review-agent.md S18).
	Pins tool.Pins
	// Engine judges; nil denies all.
	Engine *policy.Engine
	Mounts folder.Mounts
	// Reads are the built-in tools that only look beside list, read, stat and search, by name: session_status, node_detail.
	Reads map[string]ReadFunc
	// Effects gives what carries out a tool that changes something and is no file change of ours: of a client, of an MCP server,
	// exec. nil, or a nil Effect: nobody does, and the call is refused.
	Effects func(tool.Definition) Effect
	// Missing says what the configuration has no more for the session, to whoever is told that nobody knows what became of a call; empty: nothing.
	Missing string
	// Lock, Proof and Grace take the place of LockWait, ProofWait and Grace; 0 leaves those.
	Lock, Proof, Grace time.Duration
}

// ReadFunc is a tool that only looks. It gets the canonical arguments; an error is its answer to the model.
type ReadFunc func(ctx context.Context, args []byte) ([]byte, error)

// Session is where calls are proposed, and by whom.
type Session struct {
	Namespace, Session, Task, Turn string
	// Roles are those of the caller: the model gets no more than the one whom it works for (S21).
	Roles []string
	// InExecution: the session is in EXECUTION, the only step in which an effect starts unasked (C40).
	InExecution bool
	Standing    []policy.Standing
	// Denied are the hashes of calls that a person denied since their last message (S28), Unknown those whose outcome nobody knows (C49).
	Denied, Unknown []canon.Hash
	// Guard charges the budget and looks for loops, once for each call whose arguments are right; a sentence stops the call. nil: none,
	// as for a call that is judged anew to be started: it was charged when it was proposed (C67).
	Guard func(hash canon.Hash) string
	// Now is the time of the server.
	Now time.Time
}

// Call is what is proposed.
type Call struct {
	// ID is the id of the call in its session.
	ID string
	// Tool is its full name, or the one of the wire.
	Tool string
	// Args is JSON as it was proposed. Cut: the answer ended within it.
	Args []byte
	Cut  bool
	// Definition is what the tool was pinned by when the call was first judged; empty at the first time (S18).
	Definition canon.Hash
}

func (r Router) lockWait() time.Duration  { return or(r.Lock, LockWait) }
func (r Router) proofWait() time.Duration { return or(r.Proof, ProofWait) }
func (r Router) grace() time.Duration     { return or(r.Grace, Grace) }

func or(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// work is the name of the work folder; empty without one.
func (r Router) work() string {
	if r.Mounts.Work == nil {
		return ""
	}
	return r.Mounts.Work.About().Name
}

// effect gives what carries a tool out, if somebody does.
func (r Router) effect(d tool.Definition) Effect {
	if r.Effects == nil {
		return nil
	}
	return r.Effects(d)
}

// explain judges by an engine; without one all is denied (S29).
func explain(e *policy.Engine, c policy.Call, standing []policy.Standing, now time.Time) policy.Explanation {
	if e == nil {
		e = &policy.Engine{}
	}
	return e.Explain(c, standing, now)
}
