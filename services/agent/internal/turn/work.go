package turn

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// job is a call that is being carried out. It is the router's Journal.
type job struct {
	*Engine
	ns   string
	s    ledger.Session
	call session.Call
	r    router.Router
	rs   router.Session
}

func (e *Engine) job(ns string, s ledger.Session, r router.Router, id string) *job {
	j := &job{Engine: e, ns: ns, s: s, r: r, rs: e.session(ns, s, s.State.Step)}
	j.rs.Guard = nil // It was charged when it was proposed (C67).
	j.rs.Denied = nil
	for _, c := range s.State.Calls {
		if c.ID == id {
			j.call = c
		}
	}
	return j
}

// errLapsed is why an approved call does not start too late (C37).
var errLapsed = &router.VoidError{Reason: session.VoidLapsed, Why: "the time within which the approved call had to start is over"}

// missing parks a call for which the configuration has something no more: its approval stays, and the call starts when that is there again (2b), if its time
// to start is not over by then (C37).
func (e *Engine) missing(ctx context.Context, ns, id string, why error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return e.apply(ctx, ns, id, session.ParkedFor{
		Why: "the call cannot start: " + why.Error() + "; mend that in the configuration, and it starts by itself, or cancel the turn",
	})
}

// begin carries out a call that may start: it is judged anew, and starts only by an INTENT that judges once more (C47, C48).
func (e *Engine) begin(ctx context.Context, ns string, s ledger.Session, id string) error {
	r, err := e.Tools.Router(ctx, ns, s)
	j := e.job(ns, s, r, id)
	switch {
	case j.call.Due(e.Clock.Now()): // also where it waits for what is away, and would for ever
		return j.void(ctx, errLapsed, errLapsed.Result())
	case err != nil:
		return e.missing(ctx, ns, s.ID, err)
	}
	var args string
	var ok router.Approved
	err = e.read(ctx, ns, s.ID, func(t reader) (err error) {
		if args, err = t.text(argsOf(id)); err != nil || j.call.Approval == "" {
			return err
		}
		a, err := t.approval(j.call.Approval)
		ok = router.Approved{Approval: j.call.Approval, Salt: a.Salt, CallHash: canon.Hash(s.Calls[id].Hash), Digest: canon.Hash(j.call.Digest)}
		return err
	})
	if err != nil {
		return err
	}
	one := router.Call{ID: id, Tool: s.Calls[id].Tool, Args: []byte(args)}
	judged := j.r.Judge(ctx, j.rs, one)
	if server := met(s, one.Tool); judged.Tool == nil && server != "" { // It may have been started just now, with this process.
		told := e.Tools.Await(ctx, ns, server)
		if j.r, err = e.Tools.Router(ctx, ns, s); err != nil {
			return e.missing(ctx, ns, s.ID, err)
		}
		if judged = j.r.Judge(ctx, j.rs, one); judged.Tool == nil && !told {
			return j.apply(ctx, ns, s.ID, session.ParkedFor{Why: "the server of the tool " + one.Tool + " has not told its tools since the service was started"})
		}
	}
	if ok.CallHash == "" && judged.CallHash != "" && string(judged.CallHash) != s.Calls[id].Hash { // What was approved, Run looks at.
		v := &router.VoidError{Reason: session.VoidPolicy, Why: "it is no longer the call that was allowed: its tool, its arguments or its work folder is another one"}
		return j.void(ctx, v, v.Result())
	}
	ran, err := j.r.Run(ctx, judged, ok, j.call.Attempts+1, j)
	var on *router.GoesOnError
	if errors.As(err, &on) {
		return nil // INTENT is written: what is to be done next, or that nothing is, shows in the session.
	}
	if err != nil {
		return refusedAlready(err)
	}
	return j.ran(ctx, ran)
}

// met is the MCP server of a tool, where the session has met it; else empty.
func met(s ledger.Session, name string) string {
	for server := range s.Pins {
		if strings.HasPrefix(name, server+tool.Separator) {
			return server
		}
	}
	return ""
}

