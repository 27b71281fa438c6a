package router

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// start is step 11: INTENT is written, so whatever is not proven from here on is unknown (C50). The error is a *GoesOnError.
func (w *run) start(ctx context.Context) (Ending, error) {
	switch {
	case w.intent.Staged != nil:
		return w.apply(ctx), nil
	case w.j.read:
		// Nothing changes by a read, so that its failure is known.
		read := w.look(ctx, w.j)
		e := Ending{Intent: w.intent, State: Executed, Result: read.Result}
		if read.Failed {
			e.State = Failed
		}
		return e, nil
	}
	return w.call(ctx, w.j.Tool, func(ctx context.Context) (Output, error) { return w.effect.Start(ctx, w.intent, w.j.Args) })
}

// apply changes a file.
func (w *run) apply(ctx context.Context) Ending {
	out, left, err := within(ctx, w.j.Tool.Timeout, w.grace(), func(ctx context.Context) (folder.Outcome, error) {
		return w.held.Apply(ctx, *w.intent.Staged), nil
	})
	w.left = left
	if err != nil {
		out = folder.Outcome{Result: folder.Unknown, Reason: err.Error()}
	}
	return changed(w.intent, out)
}

// changed is what an outcome of a file change means.
func changed(i Intent, out folder.Outcome) Ending {
	if i.Hashless {
		out.Now = ""
	}
	e := Ending{Intent: i, Outcome: out}
	switch out.Result {
	case folder.Done:
		e.State, e.Result = Executed, tool.Output(tool.Executed, []byte(sentence(i, out)), folder.MaxContent)
		e.Result.Untrusted = false
	case folder.NotDone:
		e.State, e.Result = NotDone, tool.Outcome(tool.Voided, out.Reason)
	case folder.Stale:
		e.State, e.Result = Failed, staleResult(out.Reason, out.Now)
	default:
		e.State, e.Result = Unknown, tool.Outcome(tool.Unknown, out.Reason)
	}
	return e
}

// sentence says what was done.
func sentence(i Intent, out folder.Outcome) string {
	var text string
	switch s := i.Staged; {
	case s == nil:
		text = "Done."
	case s.Op == folder.Move:
		text = fmt.Sprintf("Moved %s to %s.", folder.Show(s.Target), folder.Show(s.To))
	case s.Op == folder.Delete:
		text = fmt.Sprintf("Deleted %s.", folder.Show(s.Target))
	case s.Before == folder.Absent:
		text = fmt.Sprintf("Created %s.", folder.Show(s.Target))
	default:
		text = fmt.Sprintf("Wrote %s.", folder.Show(s.Target))
	}
	if out.Weak {
		text += " This file system cannot exchange files: between the last look and the change somebody else could have written unseen."
	}
	if out.Kept != "" {
		text += " What somebody else wrote meanwhile stands in " + folder.Show(out.Kept) + "."
	}
	return text
}

// call starts an effect of somebody else, or asks again what it gives. The error is a *GoesOnError.
func (w *run) call(ctx context.Context, t *tool.Tool, effect func(context.Context) (Output, error)) (Ending, error) {
	out, left, err := within(ctx, t.Timeout, w.grace(), effect)
	if w.left = left; !w.intent.InFolder {
		w.left = nil
	}
	e := Ending{Intent: w.intent}
	var not *NotStartedError
	var on *GoesOnError
	switch {
	case err == nil && out.Failed:
		e.State, e.Result = Failed, tool.Output(tool.Failed, out.Text, t.Limit)
	case err == nil:
		e.State, e.Result = Executed, tool.Output(tool.Executed, out.Text, t.Limit)
	case errors.As(err, &on):
		return e, on
	case errors.As(err, &not):
		e.State, e.Result = NotDone, tool.Outcome(tool.Voided, not.Error())
	case errors.Is(err, errBroke):
		e.State, e.Result = Unknown, tool.Outcome(tool.Unknown, errBroke.Error())
	default:
		e.State, e.Result = Unknown, tool.Outcome(tool.Unknown, err.Error())
	}
	return e, nil
}

