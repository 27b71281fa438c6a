package watch

import (
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// Event is something that happened and is stored, or the session as it is.
type Event struct {
	// Seq is the number of its row; of a Snapshot that of the last row of the session.
	Seq  int64
	Time time.Time
	// Of is a Snapshot, StateChange, TurnChange, Answer, CallChange, ApprovalChange, Refused, Warning, Aside or Record.
	Of any
}

// Snapshot is the session as it is.
type Snapshot struct{ Session ledger.Session }

// StateChange is a change of the step, the status or the lifecycle.
type StateChange struct{ session.Note }

// TurnChange is something about a turn, or about a message that waits for one.
type TurnChange struct {
	Turn string
	// Running is what it does; Stopped: nothing any more.
	Running session.Running
	Stopped bool
	Reason  string
	Message string
	// Text is what a message said that was closed: nothing else gives it back to whoever wrote it (field/review-agent.md C44).
	Text string
	// Detail is what a stop says beside its reason.
	Detail string
}

// Answer is what the model answered.
type Answer struct{ envelope.Envelope }

// Warning is a breach of the Dialog Policy that can be seen in the reply.
type Warning struct{ Code, Text string }

// CallChange is something about a call of a tool.
type CallChange struct {
	Call, Tool, State, Reason string
	// Result is what the model is told of it, where it has ended.
	Result string
}

// ApprovalChange is an approval that changed, as it is now. Change is the kind of the row, which tells whoever may not know of the approval.
type ApprovalChange struct {
	Approval gate.Approval
	Change   string
	Row      audit.Row
}

// Refused is something that was not done.
type Refused struct {
	Reason, Why string
	Allowed     []session.Step
}

// Aside is a message that was answered beside the work.
type Aside struct{ Message, Reply string }

// Record is every other row.
type Record struct{ Row audit.Row }