// ran tells the session of a call that has not begun: what has is told by the journal.
func (j *job) ran(ctx context.Context, ran router.Ran) error {
	switch ran.State {
	case router.Parked:
		return j.apply(ctx, j.ns, j.s.ID, session.ParkedFor{Why: ran.Result.Text})
	case router.Refused:
		return j.void(ctx, ran.Void, ran.Result)
	case router.Voided:
		if ran.Intent == nil {
			return j.void(ctx, ran.Void, ran.Result)
		}
	default:
	}
	return nil
}

// void closes a call that will not start.
func (j *job) void(ctx context.Context, v *router.VoidError, result tool.Result) error {
	_, err := j.Ledger.Change(ctx, j.ns, j.s.ID, system, func(w *ledger.Work) error { return j.voided(w, v, nil, result) })
	return refusedAlready(err)
}

func (j *job) voided(w *ledger.Work, v *router.VoidError, i *router.Intent, result tool.Result) error {
	intent := router.Intent{Call: j.call.ID, CallHash: canon.Hash(j.s.Calls[j.call.ID].Hash), ArgsDigest: canon.Hash(j.s.Calls[j.call.ID].Hash), Digest: canon.Hash(j.call.Digest)}
	if i != nil {
		intent = *i
	}
	w.Row(intent.VoidEntry(j.rs, v))
	if err := putJSON(w, resultOf(j.call.ID), result); err != nil {
		return err
	}
	_, err := w.Apply(session.Began{Call: j.call.ID, Digest: j.call.Digest, Void: v.Reason, At: w.Now}, gate.Change{})
	return err
}

// Begin implements router.Journal: all checks and INTENT are one transaction.
func (j *job) Begin(ctx context.Context, i router.Intent, recheck router.Recheck) error {
	var void *router.VoidError
	_, err := j.Ledger.Change(ctx, j.ns, j.s.ID, system, func(w *ledger.Work) error {
		void = nil
		r, err := j.Tools.Router(ctx, j.ns, *w.Session) // and not that of the job: policy and tools may have changed since
		if err != nil {
			return err
		}
		now := router.Now{
			Tools: r.Tools, Engine: r.Engine, InExecution: w.Session.State.Step == session.Execution, Roles: j.rs.Roles, Time: w.Now,
			Standing:    standing(*w.Session),
			LikeUnknown: slices.Contains(w.Session.Talk.Unknown, string(i.CallHash)) && j.call.Approval == "",
		}
		if err := recheck(ctx, now); err != nil {
			if !errors.As(err, &void) {
				return err
			}
			return j.voided(w, void, &i, void.Result())
		}
		i.At = w.Now
		w.Row(i.Entry(j.rs))
		if err := putJSON(w, intentOf(i.Call), i); err != nil {
			return err
		}
		if _, err := w.Apply(session.Began{Call: i.Call, Digest: j.call.Digest, At: w.Now}, gate.Change{}); err != nil {
			return err
		}
		if t, ok := r.Tools.Find(i.Tool); ok && t.Origin.Kind == tool.Client {
			w.ForClient(i.Call, t.Timeout)
		}
		for _, c := range w.Session.State.Calls {
			if c.ID == i.Call && c.Progress != session.Intent { // its time to start is over (C37)
				void = errLapsed
			}
		}
		return nil
	})
	if err == nil && void != nil {
		return void
	}
	return err
}

// End implements router.Journal.
func (j *job) End(ctx context.Context, e router.Ending) error {
	_, err := j.Ledger.Change(ctx, j.ns, j.s.ID, system, func(w *ledger.Work) error {
		executed(w, e)
		w.Row(e.Entry(j.rs))
		event, change, err := j.outcome(w, e)
		if err != nil {
			return err
		}
		if err := putJSON(w, resultOf(e.Intent.Call), e.Result); err != nil {
			return err
		}
		return j.carry(w, event, change)
	})
	return err
}

