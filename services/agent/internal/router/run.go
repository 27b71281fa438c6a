package router

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Approved is what a person has approved. Of a call that the policy allows it is empty.
type Approved struct {
	Approval, Salt string
	// CallHash and Digest are those that were shown.
	CallHash, Digest canon.Hash
}

// errUnchecked is a journal that wrote an INTENT and did not let it be judged again.
var errUnchecked = errors.New("the journal has written INTENT without the recheck; nothing was started")

// run is one call on its way through steps 8 to 12.
type run struct {
	Router
	j       Judged
	ok      Approved
	journal Journal
	intent  Intent
	held    folder.Held
	effect  Effect
	checked bool
	// left is closed when what was given up has ended: until then the folder stays locked.
	left <-chan struct{}
}

// Run takes a judged call through steps 8 to 12: it starts what is allowed, or approved as it was judged. attempt counts from 1. The error
// is one of the journal, so that nobody knows what is written down, or a *GoesOnError, which comes after INTENT: in both cases Reconcile finds out.
func (r Router) Run(ctx context.Context, j Judged, ok Approved, attempt int, journal Journal) (Ran, error) {
	w := &run{Router: r, j: j, ok: ok, journal: journal}
	if v := w.withdrawn(ctx); v != nil {
		w.intent = Intent{
			Call: j.Call.ID, Tool: j.Call.Tool, Definition: j.Call.Definition, CallHash: ok.CallHash, ArgsDigest: j.ArgsDigest,
			Approval: ok.Approval, Digest: ok.Digest, Root: j.Root, Attempt: attempt,
		}
		return w.voided(ctx, v)
	}
	if why := w.mayStart(attempt); why != "" {
		return Ran{State: Refused, Void: void(j.voids(), "%s", why), Result: tool.Outcome(tool.Refused, why)}, nil
	}
	w.j.approved = ok.Approval != ""
	w.intent = Intent{
		Call: j.Call.ID, Tool: j.Tool.Full(), Definition: j.Tool.Hash, CallHash: j.CallHash, ArgsDigest: j.ArgsDigest,
		Approval: ok.Approval, Digest: ok.Digest, Standing: j.Explanation.Standing, Root: j.Root, Attempt: attempt,
		Hashless: j.Shown != nil && j.Shown.Redacted,
	}
	if !j.read && j.Plan == nil {
		if w.effect = r.effect(j.Tool.Definition); w.effect == nil {
			why := "nothing is set up that carries this tool out"
			return Ran{State: Refused, Void: void(session.VoidToolChanged, "%s", why), Result: tool.Outcome(tool.Refused, why)}, nil
		}
		w.intent.InFolder, w.intent.Args = w.effect.InFolder(), string(j.Args)
	}
	if v := w.fits(); v != nil {
		return w.voided(ctx, v)
	}
	if err := w.lock(ctx); err != nil {
		if v := stale(err); v != nil {
			return w.voided(ctx, v)
		}
		return parked(err), nil
	}
	defer w.unlock()
	return w.do(ctx)
}

// withdrawn is an approved call that was judged anew and stopped: its approval is closed, since it can come to nothing.
func (w *run) withdrawn(ctx context.Context) *VoidError {
	j := w.j
	if j.Stop == nil || w.journal == nil || w.ok.CallHash == "" || j.CallHash != "" && j.CallHash != w.ok.CallHash {
		return nil
	}
	v := void(j.voids(), "%s", j.Stop.Reason)
	if v.Reason == session.VoidStale {
		v.Now = w.there(ctx)
	}
	return v
}

// there is the hash of what is where a change of one file was to be made; empty where that cannot be told.
func (w *run) there(ctx context.Context) folder.Hash {
	c := w.j.change
	if c.Op == "" || c.Op == folder.Move || !w.mayRead(w.j.session, w.j.Root, w.j.Paths...) {
		return ""
	}
	found, err := w.Mounts.Work.Read(ctx, c.Path, folder.ReadOptions{})
	var refusal *folder.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Code == folder.Missing:
		return folder.Absent
	case err != nil || !w.mayRead(w.j.session, w.j.Root, found.Path):
		return ""
	}
	return found.Hash
}

// voids is why a call does not start that was to run when it was judged before, and is not by now.
func (j Judged) voids() session.Reason {
	switch {
	case j.Stop != nil && j.Stop.Step == StepTool:
		return session.VoidToolChanged
	case j.Stop != nil && j.Stop.Step == StepPath:
		return session.VoidStale
	}
	return session.VoidPolicy
}

// mayStart says why a call must not even be written down.
func (w *run) mayStart(attempt int) string {
	j := w.j
	switch v := j.Verdict(); {
	case v == policy.Deny:
		return j.Result().Text
	case w.journal == nil:
		return "nothing starts that is not written down"
	case attempt < 1 || attempt > MaxAttempts:
		return fmt.Sprintf("a call starts at most %d times", MaxAttempts)
	case v == policy.Ask && w.ok == (Approved{}):
		return "nobody has approved it"
	case w.ok != (Approved{}) && w.ok.CallHash != j.CallHash:
		return fmt.Sprintf("another call was approved: %s, and this is %s", w.ok.CallHash, j.CallHash)
	}
	return ""
}

