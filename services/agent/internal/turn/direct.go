package turn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Why a call without a model does not start: a turn has begun meanwhile, or the very call has, sent twice at once.
const (
	voidTurn  session.Reason = "TURN_OPEN"
	voidAgain session.Reason = "AGAIN"
)

// Call is a call that a person makes without a model.
type Call struct {
	Session, Tool string
	// Args are JSON.
	Args []byte
	// DryRun: it is judged and nothing more.
	DryRun bool
	// Digest is that of the caller's own dry run. A call that the policy asks about needs it; where it is given, nothing else is made than what
	// was shown. Unshown acknowledges that not all was.
	Digest  canon.Hash
	Unshown bool
	Who     gate.Who
	// ID is the call's own, of whoever sends it again where they do not know what became of it: it is made once (S15). Empty: another each time.
	ID string
}

// asked is what tells one call from another of the same ID.
func (c Call) asked() canon.Hash {
	return canon.Sum(fmt.Appendf(nil, "%q %q %q %t", c.Tool, c.Args, c.Digest, c.Unshown))
}

// made is a call with an ID of its own, from its INTENT on. State is empty until its outcome is known.
type made struct {
	Asked  canon.Hash   `json:"asked"`
	State  router.State `json:"state,omitempty"`
	Result tool.Result  `json:"result,omitzero"`
}

// Called is what became of it.
type Called struct {
	Explained
	// Digest is that of a dry run.
	Digest canon.Hash
	// State is empty after a dry run, and for a read that was not asked about. Result is as a model would be told.
	State  router.State
	Result tool.Result
	// Warning is what went wrong after the outcome was written down.
	Warning string
	// Replayed: it was made before, by the same ID.
	Replayed bool
}

// replayed is the answer to a call that was made before.
func (m *made) replayed() Called {
	if m == nil {
		return Called{}
	}
	return Called{State: m.State, Result: m.Result, Replayed: true}
}

// Call makes a call in the folder of a session without a model, by the same pipeline and under the same lock (C76). It moves no step and raises
// no gate: a call that the policy asks about needs the role approver, and the digest of the caller's own dry run, which no later call can use
// again. What is stopped is a result and no error. *gate.Refusal; *ledger.FieldsError of a tool of the client; *session.RefusedError while a turn
// is open or another such call runs; store.ErrNotFound; store.ErrTaken for another call of the same ID.
func (e *Engine) Call(ctx context.Context, ns string, c Call) (Called, error) {
	if c.Who.Session != "" || c.Who.Name == "" {
		return Called{}, &gate.Refusal{Code: gate.NotPerson, Why: "only a person calls a tool without a model"}
	}
	s, err := e.Ledger.Get(ctx, ns, c.Session)
	if err != nil {
		return Called{}, err
	}
	if s.Direct != nil && !e.Clock.Now().Before(s.Direct.Until) {
		if err := e.settleDirect(ctx, ns, s); err != nil {
			return Called{}, err
		}
		if s, err = e.Ledger.Get(ctx, ns, c.Session); err != nil {
			return Called{}, err
		}
	}
	if was, err := e.again(ctx, ns, c); err != nil || was != nil {
		return was.replayed(), err
	}
	if no := idle(s); no != nil {
		return Called{}, no
	}
	d := &direct{Engine: e, ns: ns, s: s, by: c.Who.Actor(), rs: e.outside(ns, s, c.Who.Roles), call: cmp.Or(c.ID, e.IDs.ID())}
	if c.ID != "" {
		d.asked = c.asked()
	}
	if d.r, err = e.Tools.Router(ctx, ns, s); err != nil {
		return Called{}, err
	}
	d.judged = d.r.Judge(ctx, d.rs, router.Call{ID: d.call, Tool: c.Tool, Args: c.Args})
	if err := ctx.Err(); err != nil {
		return Called{}, err
	}
	out := Called{Explained: e.explained(ns, s, c.Who, d.judged), Result: d.judged.Result()}
	switch {
	case d.judged.Tool != nil && d.judged.Tool.Origin.Kind == tool.Client:
		return Called{}, &ledger.FieldsError{Wrong: []session.Violation{{
			Field: "tool", Description: "must not be a tool of the client: its caller carries it out without the service",
		}}}
	case !c.DryRun:
		return d.make(ctx, c, out)
	}
	if out.Approval != nil && out.NotAsked == "" && c.Who.Approves() {
		out.Digest, err = d.judged.Digest(ownDryRun(s, c.Who), "")
	}
	return out, err
}

// again is what became of a call that was made before; nil: it was not. *session.RefusedError: its outcome is not known yet.
func (e *Engine) again(ctx context.Context, ns string, c Call) (*made, error) {
	if c.ID == "" {
		return nil, nil //nolint:nilnil // see above
	}
	var was *made
	err := e.read(ctx, ns, c.Session, func(t reader) (err error) {
		was, err = t.made(c.ID)
		return err
	})
	switch {
	case err != nil || was == nil:
		return nil, err
	case was.Asked != c.asked():
		return nil, store.ErrTaken
	case was.State == "":
		return nil, &session.RefusedError{Code: session.RefusedState, Why: "this very call is at work still: send it again later"}
	}
	return was, nil
}