// outcome is the event of an ending. Where nobody knows, a person is asked (C49); while the work is being stopped nobody is (C53).
func (j *job) outcome(w *ledger.Work, e router.Ending) (session.Event, gate.Change, error) {
	id := e.Intent.Call
	switch e.State {
	case router.Executed:
		args, err := (reader{view: w.Tx, session: w.Session.ID, fresh: w.Fresh()}).text(argsOf(id))
		if err != nil {
			return nil, gate.Change{}, err
		}
		w.Session.Spent.Bytes += written(e.Intent.Tool, []byte(args))
		w.Session.Memory.Operations++
		if e.Intent.Before == folder.Absent && (e.Intent.Tool == tool.Write || e.Intent.Tool == tool.Create) {
			w.Session.Memory.Files++
		}
		referTo(w.Session, e.Intent.Tool, []byte(args))
		return session.Ended{Call: id}, gate.Change{}, nil
	case router.NotDone:
		return session.ProvenUndone{Call: id}, gate.Change{}, nil
	case router.Unknown:
	default:
		return session.Ended{Call: id, Failed: true}, gate.Change{}, nil
	}
	w.Session.Doubt(id)
	t := &w.Session.Talk
	t.Unknown = latest(append(t.Unknown, string(e.Intent.CallHash)), ledger.MaxHashes)
	if w.Session.State.Lifecycle == session.Canceling || w.Session.State.Turn.Running == session.Stopping {
		return session.NotProven{Call: id}, gate.Change{}, nil
	}
	about, err := j.unproven(w, e)
	if err != nil {
		return nil, gate.Change{}, err
	}
	made, err := gate.ForOutcome(about)
	if err != nil {
		// Nobody can be asked. The model is told that nobody knows, and an equal call is asked about whatever rules say (C49).
		return session.Ended{Call: id, Failed: true}, gate.Change{}, nil //nolint:nilerr // it would fail again, for ever
	}
	if err := j.show(w, made); err != nil {
		return nil, gate.Change{}, err
	}
	a := made.Approval
	return session.NotProven{Call: id, Approval: a.ID, Digest: string(a.Digest), Until: a.Expires}, gate.Change{Made: []gate.Approval{a}}, nil
}

// unproven is what a person is told of a call of which nobody knows what became.
func (j *job) unproven(w *ledger.Work, e router.Ending) (out gate.Outcome, err error) {
	id, s, texts := e.Intent.Call, w.Session, reader{view: w.Tx, session: w.Session.ID}
	var begun router.Intent // The one that is stored says when.
	if err := texts.json(intentOf(id), &begun); err != nil {
		return out, err
	}
	args, err := texts.text(argsOf(id))
	if err != nil {
		return out, err
	}
	return gate.Outcome{
		Origin: gate.Origin{
			ID: j.IDs.ID(), Salt: j.IDs.ID(), Namespace: j.ns, Session: s.ID, Task: s.Task, Turn: s.State.Turn.ID, Call: id, Seq: w.Seq(), Requester: requester(*s), Owner: s.Owner, Now: w.Now,
			Life: j.Limits.Approval,
		},
		Tool: e.Intent.Tool, Root: e.Intent.Root, Args: j.begunWith(begun, args), Began: begun.At, Why: e.Result.Reason(),
		Subject: canon.Outcome{Call: e.Intent.CallHash, Targets: changes(e.Intent), Intent: w.Seq(), Attempt: int64(e.Intent.Attempt)},
	}, nil
}

// begunWith are the arguments with which a call has begun: those of its INTENT, or, of a change of a file, what was proposed as its tool takes it.
func (j *job) begunWith(i router.Intent, proposed string) []byte {
	if i.Args != "" {
		return []byte(i.Args)
	}
	if j.r.Tools == nil {
		return []byte(proposed)
	}
	if t, ok := j.r.Tools.Find(i.Tool); ok && t.Hash == i.Definition {
		if checked, err := t.Check([]byte(proposed)); err == nil {
			return checked.Args
		}
	}
	return []byte(proposed)
}

// reconcile finds out what became of a call that has begun, of which nothing is written.
func (e *Engine) reconcile(ctx context.Context, ns string, s ledger.Session, id string) error {
	var i router.Intent
	if err := e.read(ctx, ns, s.ID, func(t reader) error { return t.json(intentOf(id), &i) }); err != nil {
		return err
	}
	j := e.job(ns, s, e.left(ctx, ns, s), id)
	_, err := j.r.Reconcile(ctx, i, j)
	return refusedAlready(err)
}

// left finds out what became of a call with whatever of its session can still be had: that a folder or policy left the configuration must not keep a
// session from ever being stopped. What cannot be found out so nobody can tell.
func (e *Engine) left(ctx context.Context, ns string, s ledger.Session) router.Router {
	r, err := e.Tools.Router(ctx, ns, s)
	if err != nil {
		r.Missing = err.Error()
	}
	return r
}
