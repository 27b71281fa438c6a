package gate

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// MaxReason is the length of a person's reason, in code points: the model is told all of it.
const MaxReason = tool.MaxReason

// maxID is the length of the id of a standing rule, in bytes.
const maxID = policy.MaxNameBytes

// Edit is the decision of a person who changes the arguments. It approves nothing (C58).
const Edit session.Decision = "EDIT"

// Terms are what a configuration says of decisions. The zero value is the strictest.
type Terms struct {
	// RequesterMayApprove lets a person approve what they asked for or have changed. Persons are compared, not tokens (S10).
	RequesterMayApprove bool
	// ApproveUnshown lets an approver approve what is not shown, who acknowledges that (S23).
	ApproveUnshown bool
}

// DefaultTerms let a person who is alone work at all; what is not shown is not approved.
func DefaultTerms() Terms { return Terms{RequesterMayApprove: true} }

// Who is a caller, as authentication has verified it: no field comes from a request (cases/agent.md c8).
type Who struct {
	Name, Token, Namespace string
	Roles                  []string
	// Session is the id of the one that the token is bound to, if it is: then the caller is a session, and no person.
	Session string
}

// Actor is who a caller is in a row: a person, or a session by its token (cases/agent.md c2).
func (w Who) Actor() audit.Actor {
	if w.Session != "" {
		return audit.Actor{Name: "sessions/" + w.Session, Kind: audit.Tool}
	}
	return audit.Actor{Name: w.Name, Kind: audit.Person}
}

// Approves says that the caller is a person who may decide.
func (w Who) Approves() bool {
	return w.Name != "" && w.Session == "" && slices.Contains(w.Roles, policy.RoleApprover)
}

// Reaches says whether the caller may know of a session of its namespace: whoever is bound to one knows of no other.
func (w Who) Reaches(session string) bool { return w.Session == "" || w.Session == session }

// Request is a decision that somebody sends.
type Request struct {
	Who      Who
	Decision session.Decision
	// Digest is that of the approval as it was shown. ContentDigest is that of the last page, where there are several.
	Digest, ContentDigest canon.Hash
	// Args are the changed arguments of an Edit, JSON as it was sent, and Replacement is what ForEdit made of them.
	Args        []byte
	Replacement *Made
	// Scope and Path are one of the offers; empty is ONCE. Rule is the id of the standing rule that would come of it.
	Scope policy.Scope
	Path  string
	Rule  string
	// Reason is told to the model.
	Reason string
	// Unshown acknowledges that not all is shown.
	Unshown bool
	// Words says that it came as words in the conversation, judged by ByWords.
	Words bool
	// Now is the server's time, Seq the number of the record that will tell it.
	Now time.Time
	Seq int64
}

// Ruling is what becomes of a request. Where it has an Event, that is applied, settled with Change and stored, also where Refused says that
// the caller gets no for an answer: an approval that is over expires, a broken one breaks its session.
type Ruling struct {
	Refused *Refusal
	// Event is for Machine.Apply, Change goes with its notes to Settle. Nil: the session does not change.
	Event  session.Event
	Change Change
	// Standing is the rule to write in the same transaction (C75).
	Standing *policy.Standing
	// Record is the approval to store where only that changes: a denial that came after the end (C35).
	Record *Approval
	// Repeated says that just this was decided before: the answer is the approval as it is.
	Repeated bool
}

// Decide judges a decision inside the transaction that writes it: by what is stored and the time there, so that exactly one of
// any number of decisions counts (C36, C56).
func Decide(a Approval, c Content, r Request, t Terms) Ruling {
	if no := MayDecide(a, r.Who); no != nil {
		return Ruling{Refused: no}
	}
	if no := r.check(a); no != nil {
		return Ruling{Refused: no}
	}
	if a.State != Pending {
		return r.again(a)
	}
	if broken := unbroken(a, c); broken != nil {
		broken.Change = Change{At: r.Now, Seq: r.Seq}
		return *broken
	}
	if r.Digest != a.Digest {
		no := refuse(a, WrongDigest, "the digest is not that of what approval %q shows: look at it again", a.ID)
		no.Want, no.Got = a.Digest, r.Digest
		return Ruling{Refused: no}
	}
	if a.Due(r.Now) {
		return r.over(a)
	}
	switch r.Decision {
	case session.Approve:
		return r.approve(a, t)
	case Edit:
		return r.edit(a)
	}
	d := r.decision(a)
	return Ruling{Event: session.Decided{Approval: a.ID, Digest: string(a.Digest), Decision: r.Decision, At: r.Now}, Change: Change{At: r.Now, Seq: r.Seq, Decision: &d}}
}

