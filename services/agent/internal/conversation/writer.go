package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// What Flows answers. Test with errors.Is.
var (
	// ErrNoFlow: there is no such flow, or it is in the trash.
	ErrNoFlow = errors.New("there is no such flow")
	// ErrTaken: the id of the new flow is that of one that a person took away.
	ErrTaken = errors.New("the flow's id is that of one in the trash")
	// ErrNoParent: the node that is to be continued is no longer in the flow.
	ErrNoParent = errors.New("the node that it continues is not in the flow")
	// ErrAway: flowstore does not answer. It may later.
	ErrAway = errors.New("flowstore does not answer")
)

// RefusedError is a node that flowstore will never take.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "flowstore refuses it: " + e.Why }

// Flow is one that is to be made.
type Flow struct {
	ID                 uuid.UUID
	Title, Description string
}

// Flows stores conversations. Errors that are not named here may be over at another time.
type Flows interface {
	// Begin makes a flow. That it is there already is no error. ErrTaken, ErrAway.
	Begin(ctx context.Context, ns string, f Flow) error
	// Add stores a node with its place. That it is stored already is no error. ErrNoFlow, ErrNoParent, ErrAway, *RefusedError.
	Add(ctx context.Context, ns string, a generation.Addition) error
}

// page is how much is read of an outbox, or of a list of sessions, at once.
const page = 100

// Writer stores what is to be stored. Safe for concurrent use: what two of them store is there once.
type Writer struct {
	ledger *ledger.Ledger
	flows  Flows
	ask    time.Duration
}

// NewWriter makes a Writer. ask is how long flowstore may take for one call.
func NewWriter(l *ledger.Ledger, flows Flows, ask time.Duration) *Writer {
	return &Writer{l, flows, ask}
}

// Flush stores the nodes of a session that are not stored yet, in their order. An error says why some are left; they are stored by a
// later call.
func (w *Writer) Flush(ctx context.Context, ns, session string) error {
	for {
		all, err := w.left(ctx, ns, session)
		if err != nil || len(all) == 0 {
			return err
		}
		for _, o := range all {
			if err := w.tell(ctx, ns, o); err != nil {
				return fmt.Errorf("turn %d of session %s is not in its flow yet: %w", o.N, session, err)
			}
			if err := w.ledger.Told(ctx, ns, session, o.N); err != nil {
				return err
			}
		}
	}
}

func (w *Writer) left(ctx context.Context, ns, session string) (all []store.Outgoing, err error) {
	err = w.ledger.Read(ctx, ns, func(v store.View) error {
		all, err = v.Outgoing(session, 0, page)
		return err
	})
	return all, err
}

// tell stores one node; nil is for whatever need not be tried again.
func (w *Writer) tell(ctx context.Context, ns string, o store.Outgoing) error {
	s, err := w.ledger.Get(ctx, ns, o.Session)
	if errors.Is(err, store.ErrNotFound) {
		return nil // It was deleted, and what was said in it is gone.
	}
	if err != nil {
		return err
	}
	a, x, err := w.addition(ctx, ns, s, o)
	if err != nil {
		return err
	}
	err = w.add(ctx, ns, s, a, x)
	var refused *RefusedError
	if errors.As(err, &refused) {
		return w.say(ctx, ns, s.ID, fmt.Sprintf("turn %d is not in the flow of the session: %v", o.N, err))
	}
	return err
}

// addition is the node of a turn and its place.
func (w *Writer) addition(ctx context.Context, ns string, s ledger.Session, o store.Outgoing) (a generation.Addition, x Exchange, err error) {
	var to sent
	if err := json.Unmarshal(o.Body, &to); err != nil {
		return a, x, err
	}
	err = w.ledger.Read(ctx, ns, func(v store.View) error {
		t, err := v.Text(s.ID, to.Text)
		if err != nil {
			return fmt.Errorf("the text %s: %w", to.Text, err)
		}
		return json.Unmarshal(t.Body, &x)
	})
	if err != nil {
		return a, x, err
	}
	a = generation.Addition{Node: x.node(NodeID(s.ID, int(o.N))), SetCurrent: !to.Aside}
	if a.Flow, err = uuid.Parse(s.Flow); err != nil {
		return a, x, err
	}
	if to.Parent != "" {
		a.Parent, err = uuid.Parse(to.Parent)
	}
	return a, x, err
}

// add stores a node. The flow is made when the first node needs it; one that a person took away is not written to again: what comes then
// begins another one. A node whose parent was taken away begins the conversation anew in its flow.
func (w *Writer) add(ctx context.Context, ns string, s ledger.Session, a generation.Addition, x Exchange) error {
	err := w.put(ctx, ns, a)
	if errors.Is(err, ErrNoFlow) {
		if a.Flow, err = w.begin(ctx, ns, s, x, a.Flow); err != nil {
			return err
		}
		err = w.put(ctx, ns, a)
	}
	return err
}

// put stores a node, as a root where its parent is gone.
func (w *Writer) put(ctx context.Context, ns string, a generation.Addition) error {
	err := w.limited(ctx, func(ctx context.Context) error { return w.flows.Add(ctx, ns, a) })
	if errors.Is(err, ErrNoParent) {
		a.Parent = uuid.Nil
		err = w.limited(ctx, func(ctx context.Context) error { return w.flows.Add(ctx, ns, a) })
	}
	return err
}

// begin makes the flow of a session, and another one where a person took that away. It gives the one that is there now.
func (w *Writer) begin(ctx context.Context, ns string, s ledger.Session, x Exchange, flow uuid.UUID) (uuid.UUID, error) {
	begin := func(flow uuid.UUID) error {
		return w.limited(ctx, func(ctx context.Context) error {
			return w.flows.Begin(ctx, ns, Flow{ID: flow, Title: title(s, x), Description: "sessions/" + s.ID})
		})
	}
	err := begin(flow)
	if !errors.Is(err, ErrTaken) {
		return flow, err
	}
	if flow, err = w.another(ctx, ns, s.ID, flow); err != nil {
		return flow, err
	}
	return flow, begin(flow)
}

// another has the session go on in the flow behind one that was taken away.
func (w *Writer) another(ctx context.Context, ns, session string, gone uuid.UUID) (flow uuid.UUID, err error) {
	_, err = w.ledger.Change(ctx, ns, session, system, func(c *ledger.Work) error {
		if c.Session.Flow != gone.String() { // Another writer was here.
			flow, err = uuid.Parse(c.Session.Flow)
			return err
		}
		flow = flowAfter(gone)
		c.Session.Flow = flow.String()
		note(c, "its flow was deleted: the conversation goes on in flows/"+flow.String())
		return nil
	})
	return flow, err
}

// say tells a notice of the session.
func (w *Writer) say(ctx context.Context, ns, session, text string) error {
	_, err := w.ledger.Change(ctx, ns, session, system, func(c *ledger.Work) error {
		note(c, text)
		return nil
	})
	return err
}

// system is the actor of what nobody asked for just now.
var system = audit.Actor{Name: "agent", Kind: audit.System}

// note writes a notice with its row.
func note(c *ledger.Work, text string) {
	c.Session.Notice(text)
	c.Row(audit.Entry{Kind: audit.Update, Verdict: "NOTED", Reason: text, ArgsDigest: string(canon.Sum([]byte(text)))})
}

// limited bounds one call.
func (w *Writer) limited(ctx context.Context, call func(context.Context) error) error {
	ctx, stop := context.WithTimeout(ctx, w.ask)
	defer stop()
	return call(ctx)
}