// made is a call with an ID of its own that has begun; nil: none of that ID has.
func (r reader) made(call string) (*made, error) {
	var was made
	err := r.json(madeOf(call), &was)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // see above
	}
	return &was, err
}

// idle says why nobody may call something without a model now; nil: they may.
func idle(s ledger.Session) *session.RefusedError {
	switch l := s.State.Lifecycle; {
	case s.State.Turn.Running != session.NoTurn || l == session.Canceling:
		return &session.RefusedError{Code: session.RefusedState, Why: "a turn of the session is open: call the tool when it has ended"}
	case l == session.Failed:
		return &session.RefusedError{Code: session.RefusedState, Why: "the session's record is broken: it can be read, and nothing is called in it"}
	case s.Direct != nil:
		return &session.RefusedError{Code: session.RefusedState, Why: fmt.Sprintf("another call without a model is at work in the session, at the latest until %s", s.Direct.Until.UTC().Format(time.RFC3339))}
	}
	return nil
}

// direct is a call without a model that is being carried out. It is the router's Journal.
type direct struct {
	*Engine
	ns     string
	s      ledger.Session
	by     audit.Actor
	r      router.Router
	rs     router.Session
	call   string
	judged router.Judged
	ok     router.Approved
	// asked is that of a call with an ID of its own.
	asked canon.Hash
}

// make carries it out.
func (d *direct) make(ctx context.Context, c Call, out Called) (Called, error) {
	j := d.judged
	if j.Stop != nil { // Perhaps by what the very call has done, sent twice at once: a file that is there by now.
		if was, err := d.again(ctx, d.ns, c); err != nil || was != nil {
			return was.replayed(), err
		}
	}
	switch {
	case j.Stop != nil || j.Verdict() == policy.Deny:
		return out, d.write(ctx, j.Entries("")...)
	case j.Reads() && j.Verdict() == policy.Allow:
		out.Result = d.r.ReadAll(ctx, 1, j)[0].Result
		return out, errors.Join(ctx.Err(), d.write(ctx, j.Entries("")...))
	}
	if no := d.refused(c, out); no != nil {
		return out, errors.Join(d.write(ctx, audit.Entry{
			Kind: audit.Refusal, Verdict: string(no.Code), Reason: no.Why, CallHash: string(j.CallHash), ArgsDigest: string(j.ArgsDigest),
		}), no)
	}
	if c.Digest != "" {
		d.ok = router.Approved{Approval: ownDryRun(d.s, c.Who), CallHash: j.CallHash, Digest: c.Digest}
	}
	ran, err := d.r.Run(ctx, j, d.ok, 1, d)
	if ran.Void != nil && ran.Void.Reason == voidAgain {
		was, err := d.again(ctx, d.ns, c)
		return was.replayed(), err
	}
	out.State, out.Result, out.Warning = ran.State, ran.Result, ran.Warning
	return out, err
}

// refused says why a call that the policy asks about is not made.
func (d *direct) refused(c Call, out Called) *gate.Refusal {
	no := func(code gate.Code, why string) *gate.Refusal { return &gate.Refusal{Code: code, Why: why} }
	switch hidden := out.Approval == nil || out.Approval.Hidden; {
	case d.judged.Verdict() != policy.Ask:
		return nil
	case !slices.Contains(c.Who.Roles, policy.RoleApprover):
		return no(gate.NotApprover, "the policy asks about this call: making it needs the role "+policy.RoleApprover)
	case !d.Terms.RequesterMayApprove:
		return no(gate.OwnRequest, "the policy asks about this call, and nobody may approve what they ask for")
	case c.Digest == "":
		return no(gate.WrongDigest, "the policy asks about this call: make a dry run, look at what it shows, and send its digest")
	case hidden && !d.Terms.ApproveUnshown:
		return no(gate.NeverUnshown, "not all of it can be shown, and the configuration lets nobody approve such a call")
	case hidden && !c.Unshown:
		return no(gate.Unshown, "not all of it can be shown: acknowledge that to make it all the same")
	}
	return nil
}

// write writes rows of a call that changes nothing.
func (d *direct) write(ctx context.Context, all ...audit.Entry) error {
	_, err := d.Ledger.Change(ctx, d.ns, d.s.ID, d.by, func(w *ledger.Work) error {
		rows(w, all)
		return nil
	})
	return err
}