// MayDecide is nil for who may decide. It is the same for every decision, extension and word (S10). What the caller may not know of is not there.
func MayDecide(a Approval, w Who) *Refusal {
	switch {
	case w.Namespace != a.Namespace || !w.Reaches(a.Session):
		return refuse(a, NotFound, "there is no approval %q", a.ID)
	case w.Session != "" || w.Name == "":
		return refuse(a, NotPerson, "only a person decides: a token that is bound to a session never does")
	case !slices.Contains(w.Roles, policy.RoleApprover):
		return refuse(a, NotApprover, "deciding needs the role %s: a token with it, or, on a server without a file of tokens, the approver secret of its data folder", policy.RoleApprover)
	}
	return nil
}

// check judges the request by itself, and against the kind.
func (r Request) check(a Approval) *Refusal {
	invalid := func(field, format string, args ...any) *Refusal {
		no := refuse(a, Invalid, format, args...)
		no.Field = field
		return no
	}
	outcome := r.Decision == session.Happened || r.Decision == session.DidNotOccur
	switch {
	case !outcome && r.Decision != session.Approve && r.Decision != session.Deny && r.Decision != Edit:
		return invalid("decision", "%q is no decision: APPROVE, DENY, EDIT, HAPPENED or NOT_HAPPENED", tool.PlainLine(string(r.Decision), maxID))
	case (a.Kind == canon.KindOutcome) != outcome:
		return refuse(a, WrongAnswer, "%s is no answer to approval %q: an outcome is told as HAPPENED or NOT_HAPPENED, anything else is approved or denied", r.Decision, a.ID)
	case r.Decision == Edit && a.Kind != canon.KindToolCall:
		return refuse(a, WrongAnswer, "only the arguments of a tool call can be changed")
	case !utf8.ValidString(r.Reason) || utf8.RuneCountInString(r.Reason) > MaxReason:
		return invalid("reason", "the reason has at most %d characters, in UTF-8", MaxReason)
	case r.Now.IsZero():
		return invalid("", "the time is missing")
	case r.wide() && r.Decision != session.Approve:
		return invalid("scope", "a scope goes with APPROVE")
	case r.Words && (r.wide() || outcome || r.Decision == Edit):
		return refuse(a, NotByWords, "words approve or deny one call; for more, decide by the approval")
	}
	return nil
}

// wide says that more than the one call is wanted.
func (r Request) wide() bool { return r.scope() != policy.Once || r.Path != "" }

func (r Request) scope() policy.Scope {
	if r.Scope == "" {
		return policy.Once
	}
	return r.Scope
}

// unbroken says that record and content are as they were made; if not, the session breaks (cases/agent.md c4).
func unbroken(a Approval, c Content) *Ruling {
	err := a.Verify(c)
	var other *VersionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &other):
		return &Ruling{Refused: refuse(a, Foreign, "%s", err)}
	}
	return &Ruling{Refused: refuse(a, Broken, "%s", err), Event: session.Broken{Why: err.Error()}}
}

// over is a decision after the end, before anybody closed it. An approval never counts (C36); a denial stays as a note (C35).
func (r Request) over(a Approval) Ruling {
	if r.Decision == session.Deny {
		d := r.decision(a)
		return Ruling{Event: session.Decided{Approval: a.ID, Digest: string(a.Digest), Decision: session.Deny, At: r.Now}, Change: Change{At: r.Now, Seq: r.Seq, Decision: &d}}
	}
	return Ruling{
		Refused: refuse(a, Over, "approval %q was open until %s: nothing was run; ask again", a.ID, a.Expires.UTC().Format(time.RFC3339)),
		Event:   session.Lapsed{Approval: a.ID, At: r.Now}, Change: Change{At: r.Now, Seq: r.Seq},
	}
}

