package router

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// start is step 11: INTENT is written, so whatever is not proven from here on is unknown (C50).
func (w *run) start(ctx context.Context) Ending {
	switch {
	case w.intent.Staged != nil:
		return w.apply(ctx)
	case w.j.read:
		// Nothing changes by a read, so that its failure is known.
		read := w.look(ctx, w.j)
		e := Ending{Intent: w.intent, State: Executed, Result: read.Result}
		if read.Failed {
			e.State = Failed
		}
		return e
	}
	return w.call(ctx)
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

// call starts an effect of somebody else.
func (w *run) call(ctx context.Context) Ending {
	out, left, err := within(ctx, w.j.Tool.Timeout, w.grace(), func(ctx context.Context) (Output, error) {
		return w.effect.Start(ctx, w.intent, w.j.Args)
	})
	if w.left = left; !w.intent.InFolder {
		w.left = nil
	}
	e := Ending{Intent: w.intent}
	var not *NotStartedError
	switch {
	case err == nil && out.Failed:
		e.State, e.Result = Failed, tool.Output(tool.Failed, out.Text, w.j.Tool.Limit)
	case err == nil:
		e.State, e.Result = Executed, tool.Output(tool.Executed, out.Text, w.j.Tool.Limit)
	case errors.As(err, &not):
		e.State, e.Result = NotDone, tool.Outcome(tool.Voided, not.Error())
	case errors.Is(err, errBroke):
		e.State, e.Result = Unknown, tool.Outcome(tool.Unknown, errBroke.Error())
	default:
		e.State, e.Result = Unknown, tool.Outcome(tool.Unknown, err.Error())
	}
	return e
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
// C52). A folder that is not free says that whoever began may still be at it: nobody knows. It never starts anything.
func (r Router) Reconcile(ctx context.Context, i Intent, journal Journal) (Ran, error) {
	w := &run{Router: r, intent: i, journal: journal}
	if (i.Staged != nil || i.InFolder) && !w.relock(ctx) {
		e := changed(i, folder.Outcome{Result: folder.Unknown, Reason: "the folder cannot be had: whoever began this may still be at work"})
		e.Proven = true
		return w.end(ctx, e)
	}
	defer w.unlock()
	out := folder.Outcome{Result: folder.Unknown, Reason: "nothing can tell whether it happened"}
	if i.Staged != nil {
		out = w.held.Prove(ctx, *i.Staged)
	} else if p := r.proves(i); p != nil {
		found, left, err := within(ctx, ProofWait, r.grace(), func(ctx context.Context) (folder.Outcome, error) { return p.Prove(ctx, i), nil })
		if w.left = left; err == nil {
			out = found
		} else {
			out.Reason = err.Error()
		}
	} else if t := r.same(i); t != nil && t.Origin.Kind == tool.BuiltIn && t.Annotations.ReadOnly == tool.Yes {
		out = folder.Outcome{Result: folder.NotDone, Reason: "the process ended while it was read"}
	}
	e := changed(i, out)
	e.Proven = true
	return w.end(ctx, e)
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

// same is the tool of an INTENT, if it is still the one that it was.
func (r Router) same(i Intent) *tool.Tool {
	if r.Tools == nil {
		return nil
	}
	if t, ok := r.Tools.Find(i.Tool); ok && t.Hash == i.Definition {
		return t
	}
	return nil
}

func (r Router) proves(i Intent) Proves {
	t := r.same(i)
	if t == nil {
		return nil
	}
	p, _ := r.effect(t.Definition).(Proves)
	return p
}
