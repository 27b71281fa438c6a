package router

import (
	"context"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// recheck judges again what may have changed since step 6 (C47, C48): the tool, the paths, the rules with the standing ones, the digest,
// and what the target holds.
func (w *run) recheck(ctx context.Context, now Now) error {
	w.checked = false
	if v := w.sameTool(now); v != nil {
		return v
	}
	if v := w.sameRules(now); v != nil {
		return v
	}
	if v := w.fits(); v != nil {
		return v
	}
	if err := w.samePlace(ctx); err != nil {
		return err
	}
	w.checked = true
	return nil
}

func (w *run) sameTool(now Now) *VoidError {
	name := w.j.Tool.Full()
	if now.Tools == nil {
		return void(session.VoidToolChanged, "there are no tools")
	}
	t, ok := now.Tools.Find(name)
	switch {
	case !ok:
		return void(session.VoidToolChanged, "the tool %s is no longer there", name)
	case t.Hash != w.j.Tool.Hash:
		return void(session.VoidToolChanged, "the definition of the tool %s has changed since it was shown", name)
	}
	return nil
}

// sameRules: what is denied now does not start, and what nobody has approved starts only where it is still allowed unasked.
func (w *run) sameRules(now Now) *VoidError {
	c := w.j.asked
	c.InExecution, c.LikeUnknown, c.Roles = now.InExecution, now.LikeUnknown, now.Roles
	x := explain(now.Engine, c, now.Standing, now.Time)
	switch {
	case x.Verdict == policy.Allow, x.Verdict == policy.Ask && w.ok.Approval != "":
		return nil
	case x.Verdict == policy.Ask:
		return void(session.VoidPolicy, "it was allowed, and now it would be asked about: %s", why(x))
	}
	return void(session.VoidPolicy, "%s", why(x))
}

// samePlace: the paths are still named by the rules, lead where they led, and the target is still what was staged for.
func (w *run) samePlace(ctx context.Context) error {
	again := w.j
	again.Paths, again.Writes, again.Stop = nil, slices.Clone(w.named()), nil
	if !w.paths(&again) {
		return void(session.VoidStale, "%s", again.Stop.Reason)
	}
	if err := w.resolve(ctx, &again); err != nil {
		return err
	}
	for _, p := range again.Paths {
		if !slices.Contains(w.j.Paths, p) {
			return void(session.VoidStale, "a link on the way leads elsewhere than when it was shown, to %s", folder.Show(p))
		}
	}
	if w.intent.Staged == nil {
		return nil
	}
	err := w.held.Check(ctx, *w.intent.Staged)
	if err == nil {
		return nil
	}
	if v := stale(err); v != nil {
		return v
	}
	return err
}

// named are the paths that get content, as they stand in the arguments.
func (w *run) named() []string {
	if len(w.j.Writes) == 0 || len(w.j.named) == 0 {
		return nil
	}
	return w.j.named[len(w.j.named)-1:]
}