// again is a decision about what is closed: the same one has the same answer, another is refused.
func (r Request) again(a Approval) Ruling {
	same := func(d *Decision) bool {
		return d != nil && d.Decision == r.Decision && d.scope() == r.scope() && d.Path == r.Path && a.Digest == r.Digest
	}
	switch {
	case a.State == Edited:
		return Ruling{Refused: refuse(a, Closed, "approval %q was changed: %q has its place, look at that", a.ID, a.ReplacedBy)}
	case same(a.Decision), a.State == Expired && same(a.LateDenial):
		return Ruling{Repeated: true}
	case a.State == Expired && r.Decision == session.Deny && r.Digest == a.Digest && a.LateDenial == nil:
		late, d := a.clone(), r.decision(a)
		late.LateDenial = &d
		return Ruling{Record: &late, Change: Change{At: r.Now, Seq: r.Seq}}
	case a.State == Expired:
		return Ruling{Refused: refuse(a, Over, "approval %q was open until %s: nothing was run; ask again", a.ID, a.Expires.UTC().Format(time.RFC3339))}
	}
	return Ruling{Refused: refuse(a, Closed, "approval %q is closed: it is %s", a.ID, a.State)}
}

func (d *Decision) scope() policy.Scope {
	if d.Scope == "" {
		return policy.Once
	}
	return d.Scope
}

// approve is the only way by which something may start.
func (r Request) approve(a Approval, t Terms) Ruling {
	if no := r.mayApprove(a, t); no != nil {
		return Ruling{Refused: no}
	}
	d := r.decision(a)
	d.Start = r.Now.Add(StartWithin)
	out := Ruling{Event: session.Decided{Approval: a.ID, Digest: string(a.Digest), Decision: session.Approve, At: r.Now, Start: d.Start}}
	if r.wide() {
		offer, ok := a.offered(r.scope(), r.Path)
		if !ok {
			return Ruling{Refused: r.notOffered(a)}
		}
		if r.Rule == "" || len(r.Rule) > maxID {
			return Ruling{Refused: refuse(a, Invalid, "a standing rule needs an id of at most %d bytes", maxID)}
		}
		rule := offer.Rule
		rule.ID, rule.Approver = r.Rule, r.Who.Name
		out.Standing, d.Standing = &rule, rule.ID
	}
	out.Change = Change{At: r.Now, Seq: r.Seq, Decision: &d}
	return out
}

// notOffered says which of scope and path is wrong.
func (r Request) notOffered(a Approval) *Refusal {
	var paths []string
	for _, o := range a.Offers {
		if o.Scope == policy.SessionToolPath {
			paths = append(paths, strconv.Quote(path(o.Path)))
		}
	}
	no := refuse(a, NotOffered, "the scope %s is not one that approval %q offers: approve it for this call alone", tool.PlainLine(string(r.Scope), maxID), a.ID)
	switch by := r.scope() == policy.SessionToolPath; {
	case by && paths != nil:
		no = refuse(a, NotOffered, "path must be %s, as it was offered", strings.Join(paths, " or "))
		no.Field = "path"
	case !by && r.Path != "":
		no = refuse(a, NotOffered, "path goes with DECISION_SCOPE_SESSION_TOOL_PATH")
		no.Field = "path"
	}
	return no
}

func (r Request) mayApprove(a Approval, t Terms) *Refusal {
	switch {
	case !t.RequesterMayApprove && slices.Contains(a.Authors(), r.Who.Name):
		return refuse(a, OwnRequest, "%s asked for this or changed it: another approver decides", r.Who.Name)
	case r.Words && a.Partial():
		return refuse(a, NotByWords, "it was not shown whole: look at all of it, and decide by the approval")
	case a.Hidden && !t.ApproveUnshown:
		return refuse(a, NeverUnshown, "not all of it can be shown, and the configuration lets nobody approve such a call")
	case a.Hidden && !r.Unshown:
		return refuse(a, Unshown, "not all of it can be shown: acknowledge that to approve it all the same")
	case a.Pages <= 1 && r.ContentDigest != "" && r.ContentDigest != a.ContentDigest:
		no := refuse(a, Unread, "the content digest is not that of what is shown; leave it out: this one has one page")
		no.Field, no.Got = "content_digest", r.ContentDigest
		return no
	case a.Pages > 1 && r.ContentDigest != a.ContentDigest:
		no := refuse(a, Unread, "it has %d pages: send the content digest of the last one", a.Pages)
		no.Got = r.ContentDigest // What is wanted stands on the last page alone.
		return no
	}
	return nil
}

