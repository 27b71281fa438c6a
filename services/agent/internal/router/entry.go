package router

import (
	"encoding/json"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Bounds of what a row tells, in code points and entries: with each character escaped it still fits audit.MaxText and audit.MaxDetails.
const (
	maxReason = 300
	maxPaths  = 8
)

// actor is who judged: the rules where they came so far, else this program.
const actor = "router"

// details is what a row tells beside its fields: names and sizes, never content (field/review-agent.md S22).
type details struct {
	Call     string        `json:"call,omitempty"`
	Tool     string        `json:"tool,omitempty"`
	Step     string        `json:"step,omitempty"`
	Code     string        `json:"code,omitempty"`
	Root     string        `json:"root,omitempty"`
	Paths    []string      `json:"paths,omitempty"`
	Policy   string        `json:"policy,omitempty"`
	Rule     string        `json:"rule,omitempty"`
	Standing string        `json:"standing,omitempty"`
	Risk     string        `json:"risk,omitempty"`
	Codes    []policy.Code `json:"risk_codes,omitempty"`
	Redacted bool          `json:"redacted,omitempty"`
	Approval string        `json:"approval,omitempty"`
	Attempt  int           `json:"attempt,omitempty"`
	Staged   string        `json:"staged,omitempty"`
	Proven   bool          `json:"proven,omitempty"`
	Weak     bool          `json:"weak,omitempty"`
	Kept     string        `json:"kept,omitempty"`
	Now      folder.Hash   `json:"now,omitempty"`
}

// text is them in canonical form. What has none is left out: the row is more than they are.
func (d details) text() string {
	d.Call, d.Tool, d.Root = plain(d.Call), plain(d.Tool), plain(d.Root)
	for i, p := range d.Paths {
		d.Paths[i] = folder.Show(p)
	}
	data, err := json.Marshal(d)
	if err == nil {
		data, err = canon.Object(data)
	}
	if err != nil || len(data) > audit.MaxDetails {
		return ""
	}
	return string(data)
}

func plain(s string) string { return tool.PlainLine(s, maxReason) }

func (s Session) entry(kind audit.Kind, verdict, reason string) audit.Entry {
	return audit.Entry{
		Time: s.Now, Namespace: s.Namespace, Session: s.Session, Task: s.Task, Turn: s.Turn,
		Actor: audit.Actor{Name: actor, Kind: audit.System}, Kind: kind, Verdict: verdict, Reason: plain(reason),
	}
}

// Entries are the rows of the audit that a judged call makes: one for what became of it, and one for the standing rule that was used (S8).
// digest is that of the approval that is raised, or empty.
func (j Judged) Entries(digest canon.Hash) []audit.Entry {
	s, x := j.session, j.Explanation
	d := details{Call: j.Call.ID, Tool: j.Call.Tool, Root: j.Root, Paths: j.shownPaths(), Policy: x.Policy, Standing: x.Standing}
	if x.Decided >= 0 && x.Decided < len(x.Looks) {
		d.Rule = x.Looks[x.Decided].Rule
	}
	if len(x.Looks) > 0 {
		d.Risk = x.Risk.Level.String()
		for _, r := range x.Risk.Reasons[:min(len(x.Risk.Reasons), maxPaths)] {
			d.Codes = append(d.Codes, r.Code)
		}
	}
	var e audit.Entry
	switch v := j.Verdict(); {
	case j.Stop != nil:
		d.Step, d.Code = j.Stop.Step.String(), j.Stop.Code
		if e = s.entry(audit.Refusal, "REFUSED", j.Stop.Reason); j.Stop.Step == StepPolicy {
			e.Kind, e.Verdict = audit.Deny, policy.Deny.String()
		}
	case v == policy.Ask:
		e = s.entry(audit.Ask, v.String(), why(x))
	case v == policy.Allow:
		e = s.entry(audit.Allow, v.String(), why(x))
	default:
		e = s.entry(audit.Refusal, "REFUSED", "nothing allows it")
	}
	if x.Policy != "" {
		e.Actor = audit.Actor{Name: x.Policy, Kind: audit.Policy}
	}
	if p := j.Shown; p != nil {
		if d.Redacted = p.Redacted; !p.Redacted {
			e.Before, e.After = string(p.Before), string(p.After)
		}
	}
	e.CallHash, e.Digest, e.ArgsDigest, e.Details = string(j.CallHash), string(digest), string(j.ArgsDigest), d.text()
	if j.Stop != nil || x.Standing == "" {
		return []audit.Entry{e}
	}
	used := e
	used.Kind, used.Verdict, used.Reason = audit.Rule, "USED", plain("the standing rule "+x.Standing+" allows it")
	return []audit.Entry{e, used}
}

// shownPaths are the first of its paths.
func (j Judged) shownPaths() []string {
	paths := j.Paths
	if len(paths) == 0 {
		paths = j.named
	}
	return append([]string(nil), paths[:min(len(paths), maxPaths)]...)
}

func (i Intent) entry(e audit.Entry, d details) audit.Entry {
	d.Call, d.Tool, d.Root, d.Approval, d.Attempt, d.Standing = i.Call, i.Tool, i.Root, i.Approval, i.Attempt, i.Standing
	if i.Staged != nil {
		d.Staged, d.Paths = i.Staged.Name, []string{i.Staged.Target}
		if i.Staged.To != "" {
			d.Paths = append(d.Paths, i.Staged.To)
		}
	}
	e.CallHash, e.Digest, e.ArgsDigest = string(i.CallHash), string(i.Digest), string(i.ArgsDigest)
	if d.Redacted = i.Hashless; !i.Hashless {
		e.Before, e.After = string(i.Before), string(i.After)
	}
	e.Details = d.text()
	return e
}

// Entry is the row of an INTENT.
func (i Intent) Entry(s Session) audit.Entry {
	reason := "the policy allows it"
	if i.Approval != "" {
		reason = audit.WasApproved
	}
	return i.entry(s.entry(audit.Intent, "INTENT", reason), details{})
}

// VoidEntry is the row of a call that does not start.
func (i Intent) VoidEntry(s Session, v *VoidError) audit.Entry {
	return i.entry(s.entry(audit.Void, string(v.Reason), v.Why), details{Now: v.Now})
}

// Entry is the row of an outcome.
func (e Ending) Entry(s Session) audit.Entry {
	kinds := map[State]audit.Kind{Executed: audit.Execute, Failed: audit.Failure, NotDone: audit.Outcome}
	kind, verdict := audit.UnknownOutcome, string(Unknown)
	if k, ok := kinds[e.State]; ok {
		kind, verdict = k, string(e.State)
	}
	reason := e.Outcome.Reason
	if reason == "" {
		reason = "the tool has answered"
		switch {
		case e.State == Unknown:
			reason = "nobody knows whether it happened"
		case e.State == Failed:
			reason = "the tool says that it failed"
		case e.Outcome.Result == folder.Done:
			reason = "it was made"
		}
	}
	row := s.entry(kind, verdict, reason)
	out := e.Outcome
	return e.Intent.entry(row, details{Proven: e.Proven, Weak: out.Weak, Kept: out.Kept, Now: out.Now})
}
