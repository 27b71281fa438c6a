// Package turn carries sessions on: it asks the model, has the state machine dispose of what it proposes, has the router judge and
// carry out calls, and waits where a person is asked.
//
// Everything that happened is in the ledger before anything else is done: Drive looks at what is stored (session.Machine.Next) and does
// the next thing, so that a process may die at any instruction and the next one goes on. What a person does (Send, Decide, Cancel) is
// one transaction, by any process (field/review-agent.md C68). A session that waits holds nothing.
package turn

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Prompts makes the prompt of a session's next call of the model.
type Prompts interface {
	Build(ctx context.Context, ns string, p Prompt) (Built, error)
}

// Prompt is what the prompt of a call is made of (field/systemprompt-rules.md 3).
type Prompt struct {
	Session  ledger.Session
	Pattern  string
	User     string
	Past     []Exchange
	Evidence []Excerpt
	Pending  []gate.Approval
	// Constrain: the server holds the answer to the schema, so that the form need not be told in words. Tools are what may be called.
	Constrain bool
	Tools     []tool.Shown
	// Snapshot are the files and skills as the first prompt of the session had them; empty for that one.
	Snapshot []byte
	// Talk are the texts that are sent beside the prompt and User, and Total the most tokens of all of it: the window less the answer.
	Talk  []string
	Total int
	// Aside stands in place of the form of an answer, for a message that is answered aside: the answer is plain text. Empty for all others.
	Aside string
}

// Exchange is an earlier turn; lists have the oldest first.
type Exchange struct{ User, Reply string }

// Excerpt is a text of a tool that an earlier turn called.
type Excerpt struct{ Source, Text string }

// Models gives the model servers by name. *llm.UnknownBackendError.
type Models interface {
	Generator(name string) (llm.Generator, error)
}

// Tools gives what judges and carries out the calls of a session, as it is configured now.
type Tools interface {
	// Router waits for nothing. An error says, for a person, what the configuration has no more. What comes with it judges nothing: it has whatever else
	// there is, by which it may be found out what became of a call.
	Router(ctx context.Context, ns string, s ledger.Session) (router.Router, error)
	// Await waits a little for an MCP server that has not told its tools yet, or, where server is empty, for all of them: told is false where such a
	// one still has not.
	Await(ctx context.Context, ns, server string) (told bool)
}

// IDs makes ids.
type IDs interface{ ID() string }

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Limits bound turns.
type Limits struct {
	// Answer is the most tokens of an answer; Ask how long the model may take for it.
	Answer int
	Ask    time.Duration
	// Together is how long a message waits for its first answer, so that both are stored in one transaction (Converse). 0: not at all.
	Together time.Duration
	// ToolCalls are calls of a turn, Same equal calls in a row that are a loop.
	ToolCalls, Same int
	// Approval is how long an approval waits, Question how long a question of the model does.
	Approval, Question time.Duration
	// Keep is how long what an approval showed is kept after it was decided.
	Keep time.Duration
	// Reads run at once.
	Reads int
}

// DefaultKeep is how long what an approval showed is kept: 30 days.
const DefaultKeep = 30 * 24 * time.Hour

// DefaultLimits are those of the notes.
func DefaultLimits() Limits {
	return Limits{
		Answer: 1024, Ask: 10 * time.Minute, Together: 50 * time.Millisecond, ToolCalls: 64, Same: 4, Approval: gate.DefaultLife, Question: 24 * time.Hour,
		Keep: DefaultKeep, Reads: 4,
	}
}

// Deps are what an engine is given.
type Deps struct {
	Ledger  *ledger.Ledger
	Machine session.Machine
	Prompts Prompts
	Models  Models
	Tools   Tools
	IDs     IDs
	Clock   Clock
	Limits  Limits
	Terms   gate.Terms
}

// Engine carries sessions on. Safe for concurrent use; one session is driven by one goroutine at a time.
type Engine struct {
	Deps
	asides   *asides
	tellings *tellings
	pasts    *pasts
}

// New makes an engine.
func New(d Deps) *Engine {
	return &Engine{Deps: d, asides: &asides{}, tellings: &tellings{}, pasts: newPasts()}
}

// system is the actor of what nobody asked for just now, model that of what the model proposed.
var (
	system = audit.Actor{Name: "agent", Kind: audit.System}
	model  = audit.Actor{Name: "model", Kind: audit.Model}
)

// Under is the engine for one session that is held: nothing is written for anybody but the holder (ledger.Under).
func (e *Engine) Under(h *ledger.Hold) *Engine {
	under := *e
	under.Ledger = e.Ledger.Under(h)
	return &under
}

// Drive does what is to be done in a session until it rests or waits, and says until when it waits: the zero time, for somebody. The
// error is one of the store, or that ctx ended; what was done is stored. Under a hold also *store.HeldError and store.ErrFenced.
func (e *Engine) Drive(ctx context.Context, ns, id string) (time.Time, error) {
	var stand standstill
	for {
		if err := ctx.Err(); err != nil {
			return time.Time{}, err
		}
		s, err := e.Ledger.Get(ctx, ns, id)
		if err != nil {
			return time.Time{}, err
		}
		now := e.Clock.Now()
		todo := s.Next(e.Machine, now)
		direct := s.Direct != nil && !now.Before(s.Direct.Until)
		switch {
		case (direct || works(todo.Duty)) && !e.Ledger.Claimed():
			err = e.Ledger.Claim(ctx, ns, id, system) // and look again: the turn may have been picked up too often
		case direct:
			err = e.settleDirect(ctx, ns, s)
		case todo.Duty == session.WaitUntil:
			if until, err := e.waits(ctx, ns, s, todo.Until); err != nil || !until.IsZero() {
				return s.Direct.Earliest(until), err
			}
		case todo.Duty == session.Rest:
			return s.Direct.Earliest(todo.Until), nil
		case todo.Duty == session.Retry && s.Parked.Until.After(now):
			return s.Direct.Earliest(s.Parked.Until), nil
		case stand.still(s.Version, todo):
			err = e.standsStill(ctx, ns, s, todo.Duty)
		default:
			err = e.do(ctx, ns, s, todo)
		}
		if err != nil {
			return time.Time{}, err
		}
	}
}

