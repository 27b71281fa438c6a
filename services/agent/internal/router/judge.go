package router

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Judge takes one call through steps 1 to 6.
func (r Router) Judge(ctx context.Context, s Session, c Call) Judged { return r.JudgeAll(ctx, s, c)[0] }

// JudgeAll judges a batch: one for each, in their order, and each file change upon what those before it would leave, if they may (C70).
func (r Router) JudgeAll(ctx context.Context, s Session, calls ...Call) []Judged {
	all := make([]Judged, len(calls))
	var changes []*Judged
	for i, c := range calls {
		j := &all[i]
		*j = Judged{Call: c, ArgsDigest: canon.Sum(c.Args), Root: r.work(), session: s}
		if i >= MaxBatch {
			j.stop(StepGuard, CodeBatch, fmt.Sprintf("at most %d calls are taken from one answer", MaxBatch))
			continue
		}
		if !r.known(j) || !r.arguments(j) || !r.guard(j) || !r.paths(j) || !r.rules(ctx, j) {
			continue
		}
		if fileChange(j.Tool.Definition) {
			changes = append(changes, j)
		}
	}
	r.plan(ctx, changes)
	for i := range all {
		r.last(ctx, &all[i])
	}
	return all
}

// known is step 1.
func (r Router) known(j *Judged) bool {
	if r.Tools != nil {
		j.Tool, _ = r.Tools.Find(j.Call.Tool)
	}
	if j.Tool == nil {
		return j.stop(StepTool, CodeUnknownTool, fmt.Sprintf("there is no tool called %q", tool.PlainLine(j.Call.Tool, tool.MaxName)))
	}
	if want := j.Call.Definition; want != "" && want != j.Tool.Hash {
		return j.stop(StepTool, CodeToolChanged, "the tool is no longer the one that was shown: its definition has changed")
	}
	d := j.Tool.Definition
	j.asked = policy.Call{Tool: d, Definition: j.Tool.Hash}
	j.read = !j.asked.Effectful()
	ours := fileChange(d)
	if j.read {
		ours = builtInReads[d.Name] != nil || r.Reads[d.Name] != nil
	}
	if !ours && (j.read || r.effect(d) == nil) {
		return j.stop(StepTool, CodeNobody, "nothing is set up that carries this tool out")
	}
	return true
}

// arguments are steps 2 and 3.
func (r Router) arguments(j *Judged) bool {
	if j.Call.Cut {
		return j.stop(StepArgs, CodeIncomplete, "the answer ended within the arguments of the call; nothing of them is used")
	}
	checked, err := j.Tool.Check(j.Call.Args)
	if err != nil {
		return j.stop(StepArgs, CodeArguments, err.Error())
	}
	j.Args, j.Defaulted, j.ArgsDigest = checked.Args, checked.Defaulted, canon.Sum(checked.Args)
	if j.named, j.Writes, err = tool.Touched(j.Tool.Definition, j.Args); err != nil {
		return j.stop(StepArgs, CodeArguments, err.Error())
	}
	if len(j.named) > 0 { // The hash names the folder; whether the path may be named is asked later.
		if root, _, err := r.Mounts.Find(j.named[0]); err == nil {
			j.Root = root.About().Name
		}
	}
	j.CallHash, err = canon.CallHash(canon.Call{
		Tool: j.Tool.Full(), Server: j.Tool.Origin.ServerID, Definition: j.Tool.Hash, Args: j.Args, Root: j.Root,
	})
	if err != nil {
		return j.stop(StepHash, CodeNoHash, err.Error())
	}
	return true
}

// guard is step 4.
func (r Router) guard(j *Judged) bool {
	s := j.session
	if slices.Contains(s.Denied, j.CallHash) {
		return j.stop(StepGuard, CodeDeniedBefore, "a person has denied this very call; it is not asked for again before their next message")
	}
	if s.Guard == nil {
		return true
	}
	if why := s.Guard(j.CallHash); why != "" {
		return j.stop(StepGuard, CodeGuard, why)
	}
	return true
}

// rules is step 6 as far as it goes without a look at the target: first by the paths as they are named, then by where links on the way
// lead. The facts are the least that they can be, and more of them only raise a risk, so what is denied here is denied for good (S27).
func (r Router) rules(ctx context.Context, j *Judged) bool {
	s := j.session
	j.asked.Hash, j.asked.Namespace, j.asked.Session, j.asked.Root = j.CallHash, s.Namespace, s.Session, j.Root
	j.asked.Paths, j.asked.Writes, j.asked.Roles = j.Paths, j.Writes, s.Roles
	j.asked.InExecution, j.asked.LikeUnknown = s.InExecution, slices.Contains(s.Unknown, j.CallHash)
	j.asked.Facts = policy.Facts{Measured: true, Args: j.Args}
	if !r.allowed(j) {
		return false
	}
	if err := r.resolve(ctx, j); err != nil {
		return j.refuse(err)
	}
	return r.allowed(j)
}

// allowed judges by the rules, and stops what is denied.
func (r Router) allowed(j *Judged) bool {
	j.Explanation = explain(r.Engine, j.asked, j.session.Standing, j.session.Now)
	if j.Explanation.Verdict == policy.Deny || j.Explanation.Verdict > policy.Allow {
		return j.stop(StepPolicy, CodePolicy, why(j.Explanation))
	}
	return true
}

// why is the sentence of the look that decided.
func why(x policy.Explanation) string {
	if x.Decided < 0 || x.Decided >= len(x.Looks) {
		return "no policy is in force, so nothing is allowed"
	}
	return strings.TrimSpace(x.Looks[x.Decided].Sentence("en"))
}

// last settles what an approval would digest.
func (r Router) last(ctx context.Context, j *Judged) {
	if j.Stop != nil {
		return
	}
	j.Subject.Call = j.CallHash
	if j.read || j.Plan != nil {
		return
	}
	if p, ok := r.effect(j.Tool.Definition).(Processes); ok {
		process, err := p.Process(ctx, j.Args)
		if err != nil {
			j.stop(StepPath, CodeDisk, "what it would run in cannot be told: "+err.Error())
			return
		}
		j.Subject.Process = &process
	}
}