// edit closes this approval and opens that of the changed call, in one event.
func (r Request) edit(a Approval) Ruling {
	if no := r.mayReplace(a); no != nil {
		return Ruling{Refused: no}
	}
	n := r.Replacement.Approval
	d := r.decision(a)
	return Ruling{
		Event:  session.Edited{Approval: a.ID, Digest: string(a.Digest), NewApproval: n.ID, NewDigest: string(n.Digest), At: r.Now, Until: n.Expires},
		Change: Change{At: r.Now, Seq: r.Seq, Decision: &d, Made: []Approval{n}},
	}
}

func (r Request) mayReplace(a Approval) *Refusal {
	if r.Replacement == nil {
		return refuse(a, BadEdit, "the changed arguments are missing")
	}
	n := r.Replacement.Approval
	was, is := a.Subject, n.Subject
	switch {
	case n.ID == a.ID || n.EditedFrom != a.ID || n.State != Pending || n.Kind != a.Kind || n.binding() != (canon.Binding{Namespace: a.Namespace, Session: a.Session, Task: a.Task, Approval: n.ID, Salt: n.Salt}):
		return refuse(a, BadEdit, "the changed call is not one of approval %q", a.ID)
	case n.Call != a.Call || n.Turn != a.Turn || was.Tool != is.Tool || was.Server != is.Server || was.Definition != is.Definition || was.Root != is.Root:
		return refuse(a, BadEdit, "only arguments can be changed: not the tool, and not the folder")
	case is.CallHash == was.CallHash:
		return refuse(a, BadEdit, "the arguments are the same: approve or deny it")
	case !slices.Equal(n.Editors, append(slices.Clone(a.Editors), r.Who.Name)) || n.Requester != a.Requester || n.Owner != a.Owner:
		return refuse(a, BadEdit, "who changed the arguments is not who sends them")
	case n.Due(r.Now):
		return refuse(a, BadEdit, "the changed call was asked about for too short a time")
	}
	if err := n.Verify(r.Replacement.Content); err != nil {
		return refuse(a, BadEdit, "%s", err)
	}
	return nil
}

func (r Request) decision(a Approval) Decision {
	return Decision{
		Approval: a.ID, Decision: r.Decision, Name: r.Who.Name, Token: r.Who.Token, At: r.Now, Seq: r.Seq, Reason: r.Reason, Scope: r.scope(), Path: r.Path,
		Words: r.Words, Unshown: r.Unshown && a.Hidden,
	}
}

// Extension asks for more time.
type Extension struct {
	Who Who
	// Until is when it shall end.
	Until, Now time.Time
	Seq        int64
}

// Extend gives an approval that waits more time, to the second, up to MaxLife in all (C74). How it was decided, and until when what is
// approved must have started, is not changed by it.
func Extend(a Approval, e Extension) Ruling {
	if no := MayDecide(a, e.Who); no != nil {
		return Ruling{Refused: no}
	}
	until := e.Until.UTC().Truncate(time.Second)
	switch {
	case a.State != Pending:
		return Ruling{Refused: refuse(a, Closed, "approval %q is closed: it is %s", a.ID, a.State)}
	case a.Due(e.Now):
		return Request{Now: e.Now, Seq: e.Seq}.over(a)
	case !until.After(a.Expires):
		return Ruling{Refused: refuse(a, TooLong, "approval %q is open until %s already", a.ID, a.Expires.UTC().Format(time.RFC3339))}
	case until.Sub(a.Since) > MaxLife:
		return Ruling{Refused: refuse(a, TooLong, "an approval waits at most %s in all: until %s", MaxLife, a.Since.Add(MaxLife).UTC().Format(time.RFC3339))}
	}
	return Ruling{
		Event:  session.Extended{Approval: a.ID, At: e.Now, Until: until},
		Change: Change{At: e.Now, Seq: e.Seq, Actor: audit.Actor{Name: e.Who.Name, Kind: audit.Person}},
	}
}