// works says that a duty does something before it writes anything, which takes its time and which two must not do.
func works(d session.Duty) bool {
	return d == session.CallModel || d == session.BeginCall || d == session.Reconcile
}

// do does one thing.
func (e *Engine) do(ctx context.Context, ns string, s ledger.Session, todo session.Todo) error {
	switch todo.Duty {
	case session.OpenTurn:
		return e.open(ctx, ns, s.ID)
	case session.CallModel:
		if why := e.spent(e.asides.counted(ns, s)); why != "" {
			return e.apply(ctx, ns, s.ID, session.Stopped{Reason: session.ReasonBudget, Why: why})
		}
		return e.ask(ctx, ns, s)
	case session.BeginCall:
		return e.begin(ctx, ns, s, todo.Call)
	case session.Reconcile:
		return e.reconcile(ctx, ns, s, todo.Call)
	case session.EndBatch:
		return e.batchFailed(ctx, ns, s.ID)
	case session.Recover:
		return e.apply(ctx, ns, s.ID, session.Recovered{Utterance: e.IDs.ID()})
	case session.StopBudget:
		return e.apply(ctx, ns, s.ID, session.Stopped{Reason: session.ReasonBudget, Why: e.spent(s)})
	case session.BreakLoop:
		return e.apply(ctx, ns, s.ID, session.CrashLooped{})
	case session.FinishStop:
		return e.stopped(ctx, ns, s.ID)
	case session.Retry:
		return e.apply(ctx, ns, s.ID, session.Resumed{})
	case session.Expire:
		return e.apply(ctx, ns, s.ID, session.Lapsed{Approval: todo.ID, At: e.Clock.Now()})
	case session.CloseQuestion:
		return e.apply(ctx, ns, s.ID, session.QuestionLapsed{At: e.Clock.Now()})
	default:
		return fmt.Errorf("session %s: nobody knows the duty %s", s.ID, todo.Duty)
	}
}

// apply applies an event of the engine itself.
func (e *Engine) apply(ctx context.Context, ns, id string, event session.Event) error {
	_, err := e.Ledger.Change(ctx, ns, id, system, func(w *ledger.Work) error {
		return e.carry(w, event, gate.Change{})
	})
	return refusedAlready(err)
}

// carry applies an event, and puts away the conversation of a turn that it ended.
func (e *Engine) carry(w *ledger.Work, event session.Event, c gate.Change) error {
	if _, err := w.Apply(event, c); err != nil {
		return err
	}
	return e.settle(w)
}

// refusedAlready takes a refusal of the state machine for what it is here: somebody else was there first, and Drive looks again.
func refusedAlready(err error) error {
	if refused, ok := err.(*session.RefusedError); ok && refused.Code == session.RefusedState { //nolint:errorlint // wrapped ones are of others
		return nil
	}
	return err
}

// open takes the oldest message of the queue.
func (e *Engine) open(ctx context.Context, ns, id string) error {
	_, err := e.Ledger.Change(ctx, ns, id, system, func(w *ledger.Work) error {
		queue := w.Session.State.Queue
		if len(queue) == 0 {
			return nil
		}
		o := e.opening(*w.Session, queue[0], !w.Session.Talk.ByPerson(queue[0]))
		if err := e.shelve(w, replaced); err != nil {
			return err
		}
		o.begin(w.Session)
		_, err := w.Apply(o.event, gate.Change{})
		return err
	})
	return refusedAlready(err)
}

// opening is a turn that is to be opened, with its ids.
type opening struct {
	message, task string
	event         session.TurnOpened
}

func (e *Engine) opening(s ledger.Session, message string, event bool) opening {
	o := opening{message: message, task: s.Task, event: session.TurnOpened{Turn: e.IDs.ID(), Utterance: e.IDs.ID(), ByEvent: event}}
	if s.State.Lifecycle != session.Open || s.Task == "" {
		o.task = e.IDs.ID()
	}
	return o
}

// begin prepares a session for the turn.
func (o opening) begin(s *ledger.Session) {
	if s.Task != o.task {
		s.Task, s.Talk.Executed = o.task, nil
	}
	s.Asked = ""
	begun(&s.Talk, o.message)
}

// replaced is how a conversation ended that another message took the place of.
var replaced = ended{string(generation.FinishCancelled), "another message took the place of it"}

// begun begins the conversation of a turn with a message. One of a person opens again what a person has denied, and fills the budgets of tool
// calls and of time; an event does neither (S28, C67).
func begun(t *ledger.Talk, message string) {
	t.Messages = []ledger.Message{{Role: string(llm.RoleUser), Text: textOf(message)}}
	t.Recent, t.ShownNow = nil, 0
	t.Sender = ""
	if i := slices.IndexFunc(t.Senders, func(s ledger.Sender) bool { return s.Message == message }); i >= 0 {
		t.Sender, t.Senders = t.Senders[i].Name, slices.Delete(slices.Clone(t.Senders), i, i+1)
		t.Denied, t.ToolCalls, t.Over, t.Worked = nil, 0, 0, 0
	}
}

// requester is whose message led to what the open turn asks for: where it was no person's, who made the session answers for it.
func requester(s ledger.Session) string { return cmp.Or(s.Talk.Sender, s.Owner) }