// Begin implements router.Journal.
func (d *direct) Begin(ctx context.Context, i router.Intent, recheck router.Recheck) error {
	var void *router.VoidError
	_, err := d.Ledger.Change(ctx, d.ns, d.s.ID, d.by, func(w *ledger.Work) error {
		if err := w.Trusted(); err != nil {
			return err
		}
		void = nil
		err := d.fresh(w)
		if errors.As(err, &void) {
			return nil // and nothing is written of it
		}
		if err != nil {
			return err
		}
		if void, err = d.check(ctx, w, i, recheck); err != nil {
			return err
		}
		if void != nil {
			w.Row(i.VoidEntry(d.rs, void))
			return nil //nolint:nilerr // that it is void is written, and then given
		}
		if d.ok.Approval != "" {
			w.Session.Directs++
			w.Row(audit.Entry{
				Kind: audit.Approve, Verdict: string(session.Approve), Reason: "by the digest of their own dry run", CallHash: string(i.CallHash), Digest: string(i.Digest),
				ArgsDigest: string(i.ArgsDigest),
			})
		} else {
			rows(w, d.judged.Entries(""))
		}
		begun := i.Entry(d.rs)
		begun.Actor = d.by
		w.Row(begun)
		w.Session.Direct = &ledger.Direct{Call: i.Call, Until: w.Now.Add(d.judged.Tool.Timeout + 2*router.EndWait)}
		if d.asked != "" {
			if err := putJSON(w, madeOf(i.Call), made{Asked: d.asked}); err != nil {
				return err
			}
		}
		return putJSON(w, intentOf(i.Call), i)
	})
	if err == nil && void != nil {
		return void
	}
	return err
}

// fresh says whether a call with an ID of its own begins for the first time: no other one of that ID can begin until the change is stored.
// *router.VoidError.
func (d *direct) fresh(w *ledger.Work) error {
	if d.asked == "" {
		return nil
	}
	was, err := (reader{view: w.Tx, session: w.Session.ID}).made(d.call)
	if err != nil || was == nil {
		return err
	}
	return &router.VoidError{Reason: voidAgain, Why: "the call was sent twice, and has begun already"}
}

// check judges once more what may start (C47, C48).
func (d *direct) check(ctx context.Context, w *ledger.Work, i router.Intent, recheck router.Recheck) (*router.VoidError, error) {
	if no := idle(*w.Session); no != nil {
		return &router.VoidError{Reason: voidTurn, Why: no.Why}, nil
	}
	if d.ok.Approval != "" && w.Session.Directs != d.s.Directs {
		return &router.VoidError{Reason: session.VoidStale, Why: "another call was made meanwhile: the digest was used up, make a dry run again"}, nil
	}
	r, err := d.Tools.Router(ctx, d.ns, *w.Session) // and not that of the call: policy and tools may have changed since
	if err != nil {
		return nil, err
	}
	err = recheck(ctx, router.Now{
		Tools: r.Tools, Engine: r.Engine, Standing: standing(*w.Session), InExecution: true, Roles: d.rs.Roles, Time: w.Now,
		LikeUnknown: slices.Contains(w.Session.Talk.Unknown, string(i.CallHash)) && d.ok.Approval == "",
	})
	var void *router.VoidError
	if errors.As(err, &void) {
		return void, nil
	}
	return nil, err
}

// End implements router.Journal. Where nobody knows nobody is asked, since there is no turn that could wait: an equal call is asked about whatever
// rules say (C49).
func (d *direct) End(ctx context.Context, e router.Ending) error {
	_, err := d.Ledger.Change(ctx, d.ns, d.s.ID, d.by, func(w *ledger.Work) error {
		if now := w.Session.Direct; now == nil || now.Call != e.Intent.Call {
			return nil // Somebody else has found out meanwhile.
		}
		w.Row(e.Entry(d.rs))
		w.Session.Direct = nil
		if t := &w.Session.Talk; e.State == router.Unknown {
			w.Session.Doubt(e.Intent.Call)
			t.Unknown = latest(append(t.Unknown, string(e.Intent.CallHash)), ledger.MaxHashes)
		}
		return d.ended(w, e)
	})
	return err
}

// ended keeps the outcome of a call with an ID of its own for whoever sends it again.
func (d *direct) ended(w *ledger.Work, e router.Ending) error {
	was, err := (reader{view: w.Tx, session: w.Session.ID}).made(e.Intent.Call)
	if err != nil || was == nil {
		return err
	}
	was.State, was.Result = e.State, e.Result
	return putJSON(w, madeOf(e.Intent.Call), was)
}

// settleDirect finds out what became of a call without a model whose time is over and of which nothing is written.
func (e *Engine) settleDirect(ctx context.Context, ns string, s ledger.Session) error {
	d := &direct{Engine: e, ns: ns, s: s, by: system, rs: e.outside(ns, s, nil), call: s.Direct.Call}
	var i router.Intent
	err := e.read(ctx, ns, s.ID, func(t reader) error { return t.json(intentOf(d.call), &i) })
	if err != nil {
		return err
	}
	d.r = e.left(ctx, ns, s)
	_, err = d.r.Reconcile(ctx, i, d)
	return err
}
