package gate

import (
	"fmt"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
)

// Origin is where an approval comes from, and when. No id may be empty.
type Origin struct {
	ID, Namespace, Session, Task, Turn, Call string
	// Salt is random, 64 bits or more, and told to nobody.
	Salt string
	// Seq is the number of the session's record that raises it.
	Seq int64
	// Requester is whose message led to it, Owner who made the session, as authentication verified the names.
	Requester, Owner string
	// Now is the server's time (S16), Life how long it waits: 0 is DefaultLife.
	Now  time.Time
	Life time.Duration
	// Said is what the model says of it.
	Said Said
}

// Made is a new approval with what is shown of it.
type Made struct {
	Approval Approval
	Content  Content
}

// ToolCall is a call that a person is asked about, as the router judged it.
type ToolCall struct {
	Origin
	// Judged is what policy judged, with the canonical arguments in its facts; Why is its judgement.
	Judged policy.Call
	Why    policy.Explanation
	// Subject goes into the digest. Plan is the change of files; nil for a tool without.
	Subject canon.ToolCall
	Plan    *folder.Plan
}

// MakeError says why an approval cannot be made. Nothing is asked, and nothing runs (S29).
type MakeError struct {
	Call, Why string
	// TooMany says that as many wait as may (S28).
	TooMany bool
	Err     error
}

func (e *MakeError) Error() string { return fmt.Sprintf("no approval for %q: %s", e.Call, e.Why) }

// Unwrap gives what went wrong below.
func (e *MakeError) Unwrap() error { return e.Err }

// ForCalls makes the approvals of a batch, one for each call, in their order. pending is how many of the session wait already. The error is
// a *MakeError, and no approval is made.
func ForCalls(calls []ToolCall, pending int) ([]Made, error) {
	if len(calls) > 0 && pending+len(calls) > MaxPending {
		return nil, &MakeError{
			Call: calls[0].Call, TooMany: true,
			Why: fmt.Sprintf("%d approvals wait and %d more are wanted; at most %d wait at once: propose fewer", pending, len(calls), MaxPending),
		}
	}
	out := make([]Made, 0, len(calls))
	for i, c := range calls {
		m, err := forCall(c)
		if err != nil {
			return nil, err
		}
		m.Approval.Place = i
		out = append(out, m)
	}
	return out, nil
}

func forCall(c ToolCall) (Made, error) {
	if why := c.fault(); why != "" {
		return Made{}, &MakeError{Call: c.Call, Why: why}
	}
	text, hidden := c.text()
	var d DiffStat
	if c.Plan != nil && hidden == "" {
		d = stat(text)
	}
	j := c.Judged
	a := c.record(canon.KindToolCall, Subject{
		Tool: j.Tool.Full(), Server: j.Tool.Origin.ServerID, Definition: j.Definition, Root: j.Root, Args: canon.Sum(j.Facts.Args), ArgsBytes: len(j.Facts.Args),
		CallHash: j.Hash, Targets: c.Subject.Targets, Process: c.Subject.Process,
	})
	a.NotShown, a.Hidden = hidden, hidden != "" || c.Subject.Hidden || j.Facts.Unshown
	a.Risk = c.Why.Risk
	if i := c.Why.Decided; i >= 0 && i < len(c.Why.Looks) {
		a.Asked = &c.Why.Looks[i]
	}
	impact := impactOfTool(c)
	if c.Plan != nil {
		impact = impactOf(*c.Plan)
	}
	a.Points = c.Said.points(impact, insteadOf(c.Plan), d)
	a.Warnings = append(notShown(hidden), warningsOf(c.Plan)...)
	m, err := a.finish(text, string(j.Facts.Args))
	if err != nil {
		return Made{}, err
	}
	m.Approval.Offers = offers(m.Approval, j)
	return m, nil
}

// text is what is shown of a call: the diff where there is one, else its arguments.
func (c ToolCall) text() (string, NotShown) {
	switch p := c.Plan; {
	case p == nil:
		return shown(string(c.Judged.Facts.Args))
	case p.Redacted:
		return "", Redacted
	case p.NotShown != "":
		return "", map[folder.NotShown]NotShown{folder.Binary: Binary}[p.NotShown].or(Large)
	default:
		return shown(p.Diff)
	}
}

func (n NotShown) or(other NotShown) NotShown {
	if n == "" {
		return other
	}
	return n
}

// fault says what does not fit together in a call; empty: all fits. What is shown must be what is bound.
func (c ToolCall) fault() string {
	j := c.Judged
	hash, err := canon.CallHash(canon.Call{Tool: j.Tool.Full(), Server: j.Tool.Origin.ServerID, Definition: j.Definition, Args: j.Facts.Args, Root: j.Root})
	switch {
	case c.Why.Verdict == policy.Deny:
		return "policy refuses it, so nobody is asked" // S27
	case err != nil:
		return "its hash cannot be made: " + err.Error()
	case hash != j.Hash || hash != c.Subject.Call:
		return "its hash is not that of its arguments"
	case j.Namespace != c.Namespace || j.Session != c.Session || c.Why.Tool != j.Tool.Full():
		return "it was judged for another session or tool"
	case c.Plan != nil && !c.Plan.Redacted && !binds(*c.Plan, c.Subject.Targets):
		return "its diff is not that of its targets"
	}
	return ""
}