// end is step 12: the outcome is written down, whoever has canceled meanwhile, and only then goes what could prove it.
func (w *run) end(ctx context.Context, e Ending) (Ran, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), EndWait)
	defer cancel()
	ran := Ran{State: e.State, Result: e.Result, Outcome: e.Outcome, Intent: &e.Intent}
	if err := w.journal.End(ctx, e); err != nil {
		return ran, err
	}
	if e.Intent.Staged == nil || e.State == Unknown || w.left != nil {
		return ran, nil // Of what nobody knows the staged file stays: a person may want to look.
	}
	kept, err := w.held.Finish(ctx, *e.Intent.Staged)
	if err != nil {
		ran.Warning = err.Error()
	}
	if kept != "" {
		ran.Outcome.Kept = kept
		ran.Warning = "what somebody else wrote meanwhile stands in " + folder.Show(kept)
	}
	return ran, nil
}

// Reconcile finds out after a crash what became of an INTENT without an outcome, under the lock of the folder, and writes it down (C49, C51,
// C52). A folder that is not free says that whoever began may still be at it: nobody knows. It never starts anything. What goes on by
// itself (Resumes) it asks about; a *GoesOnError where that has no outcome yet.
func (r Router) Reconcile(ctx context.Context, i Intent, journal Journal) (Ran, error) {
	w := &run{Router: r, intent: i, journal: journal}
	if (i.Staged != nil || i.InFolder) && !w.relock(ctx) {
		e := changed(i, folder.Outcome{Result: folder.Unknown, Reason: r.because("the folder cannot be had: whoever began this may still be at work")})
		e.Proven = true
		return w.end(ctx, e)
	}
	defer w.unlock()
	t, effect := r.same(i)
	if p, ok := effect.(Resumes); ok && i.Staged == nil {
		e, err := w.call(ctx, t, func(ctx context.Context) (Output, error) { return p.Resume(ctx, i) })
		if err != nil {
			return Ran{Intent: &i}, err
		}
		e.Proven = true
		return w.end(ctx, e)
	}
	out := folder.Outcome{Result: folder.Unknown, Reason: r.because("nothing can tell whether it happened")}
	if i.Staged != nil {
		out = w.held.Prove(ctx, *i.Staged)
	} else if p, ok := effect.(Proves); ok {
		found, left, err := within(ctx, ProofWait, r.grace(), func(ctx context.Context) (folder.Outcome, error) { return p.Prove(ctx, i), nil })
		if w.left = left; err == nil {
			out = found
		} else {
			out.Reason = err.Error()
		}
	} else if t != nil && t.Origin.Kind == tool.BuiltIn && t.Annotations.ReadOnly == tool.Yes {
		out = folder.Outcome{Result: folder.NotDone, Reason: "the process ended while it was read"}
	}
	e := changed(i, out)
	e.Proven = true
	return w.end(ctx, e)
}

// because is why nobody knows, with what is missing.
func (r Router) because(why string) string {
	if r.Missing == "" {
		return why
	}
	return why + " (" + r.Missing + ")"
}

// relock takes the folder that the INTENT names.
func (w *run) relock(ctx context.Context) bool {
	if w.Mounts.Work == nil || w.work() != w.intent.Root {
		return false
	}
	waiting, cancel := context.WithTimeout(ctx, w.proofWait())
	defer cancel()
	held, err := w.Mounts.Work.Lock(waiting)
	if err != nil {
		return false
	}
	w.held = held
	return true
}

// same is the tool of an INTENT, if it is still the one that it was, and what carries it out; nil both where it is not.
func (r Router) same(i Intent) (*tool.Tool, Effect) {
	if r.Tools == nil {
		return nil, nil
	}
	if t, ok := r.Tools.Find(i.Tool); ok && t.Hash == i.Definition {
		return t, r.effect(t.Definition)
	}
	return nil, nil
}