// fits says whether what was approved is what would run (S5, S6): with the same call another digest means that the target has changed
// since it was shown.
func (w *run) fits() *VoidError {
	if w.ok == (Approved{}) {
		return nil
	}
	digest, err := w.j.Digest(w.ok.Approval, w.ok.Salt)
	switch {
	case err != nil:
		return void(session.VoidPolicy, "%v", err)
	case digest != w.ok.Digest:
		v := void(session.VoidStale, "what it would do now is not what was shown")
		if w.j.Plan != nil {
			v.Now = w.j.Plan.Before
		}
		return v
	}
	return nil
}

// lock is step 8. A *folder.Refusal is for good; any other error may pass.
func (w *run) lock(ctx context.Context) error {
	if w.effect != nil {
		if err := w.effect.Ready(ctx); err != nil {
			return err
		}
	}
	if w.j.Plan == nil && !w.intent.InFolder {
		return nil
	}
	if w.Mounts.Work == nil {
		return folder.Refuse(folder.Missing, w.intent.Root, "there is no work folder")
	}
	waiting, cancel := context.WithTimeout(ctx, w.lockWait())
	defer cancel()
	held, err := w.Mounts.Work.Lock(waiting)
	w.held = held
	return err
}

func parked(err error) Ran {
	return Ran{State: Parked, Result: tool.Outcome(tool.Waiting, err.Error())}
}

// unlock gives the folder back, when what was left to itself has ended.
func (w *run) unlock() {
	held := w.held
	if held == nil {
		return
	}
	if w.left == nil {
		_ = held.Unlock() // It is gone with the descriptor, whatever it says.
		return
	}
	left := w.left
	go func() {
		<-left
		_ = held.Unlock()
	}()
}

// do is what happens under the lock.
func (w *run) do(ctx context.Context) (Ran, error) {
	if w.j.Plan != nil {
		staging, cancel := context.WithTimeout(ctx, w.j.Tool.Timeout)
		v, err := w.stage(staging)
		cancel()
		if err != nil {
			return parked(err), nil
		}
		if v != nil {
			w.unstage(ctx)
			return w.voided(ctx, v)
		}
	}
	if err := w.begin(ctx, w.recheck); err != nil {
		var v *VoidError
		if !errors.As(err, &v) {
			return Ran{}, err // INTENT may be there: what is staged stays, since it proves that nothing was done.
		}
		w.unstage(ctx)
		return w.told(v), nil
	}
	if !w.checked { // S29
		e := Ending{Intent: w.intent, State: NotDone, Result: tool.Outcome(tool.Voided, errUnchecked.Error())}
		ran, err := w.end(ctx, e)
		return ran, errors.Join(errUnchecked, err)
	}
	e, err := w.start(ctx)
	if err != nil {
		return Ran{Intent: &w.intent}, err
	}
	return w.end(ctx, e)
}

// stage is step 9. What is staged must be what was planned, at the place where it was planned.
func (w *run) stage(ctx context.Context) (*VoidError, error) {
	change, p := w.j.change, w.j.Plan
	change.Before = p.Before
	staged, err := w.held.Stage(ctx, change)
	if err != nil {
		if v := stale(err); v != nil {
			return v, nil
		}
		return nil, err
	}
	staged.Attempt = w.intent.Attempt
	w.intent.Staged, w.intent.Before, w.intent.After = &staged, staged.Before, staged.After
	if staged.Target != p.Target || staged.To != p.TargetTo || staged.After != p.After {
		return void(session.VoidStale, "another place is found under its path than the one that was shown"), nil
	}
	return nil, nil
}

// stale is what a folder says of a target that is no longer as it was planned; nil for an error that may pass.
func stale(err error) *VoidError {
	var s *folder.StaleError
	if errors.As(err, &s) {
		return &VoidError{Reason: session.VoidStale, Why: s.Error(), Now: s.Now}
	}
	var refusal *folder.Refusal
	if !errors.As(err, &refusal) {
		return nil
	}
	if refusal.Code == folder.ReadOnly || refusal.Code == folder.Forbidden {
		return void(session.VoidPolicy, "%s", refusal.Error())
	}
	return void(session.VoidStale, "%s", refusal.Error())
}

// voided has the journal write down that the call does not start.
func (w *run) voided(ctx context.Context, v *VoidError) (Ran, error) {
	err := w.begin(ctx, func(context.Context, Now) error { return v })
	var told *VoidError
	switch {
	case errors.As(err, &told):
		return w.told(told), nil
	case err == nil:
		err = errUnchecked
	}
	return Ran{}, err
}

// told is a call that does not start.
func (w *run) told(v *VoidError) Ran {
	return Ran{State: Voided, Void: v, Result: v.Result(), Intent: &w.intent}
}

// begin has the journal write INTENT, or that the call is void: then without the hash of a target that the caller may not read (S21).
func (w *run) begin(ctx context.Context, check Recheck) error {
	return w.journal.Begin(ctx, w.intent, func(ctx context.Context, now Now) error {
		err := check(ctx, now)
		var v *VoidError
		if errors.As(err, &v) && w.intent.Hashless {
			v.Now = ""
		}
		return err
	})
}

// staleResult tells the hash that is there now (c31).
func staleResult(why string, now folder.Hash) tool.Result {
	if now != "" {
		why += " (it is now " + string(now) + ")"
	}
	return tool.Outcome(tool.StaleTarget, why)
}

// unstage takes away what was staged for a call of which no INTENT was written.
func (w *run) unstage(ctx context.Context) {
	if w.intent.Staged != nil {
		_, _ = w.held.Finish(context.WithoutCancel(ctx), *w.intent.Staged) // A sweep takes what stays.
	}
}