// binds says whether targets are those of a plan.
func binds(p folder.Plan, targets []canon.Target) bool {
	same := func(shown folder.Hash, bound canon.Hash) bool {
		return string(shown) == string(bound) || shown == folder.Absent && bound == ""
	}
	if p.Op == folder.Move {
		return len(targets) == 2 && same(p.Before, targets[0].Before) && same(p.After, targets[1].After) &&
			targets[0].Path == p.Target && targets[1].Path == p.TargetTo
	}
	return len(targets) == 1 && same(p.Before, targets[0].Before) && same(p.After, targets[0].After) && targets[0].Path == p.Target
}

// record begins a record.
func (o Origin) record(kind canon.Kind, s Subject) Approval {
	return Approval{
		V: version, ID: o.ID, Namespace: o.Namespace, Session: o.Session, Task: o.Task, Turn: o.Turn, Call: o.Call, Salt: o.Salt, Seq: o.Seq, Kind: kind, Subject: s,
		Created: o.Now, Since: o.Now, Expires: o.Now.Add(life(o.Life)), Requester: o.Requester, Owner: o.Owner, State: Pending, StateAt: o.Now, StateSeq: o.Seq,
	}
}

func life(d time.Duration) time.Duration {
	if d == 0 {
		return DefaultLife
	}
	return min(max(d, MinLife), MaxLife)
}

// finish adds the content and the digests, and raises the risk of what is not shown whole in one piece (S23).
func (a Approval) finish(text, args string) (Made, error) {
	c := Content{Approval: a.ID, Text: text, NotShown: a.NotShown, Args: args}
	fail := func(err error) (Made, error) { return Made{}, &MakeError{Call: a.Call, Why: err.Error(), Err: err} }
	if a.Call == "" || a.Turn == "" || a.Requester == "" || a.Created.IsZero() {
		return Made{}, &MakeError{Call: a.Call, Why: "its call, turn, requester or time is missing"}
	}
	subject, err := a.subject(c)
	if err != nil {
		return fail(err)
	}
	if a.Digest, err = canon.Digest(a.binding(), subject); err != nil {
		return fail(err)
	}
	pages, err := c.Show(a)
	if err != nil {
		return fail(err)
	}
	if a.ContentDigest, err = canon.ContentDigest(a.Digest, text); err != nil {
		return fail(err)
	}
	a.Pages = len(pages)
	if a.Hidden {
		a.Risk = raise(a.Risk, policy.Reason{Code: policy.CodeNotShown, Level: policy.High})
	}
	if a.Pages > 1 {
		a.Risk = raise(a.Risk, policy.Reason{Code: policy.CodeInPages, Level: policy.High, Number: int64(len(text)), Limit: canon.PageBytes})
	}
	return Made{a, c}, nil
}

// raise adds a reason. A risk that is not known stays so: it gets even less than HIGH.
func raise(a policy.Assessment, r policy.Reason) policy.Assessment {
	for _, known := range a.Reasons {
		if known.Code == r.Code {
			return a
		}
	}
	out := policy.Assessment{Level: a.Level, Reasons: append(append([]policy.Reason{}, a.Reasons...), r)}
	if a.Level.Known() {
		out.Level = max(a.Level, r.Level)
	}
	return out
}

// ForEdit makes the approval that takes the place of another one whose arguments a person changes: a call that was judged anew from the
// beginning (S7). Tool, root and call stay; the editor is an author from then on.
func ForEdit(old Approval, editor string, c ToolCall) (Made, error) {
	m, err := forCall(c)
	if err != nil {
		return Made{}, err
	}
	m.Approval.Requester, m.Approval.Owner, m.Approval.EditedFrom, m.Approval.Place = old.Requester, old.Owner, old.ID, old.Place
	m.Approval.Editors = append(append([]string{}, old.Editors...), editor)
	m.Approval.Since = old.Since
	if end := old.Since.Add(MaxLife); end.Before(m.Approval.Expires) {
		m.Approval.Expires = end
	}
	return m, nil
}

// DigestOf gives the digest that a call would have under this approval, for the last look before it starts (C47): equal to Digest, or it
// is not what was approved.
func (a Approval) DigestOf(s canon.ToolCall) (canon.Hash, error) {
	s.Hidden = a.Hidden
	digest, err := canon.Digest(a.binding(), s)
	if err != nil {
		return "", fmt.Errorf("digest of approval %s: %w", a.ID, err)
	}
	return digest, nil
}
