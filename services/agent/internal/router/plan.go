package router

import (
	"context"
	"encoding/json"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// describe reads what a file change is asked to do, and refuses content that is none.
func (r Router) describe(j *Judged) bool {
	if !fileChange(j.Tool.Definition) {
		return true
	}
	var a struct{ Path, Content, Source, Destination string }
	if err := json.Unmarshal(j.Args, &a); err != nil {
		return j.stop(StepArgs, CodeArguments, err.Error())
	}
	j.change = folder.Change{Op: folder.Op(j.Tool.Name), Path: j.Paths[0]}
	switch j.change.Op {
	case folder.Write, folder.Create:
		j.change.Content = []byte(a.Content)
	case folder.Move:
		j.change.To = j.Paths[1]
	}
	change, err := j.change.Clean(r.Mounts.Work.About().Rules)
	if err != nil {
		return j.refuse(err)
	}
	j.change = change
	return true
}

// plan looks at what the changes would do, each upon those before it, and judges them by that. Where one is stopped that those behind it
// were planned upon, they are planned anew.
func (r Router) plan(ctx context.Context, all []*Judged) {
	for len(all) > 0 {
		changes := make([]folder.Change, len(all))
		for i, j := range all {
			changes[i] = j.change
		}
		planned := r.Mounts.Work.Plan(ctx, changes...)
		var left []*Judged
		again := false
		for i, j := range all {
			if planned[i].Err != nil {
				j.refuse(planned[i].Err) // It leaves nothing, so nobody was planned upon it.
				continue
			}
			j.Plan = &planned[i].Plan
			left = append(left, j)
		}
		files := targets(left)
		var may []*Judged
		for _, j := range left {
			if r.measured(ctx, j, files) {
				may = append(may, j)
			} else {
				again = true
			}
		}
		if all = may; !again {
			break
		}
	}
}

// targets is how many files a batch changes.
func targets(all []*Judged) int {
	seen := map[string]bool{}
	for _, j := range all {
		seen[j.Plan.Target] = true
		if j.Plan.TargetTo != "" {
			seen[j.Plan.TargetTo] = true
		}
	}
	return len(seen)
}

// measured judges a planned change by all that is known of it.
func (r Router) measured(ctx context.Context, j *Judged, files int) bool {
	p := j.Plan
	j.addPaths(p.Target, p.TargetTo)
	shown := *p
	if !r.mayRead(j.session, j.Root, p.Target, p.Path) || p.TargetTo != "" && !r.mayRead(j.session, j.Root, p.TargetTo, p.To) || r.names(ctx, *j, *p) {
		shown = p.Redact()
	}
	j.Shown = &shown
	bytes := max(p.BeforeSize, p.AfterSize)
	if p.Op == folder.Move {
		bytes = 0
	}
	// Of a change that may not be shown the diff is searched for secrets all the same: that there is one is said, what it is never.
	j.asked.Facts = policy.Facts{
		Measured: true, Files: files, Bytes: bytes, Args: j.Args, Diff: p.Diff,
		Unshown: p.NotShown != "" || shown.Redacted,
	}
	j.Subject = canon.ToolCall{Call: j.CallHash, Targets: digested(*p), Hidden: p.NotShown != "" || shown.Redacted}
	if !r.allowed(j) {
		j.Plan, j.Shown, j.Subject = nil, nil, canon.ToolCall{}
		return false
	}
	return true
}

// names says that the diff of a link names something of the folder that the caller may not be told. Where it leads out of it is shown to whoever decides.
func (r Router) names(ctx context.Context, j Judged, p folder.Plan) bool {
	if p.Kind != folder.KindLink {
		return false
	}
	denied, _, err := r.leads(ctx, j, p.Target, p.Leads)
	return denied || err != nil
}

// addPaths adds where a change was found to be, if no look at the links had said so.
func (j *Judged) addPaths(target, to string) {
	add := func(list []string, name string) []string {
		for _, have := range list {
			if have == name {
				return list
			}
		}
		return append(list[:len(list):len(list)], name)
	}
	j.Paths = add(j.Paths, target)
	written := target
	if to != "" {
		j.Paths, written = add(j.Paths, to), to
	}
	if j.change.Op != folder.Delete {
		j.Writes = add(j.Writes, written)
	}
	j.asked.Paths, j.asked.Writes = j.Paths, j.Writes
}

// mayRead says that a read of all these paths would be allowed to the caller unasked.
func (r Router) mayRead(s Session, root string, paths ...string) bool {
	return r.may(s, tool.Read, root, paths...)
}

// may says that a call of a built-in tool that looks would be allowed for all these paths.
func (r Router) may(s Session, name, root string, paths ...string) bool {
	if r.Tools == nil {
		return false
	}
	t, ok := r.Tools.Find(name)
	if !ok {
		return false
	}
	x := explain(r.Engine, policy.Call{
		Tool: t.Definition, Definition: t.Hash, Namespace: s.Namespace, Session: s.Session, Root: root, Paths: paths, Roles: s.Roles,
		InExecution: s.InExecution, Facts: policy.Facts{Measured: true},
	}, s.Standing, s.Now)
	return x.Verdict == policy.Allow
}

// digested are the targets of a plan as an approval digests them: a move has two.
func digested(p folder.Plan) []canon.Target {
	if p.Op == folder.Move {
		return []canon.Target{
			{Path: p.Target, Before: hash(p.Before)},
			{Path: p.TargetTo, After: hash(p.After), Mode: p.Mode},
		}
	}
	return []canon.Target{{Path: p.Target, Before: hash(p.Before), After: hash(p.After), Mode: p.Mode}}
}

// hash is a hash of the folder as canon writes it.
func hash(h folder.Hash) canon.Hash {
	if h == folder.Absent {
		return ""
	}
	return canon.Hash(h)
}
