package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/envelope"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// maxTries is how often a changed call is judged anew because its session changed meanwhile.
const maxTries = 5

// errMoved: the session changed while a changed call was judged.
var errMoved = errors.New("the session changed meanwhile")

// editedOf is the text of the arguments that a person gave a call.
func editedOf(call string) string { return call + "/edited" }

// edited are the arguments that a person gave a call; empty where nobody did.
func (r reader) edited(call string) (string, error) {
	args, err := r.text(editedOf(call))
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return args, err
}

// edit is a call whose arguments a person changes, judged outside of the transaction that writes it.
type edit struct {
	version int64
	judged  router.Judged
}

// edit has a person change the arguments of a call that waits (S7, C58, C74): the changed call goes through the whole pipeline, upon what
// the calls before it in its batch would leave, and takes the place of the old one, which is closed. A call behind it upon the same
// target is stale then. What the pipeline stops leaves the old one as it is.
func (e *Engine) edit(ctx context.Context, ns, where, approval string, r gate.Request) (gate.Approval, error) {
	for range maxTries {
		s, err := e.Ledger.Get(ctx, ns, where)
		if err != nil {
			return gate.Approval{}, err
		}
		ed, err := e.judgeEdit(ctx, ns, s, approval, r)
		if err != nil {
			return gate.Approval{}, err
		}
		out, err := e.decide(ctx, ns, where, r.Who.Actor(), func(w *ledger.Work) (gate.Approval, *gate.Refusal, error) {
			if w.Session.Version != s.Version {
				return gate.Approval{}, nil, errMoved
			}
			return e.take(w, approval, r, ed)
		})
		if !errors.Is(err, errMoved) {
			return out, err
		}
	}
	return gate.Approval{}, &session.RefusedError{Code: session.RefusedLate, Why: "the session changed again and again while the changed call was judged: look at it, and send the change again"}
}

// judgeEdit judges a changed call. nil: the request is refused without that, so that who may not decide learns nothing of rules and files.
func (e *Engine) judgeEdit(ctx context.Context, ns string, s ledger.Session, approval string, r gate.Request) (*edit, error) {
	if len(r.Args) > envelope.MaxBytes {
		return nil, &gate.Refusal{Code: gate.Invalid, Approval: approval, Field: "arguments", Why: fmt.Sprintf("the arguments have %d bytes; at most %d are taken", len(r.Args), envelope.MaxBytes)}
	}
	var a gate.Approval
	var content gate.Content
	var calls []router.Call
	err := e.read(ctx, ns, s.ID, func(t reader) (err error) {
		if a, err = t.approval(approval); err != nil {
			return err
		}
		if err := t.json(contentOf(approval), &content); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		calls, err = t.before(s, a.Call)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Now, r.Replacement = e.Clock.Now(), nil
	if no := gate.Decide(a, content, r, e.Terms).Refused; no == nil || no.Code != gate.BadEdit {
		return nil, nil //nolint:nilnil // there is nothing to judge
	}
	rt, err := e.Tools.Router(ctx, ns, s)
	if err != nil {
		return nil, err
	}
	rs := e.session(ns, s, s.State.Step)
	rs.Guard, rs.Denied = nil, nil // It was charged when it was proposed (C67), and it is a person who proposes it now.
	all := rt.JudgeAll(ctx, rs, append(calls, router.Call{ID: a.Call, Tool: a.Subject.Tool, Args: r.Args, Definition: a.Subject.Definition})...)
	return &edit{s.Version, all[len(all)-1]}, ctx.Err()
}

// before are the calls of the batch before one that may still run.
func (r reader) before(s ledger.Session, call string) (all []router.Call, err error) {
	for _, c := range s.State.Calls {
		if c.ID == call {
			break
		}
		if c.Kind != session.KindTool || c.Progress != session.Pending && !c.Progress.Runnable() {
			continue
		}
		args, err := r.text(argsOf(c.ID))
		if err != nil {
			return nil, err
		}
		all = append(all, router.Call{ID: c.ID, Tool: s.Calls[c.ID].Tool, Args: []byte(args)})
	}
	return all, nil
}

// replace makes the approval that takes the place of the old one, or says what stands against it.
func (ed *edit) replace(e *Engine, w *ledger.Work, a gate.Approval, who gate.Who) (*gate.Made, *gate.Refusal) {
	j := ed.judged
	no := func(code gate.Code, field, why string) *gate.Refusal {
		return &gate.Refusal{Code: code, Approval: a.ID, Field: field, Why: "the changed call is refused, and the approval stays as it is: " + why}
	}
	switch {
	case j.Stop != nil && j.Stop.Step == router.StepArgs:
		return nil, no(gate.Invalid, "arguments", j.Stop.Reason)
	case j.Stop != nil:
		return nil, no(gate.BadEdit, "", j.Stop.Reason)
	case j.Verdict() == policy.Deny:
		return nil, no(gate.BadEdit, "", "nothing allows it")
	}
	made, err := gate.ForEdit(a, who.Name, gate.ToolCall{
		Origin: gate.Origin{
			ID: e.IDs.ID(), Salt: e.IDs.ID(), Namespace: a.Namespace, Session: a.Session, Task: a.Task, Turn: a.Turn, Call: a.Call, Seq: w.Seq(), Requester: a.Requester, Owner: a.Owner,
			Now: w.Now, Life: e.Limits.Approval, Said: gate.Said{Intent: a.Points.Intent.Text, Rationale: a.Points.Rationale.Text},
		},
		Judged: j.Asked(), Why: j.Explanation, Subject: j.Subject, Plan: j.Shown,
	})
	if err = fits(made, err); err != nil {
		return nil, no(gate.BadEdit, "", err.Error())
	}
	return &made, nil
}

// keep writes the arguments that the call has now: what runs, and what the model is told of it.
func (ed *edit) keep(e *Engine, w *ledger.Work, a gate.Approval, made gate.Made) error {
	c := w.Session.Calls[a.Call]
	c.Hash = string(ed.judged.CallHash)
	w.Session.Calls[a.Call] = c
	for _, id := range []string{argsOf(a.Call), editedOf(a.Call)} {
		if err := put(w, id, ed.judged.Args); err != nil {
			return err
		}
	}
	return e.show(w, made)
}
