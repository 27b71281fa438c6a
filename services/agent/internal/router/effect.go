package router

import (
	"context"
	"errors"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// Effect carries out a tool that is no file change of ours: of a client, of an MCP server, exec. It enforces nothing: that it was
// judged, decided and written down is the router's part.
type Effect interface {
	// InFolder says that it works in the work folder, which it then has alone until its outcome is written down (C51).
	InFolder() bool
	// Ready is asked before INTENT: an error parks the call, and nothing has started.
	Ready(ctx context.Context) error
	// Start does it, with exactly the bytes that were judged. It ends when the context does. An error is an outcome that nobody knows
	// (C50), but a *NotStartedError.
	Start(ctx context.Context, i Intent, args []byte) (Output, error)
}

// Proves is an Effect that can tell after a crash what became of it. Who cannot tell says folder.Unknown. It is asked under the lock of
// the folder where the effect is InFolder.
type Proves interface {
	Prove(ctx context.Context, i Intent) folder.Outcome
}

// Resumes is an Effect that goes on while nobody waits for it, such as a call that a client carries out: its Start may give a *GoesOnError.
// Whoever goes on with the session asks again: Resume gives what Start would have given. It starts nothing, and no lock but that of an effect
// InFolder is held.
type Resumes interface {
	Resume(ctx context.Context, i Intent) (Output, error)
}

// Processes is an Effect that runs a program: what it runs in is digested, too (S26).
type Processes interface {
	Process(ctx context.Context, args []byte) (canon.Process, error)
}

// Output is what an effect gave. Failed: it says itself that it failed.
type Output struct {
	Text   []byte
	Failed bool
}

// NotStartedError is given by an effect that can prove that nothing has begun, such as a connection that was refused.
type NotStartedError struct{ Err error }

func (e *NotStartedError) Error() string { return "it did not start: " + e.Err.Error() }

// Unwrap gives why.
func (e *NotStartedError) Unwrap() error { return e.Err }

// GoesOnError is given by an effect that Resumes and has no outcome yet, or none that can be seen now: nothing is written, and Reconcile asks
// again.
type GoesOnError struct{ Err error }

func (e *GoesOnError) Error() string { return "it goes on, and is asked about again: " + e.Err.Error() }

// Unwrap gives why there is no outcome.
func (e *GoesOnError) Unwrap() error { return e.Err }

// errBroke is a panic of a tool.
var errBroke = errors.New("the tool broke down")

// errLate is a tool whose time was over.
var errLate = errors.New("the tool took longer than it may")
