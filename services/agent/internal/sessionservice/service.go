// Package sessionservice is what callers do with sessions: make, read, change and delete them, send messages, decide, watch, and look at the
// audit. Each call is about one session or approval of the caller's namespace; whatever else it names is not there (field/review-agent.md S13).
package sessionservice

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/watch"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// Roots are the work folders of the configuration.
type Roots interface {
	Root(ns, name string) (folder.Root, error)
}

// Models are the model servers by name.
type Models interface {
	Generator(name string) (llm.Generator, error)
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// IDs makes ids.
type IDs interface{ ID() string }

// Runner carries sessions on.
type Runner interface {
	// Send takes a message; it is stored when Send returns.
	Send(ctx context.Context, ns, id string, m turn.Message) (turn.Receipt, error)
	// Wake has a session looked at that a caller changed.
	Wake(caller context.Context, ns, id string)
}

// Flows has turns stored as nodes of a flow.
type Flows interface {
	// Flush stores those of a session that are not stored yet. conversation.ErrAway where flowstore does not answer.
	Flush(ctx context.Context, ns, session string) error
}

// Deps are what a Service is given.
type Deps struct {
	Ledger   *ledger.Ledger
	Engine   *turn.Engine
	Runner   Runner
	Desk     *clienttool.Desk
	Flows    Flows
	Roots    Roots
	Models   Models
	Policies *policy.Set
	IDs      IDs
	Clock    Clock
}

// Service answers callers. Safe for concurrent use.
type Service struct {
	Deps
	watches *watch.Service
}

// New makes a Service.
func New(d Deps) *Service {
	texts := turn.Texts{Ledger: d.Ledger}
	return &Service{Deps: d, watches: &watch.Service{Ledger: d.Ledger, Texts: texts}}
}

// Who is a caller, as authentication has verified it.
type Who = gate.Who

// NotFoundError says that there is no such thing for the caller.
type NotFoundError struct{ What, ID string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("there is no %s %s", e.What, e.ID) }

// ReusedError says that a request id was used for another request.
type ReusedError struct{ RequestID string }

func (e *ReusedError) Error() string {
	return fmt.Sprintf("the request id %s was used for another request", e.RequestID)
}

// found makes of what the store does not have what a caller is told.
func found(what, id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{what, id}
	}
	return err
}

const (
	aSession   = "session"
	anApproval = "approval"
)

// own is the id that a request of a caller makes for a thing: the same for the same request, another one for another caller's (S15).
func own(w Who, request, what string) string {
	id, err := uuid.Parse(request)
	if err != nil {
		return ""
	}
	return uuid.NewSHA1(id, []byte(what+"\x00"+w.Name)).String()
}

// View is a session with what is read beside it.
type View struct {
	ledger.Session
	// Question is the text of what the model has asked.
	Question string
	// Warnings are what does not fit together among the five items, a sentence each.
	Warnings []string
	// Open are the calls that the client has to carry out.
	Open []clienttool.OpenCall
	// Worked is how long it has worked for the last message of a person, up to now.
	Worked time.Duration
}

// View reads what is shown of a session.
func (s *Service) View(ctx context.Context, ns string, of ledger.Session) (v View, err error) {
	v = View{Session: of, Warnings: turn.Warnings(of), Worked: of.WorkedUntil(s.Clock.Now())}
	if of.State.Question.ID != "" {
		v.Question = of.Asked
	}
	if len(of.Tools) > 0 {
		v.Open, err = s.Desk.Open(ctx, ns, of)
	}
	return v, err
}

// Get gives a session. *NotFoundError, *ledger.BrokenError.
func (s *Service) Get(ctx context.Context, w Who, id string) (View, error) {
	got, err := s.Ledger.Get(ctx, w.Namespace, id)
	if err != nil {
		return View{}, found(aSession, id, err)
	}
	return s.View(ctx, w.Namespace, got)
}

// Listed is an entry of a list.
type Listed struct {
	View
	// Broken is why the session cannot be read: then only its ID, Owner, Created and Version are known. nil: it can.
	Broken *ledger.BrokenError
	// Place is where the entry is: a page behind it begins there.
	Place store.Place
}

// List gives sessions behind a place, newest first, those that cannot be read among them. An error ends them.
func (s *Service) List(ctx context.Context, w Who, f store.SessionFilter, after store.Place) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		for one, err := range s.Ledger.List(ctx, w.Namespace, f, after) {
			e := Listed{View: View{Session: one.Session}, Broken: one.Broken, Place: one.Place()}
			if err == nil && e.Broken == nil {
				e.View, err = s.View(ctx, w.Namespace, one.Session)
			}
			if errors.As(err, &e.Broken) {
				err = nil
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Watch tells what happens to a session. *NotFoundError, *watch.GapError.
func (s *Service) Watch(ctx context.Context, w Who, id string, from *int64) (*watch.Stream, error) {
	stream, err := s.watches.Watch(ctx, w.Namespace, id, from)
	return stream, found(aSession, id, err)
}

// Cancel stops the task of a session; hard: what runs is given no grace. *NotFoundError, *session.RefusedError.
func (s *Service) Cancel(ctx context.Context, w Who, id, turnID string, hard bool) (View, error) {
	stop := s.Engine.Cancel
	if hard {
		stop = s.Engine.CancelHard
	}
	got, err := stop(ctx, w.Namespace, id, turnID, w.Actor())
	if err != nil {
		return View{}, found(aSession, id, err)
	}
	s.changed(ctx, w, id)
	return s.View(ctx, w.Namespace, got)
}

// Violations are fields that cannot be taken, all of them.
type Violations = ledger.FieldsError

func wrong(field, format string, args ...any) session.Violation {
	return session.Violation{Field: field, Description: fmt.Sprintf(format, args...)}
}
