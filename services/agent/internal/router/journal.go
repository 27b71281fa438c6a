package router

import (
	"context"
	"fmt"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Intent is what is written down before an effect, and all that Reconcile needs after a crash. It is stable JSON.
type Intent struct {
	// Call is its id, Tool the full name, Definition its hash.
	Call       string     `json:"call"`
	Tool       string     `json:"tool"`
	Definition canon.Hash `json:"definition"`
	CallHash   canon.Hash `json:"call_hash"`
	ArgsDigest canon.Hash `json:"args_digest"`
	// Approval and Digest are those of the approval that it consumes; empty where the policy allows it.
	Approval string     `json:"approval,omitempty"`
	Digest   canon.Hash `json:"digest,omitempty"`
	// Standing is the standing rule that allows it.
	Standing string `json:"standing,omitempty"`
	Root     string `json:"root,omitempty"`
	// Attempt counts from 1.
	Attempt int `json:"attempt"`
	// Staged, Before and After are those of a file change. InFolder: it has the folder while it works.
	Staged   *folder.Staged `json:"staged,omitempty"`
	Before   folder.Hash    `json:"before,omitempty"`
	After    folder.Hash    `json:"after,omitempty"`
	InFolder bool           `json:"in_folder,omitempty"`
	// Hashless: the caller may not read the target, and is told no hash of it (S21).
	Hashless bool `json:"hashless,omitempty"`
	// Args are those that were judged, of what is no change of a file: whoever carries it out may have to be told them again, and whoever is asked what
	// became of it sees what ran.
	Args string `json:"args,omitempty"`
	// At is when it was written down. The journal sets it.
	At time.Time `json:"at,omitzero"`
}

// Now is what holds when an INTENT is written, as the caller's transaction reads it.
type Now struct {
	Tools    *tool.Registry
	Engine   *policy.Engine
	Standing []policy.Standing
	// InExecution and LikeUnknown are those of the session.
	InExecution, LikeUnknown bool
	Roles                    []string
	Time                     time.Time
}

// Recheck judges once more, by what holds now (C47, C48). A *VoidError: the call is not to start, for good. Any other error: it cannot be
// judged now, and the transaction is not to be committed (S29).
type Recheck func(ctx context.Context, now Now) error

// Journal is the caller's store.
type Journal interface {
	// Begin runs recheck in one transaction with all that the caller itself checks (lifecycle, step, epoch, approval), and writes INTENT.
	// Where recheck gives a *VoidError it writes that the call is void instead, and gives the same error; so it does for its own
	// reasons. After nil INTENT is durable; after any other error nobody knows whether it is.
	Begin(ctx context.Context, i Intent, recheck Recheck) error
	// End writes the outcome. After an error nobody knows whether it is written: Reconcile finds out.
	End(ctx context.Context, e Ending) error
}

// VoidError says that a call does not start.
type VoidError struct {
	// Reason is that of session.Began.
	Reason session.Reason
	// Why is a sentence.
	Why string
	// Now is the hash of the target where the reason is STALE_TARGET, if it can be told, and to one who may read the target (S21).
	Now folder.Hash
}

// Result is what the model is told of the call: STALE_TARGET with the hash that is there now (cases/agent.md c31), or VOIDED.
func (e *VoidError) Result() tool.Result {
	if e.Reason == session.VoidStale {
		return staleResult(e.Why, e.Now)
	}
	return tool.Outcome(tool.Voided, e.Why)
}

func (e *VoidError) Error() string {
	return fmt.Sprintf("the call does not start (%s): %s", e.Reason, e.Why)
}

func void(reason session.Reason, format string, args ...any) *VoidError {
	return &VoidError{Reason: reason, Why: fmt.Sprintf(format, args...)}
}

// State is how far a call came. The zero value is none.
type State string

// The states. session has an event for each but Refused.
const (
	// Refused: it was never to run by what was handed over. Nothing was written down.
	Refused State = "REFUSED"
	// Parked: the folder or the tool cannot be had now; nothing has started, and an approval is still there (session.ParkedFor).
	Parked State = "PARKED"
	// Voided: it will not start (session.Began with Void).
	Voided State = "VOIDED"
	// Executed and Failed are known outcomes (session.Ended).
	Executed State = "EXECUTED"
	Failed   State = "FAILED"
	// NotDone: it is proven that nothing happened. It may start once more (session.ProvenUndone).
	NotDone State = "NOT_DONE"
	// Unknown: nobody can tell; a person is asked (session.NotProven).
	Unknown State = "UNKNOWN"
)

// Ending is the outcome of an INTENT.
type Ending struct {
	Intent Intent `json:"intent"`
	State  State  `json:"state"`
	// Proven: it was found out after a crash.
	Proven bool `json:"proven,omitempty"`
	// Outcome is what is known of a file change.
	Outcome folder.Outcome `json:"outcome,omitzero"`
	// Result is what the model is told.
	Result tool.Result `json:"result"`
}

// Ran is how far a call came.
type Ran struct {
	State  State
	Result tool.Result
	// Void is the reason of Voided and of Refused.
	Void *VoidError
	// Outcome is that of a file change; Kept in it is where the content of somebody else stands.
	Outcome folder.Outcome
	// Intent is what was written down, if it came so far.
	Intent *Intent
	// Warning is what went wrong after the outcome was written down, such as that the staged file could not be taken away.
	Warning string
}
