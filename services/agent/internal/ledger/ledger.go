// Package ledger keeps sessions: what each is, and every change of it as rows of an audit that verifies.
//
// A change is one transaction (Change): the state machine judges the event against the state that is stored, the rows are written
// behind the last one, and the session over the version that was read. So a check and what it allows are one, a decision has one
// outcome under any race, and a change without its row does not exist (field/agent.md I5). The rows carry what changed, so that the
// session can be made again from them (Replay).
package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// clockSlack is how far the clock may be behind the last row before nothing is approved or begun (field/review-agent.md S16).
const clockSlack = time.Minute

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Ledger keeps the sessions of all namespaces. Safe for concurrent use.
type Ledger struct {
	store   store.Store
	keys    *audit.Keys
	machine session.Machine
	clock   Clock
	bell    *bell
	recent  *bodies
	// hold is whose changes these are; nil: of whoever makes them.
	hold *Hold
}

// New makes a ledger. keys make the codes of its rows.
func New(s store.Store, keys *audit.Keys, machine session.Machine, clock Clock) *Ledger {
	return &Ledger{store: s, keys: keys, machine: machine, clock: clock, bell: newBell(), recent: newBodies()}
}

// Settings are what a session is made with and keeps; the policy and what is added to it may be changed.
type Settings struct {
	// Root is the name of a work folder of the configuration; empty: the session has none.
	Root    string `json:"root,omitempty"`
	Backend string `json:"backend,omitempty"`
	Locale  string `json:"locale,omitempty"`
	// Policy is the name of one of the configuration; empty: the default one.
	Policy string `json:"policy,omitempty"`
	// Added are rules beside those of the policy, which ask or deny (field/review-agent.md S9).
	Added []policy.Rule `json:"added,omitempty"`
	// Tools are those that the caller declared and carries out itself, as clienttool.Definitions gives them.
	Tools []tool.Definition `json:"tools,omitempty"`
}

// Memory is what a session and those that it continues did (seed 001, 3.1): files created, and calls executed.
type Memory struct {
	Files      int `json:"files,omitempty"`
	Operations int `json:"operations,omitempty"`
}

// Call is what a session keeps of a call of its batch beside how far it is: hashes, never contents (S22).
type Call struct {
	Tool string `json:"tool"`
	// Hash says which call (field/review-agent.md S5).
	Hash string `json:"hash"`
	// Warn is when watchers are to be told that its approval will expire; the zero time: they were, or nobody is asked.
	Warn time.Time `json:"warn,omitzero"`
	// Client is until when the caller of the session may take for it, who carries it out; the zero time: nobody waits for the caller, or
	// no longer, since the result is there.
	Client time.Time `json:"client,omitzero"`
	// Sealed is the hash of its approval as it was written last, by which one that something else wrote is known without going through the rows.
	Sealed canon.Hash `json:"sealed,omitempty"`
}

// MaxAnswered are the answered questions that a session keeps.
const MaxAnswered = 8

// MaxStanding bounds the standing rules of a session.
const MaxStanding = 32

// Standing is what a person allowed for the rest of the session (field/review-agent.md S8), with the digest of the approval by which.
type Standing struct {
	policy.Standing
	Digest canon.Hash `json:"approval_digest"`
}

// Direct is a call that somebody makes without a model.
type Direct struct {
	Call string `json:"call"`
	// Until is when whoever made it has ended, one way or the other: then it is found out what became of it.
	Until time.Time `json:"until"`
}

// Session is a session as it is now.
type Session struct {
	ID string `json:"id"`
	// Owner is the person who made it, as the token names them.
	Owner string `json:"owner"`
	Settings
	// Continues is the session that it goes on from.
	Continues string         `json:"continues,omitempty"`
	Items     session.Items  `json:"items"`
	Thread    session.Thread `json:"thread"`
	Memory    Memory         `json:"memory"`
	// Brought is what it remembered when it began: prompts tell that, so that they do not change with each call
	// (field/systemprompt-rules.md 3.1).
	Brought Memory        `json:"brought,omitzero"`
	State   session.State `json:"state"`
	Task    string        `json:"task,omitempty"`
	Turns   int           `json:"turns,omitempty"`
	Budgets Budgets       `json:"budgets,omitzero"`
	Spent   Spent         `json:"spent,omitzero"`
	// Asked is the question with which the last turn ended, until the next message; Answered are the latest that a person has answered.
	Asked    string   `json:"asked,omitempty"`
	Answered []string `json:"answered,omitempty"`
	// Calls are those of the batch, a plan or a result among them, by id.
	Calls  map[string]Call `json:"calls,omitempty"`
	Talk   Talk            `json:"talk,omitzero"`
	Parked Parked          `json:"parked,omitzero"`
	// Zone and Hours are the time zone and the form of time, "12" or "24", that its prompts name; empty for none.
	Zone  string `json:"zone,omitempty"`
	Hours string `json:"hours,omitempty"`
	// Flow is the UUID of the flow in which its turns are nodes, empty before the first one; Nodes counts those that were made, stored or
	// on the way there, and Last is the UUID of the one that the next continues.
	Flow  string `json:"flow,omitempty"`
	Nodes int    `json:"nodes,omitempty"`
	Last  string `json:"last,omitempty"`
	// Pins are the definitions of MCP servers' tools that the session has met.
	Pins tool.Pins `json:"pins,omitempty"`
	// Notices are what a person should know of it that stopped nothing, such as files that changed since it began: the latest, each once.
	Notices []string `json:"notices,omitempty"`
	// Standing are the rules by which persons allowed more than one call, in the order in which they were written.
	Standing []Standing `json:"standing,omitempty"`
	// Unproven are calls that have begun and of which nobody could tell what became, the latest: what was staged for them may stand in the work folder.
	Unproven []string `json:"unproven,omitempty"`
	// Direct is a call without a model that has begun and of which nothing else is written (field/review-agent.md C76).
	Direct *Direct `json:"direct,omitempty"`
	// Directs counts those that have begun by the digest of a dry run: with each the digests of all earlier dry runs are used up (C46, C76).
	Directs int       `json:"directs,omitempty"`
	Created time.Time `json:"created"`
	// Deleted is when its contents were taken away.
	Deleted time.Time `json:"deleted,omitzero"`
	Updated time.Time `json:"updated"`
	// Version rises with each change by one.
	Version int64 `json:"-"`
	// Head is where its rows end.
	Head audit.Head `json:"-"`
}

// Doubt takes down that nobody can tell what became of a call that has begun.
func (s *Session) Doubt(call string) {
	if slices.Contains(s.Unproven, call) {
		return
	}
	s.Unproven = append(slices.Clone(s.Unproven), call)
	s.Unproven = s.Unproven[max(0, len(s.Unproven)-MaxHashes):]
}

// Bounds of notices: entries, and characters of one.
const (
	MaxNotices = 16
	MaxNotice  = 300
)

// Notice adds a notice, if it is not there already.
func (s *Session) Notice(text string) {
	text = passage.Cap(passage.Line(text), MaxNotice)
	if text == "" || slices.Contains(s.Notices, text) {
		return
	}
	s.Notices = append(slices.Clone(s.Notices), text)
	s.Notices = s.Notices[max(0, len(s.Notices)-MaxNotices):]
}

// Etag names the version of a session.
func (s Session) Etag() string {
	d := etag.New()
	d.Text(s.ID)
	d.Int(s.Version)
	return d.String()
}

// decode reads a session of a namespace. *BrokenError: the session cannot go on.
func (l *Ledger) decode(v store.View, ns string, s store.Session) (Session, error) {
	out, _, err := l.read(v, ns, s)
	return out, err
}

// read reads a session that is as it was written, and gives the text of it alone, without the head. v is where it was found, and ns the
// namespace of that. *BrokenError, or an error of the store.
func (l *Ledger) read(v store.View, ns string, s store.Session) (out Session, text []byte, err error) {
	k := l.recent.find(s.ID, s.Body)
	if k == nil {
		if k, err = parse(s); err != nil {
			return Session{}, nil, err
		}
		changed, err := l.genuine(v, k)
		if changed != nil && err == nil {
			err = &BrokenError{Session: s.ID, Err: changed}
		}
		if err != nil {
			return Session{}, nil, err
		}
		l.recent.read(s.ID, k)
	}
	// Also of one from memory: the bytes of a session that was moved are the same.
	if of := k.session.Head.Namespace; of != ns && k.session.Deleted.IsZero() { // One that was deleted may have no head, and nothing comes of it.
		return Session{}, nil, &BrokenError{Session: s.ID, Err: fmt.Errorf("it is stored under namespace %q, and its record says %q", ns, of)}
	}
	out = k.session.copy()
	out.Version = s.Version
	return out, k.text, nil
}

// parse reads a session, whoever wrote it. *BrokenError.
func parse(s store.Session) (*known, error) {
	parts, err := members(nil, s.Body)
	k := &known{body: s.Body}
	if err == nil {
		k.text = find(parts, []byte("session"))
		err = errors.Join(json.Unmarshal(k.text, &k.session), json.Unmarshal(find(parts, []byte("head")), &k.session.Head))
	}
	if err == nil && k.session.ID != s.ID {
		err = errOther
	}
	if err != nil {
		return nil, &BrokenError{Session: s.ID, Err: err}
	}
	k.session.Version = s.Version
	return k, nil
}

// Get gives a session. store.ErrNotFound, *BrokenError.
func (l *Ledger) Get(ctx context.Context, ns, id string) (Session, error) {
	s, err := l.load(ctx, ns, id)
	if err == nil {
		err = gone(s)
	}
	return s, err
}

// load gives a session, also one of which only the rows are left.
func (l *Ledger) load(ctx context.Context, ns, id string) (s Session, err error) {
	err = l.store.Read(ctx, ns, func(v store.View) error {
		found, err := v.Session(id)
		if err == nil {
			s, err = l.decode(v, ns, found)
		}
		return err
	})
	return s, err
}

// stored gives a session as it is stored, whether it can be read or not, also one of which only the rows are left. store.ErrNotFound.
func (l *Ledger) stored(ctx context.Context, ns, id string) (found store.Session, err error) {
	err = l.store.Read(ctx, ns, func(v store.View) error {
		found, err = v.Session(id)
		return err
	})
	return found, err
}

// kept is what is stored of a session, with ErrGone where rows of it are there without it, in one snapshot. read gets it with where it was found. store.ErrNotFound: there is neither.
func (l *Ledger) kept(ctx context.Context, ns, id string, read func(store.View, store.Session) error) error {
	return l.store.Read(ctx, ns, func(v store.View) error {
		found, err := v.Session(id)
		if err == nil {
			return read(v, found)
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if rows, unread := v.Records(id, 1, 1); unread != nil || len(rows) > 0 {
			return cmp.Or(unread, errRows)
		}
		return err
	})
}

// Exists is nil where there is such a session, whether it can be read or not, or rows of one that was deleted, or is gone. store.ErrNotFound.
func (l *Ledger) Exists(ctx context.Context, ns, id string) error {
	err := l.kept(ctx, ns, id, func(store.View, store.Session) error { return nil })
	if errors.Is(err, ErrGone) {
		return nil
	}
	return err
}

// Read reads texts and approvals in one snapshot.
func (l *Ledger) Read(ctx context.Context, ns string, fn func(store.View) error) error {
	return l.store.Read(ctx, ns, fn)
}

// Telling gives sessions of all namespaces of which something is still to be told to another service, in one order, behind one of them.
func (l *Ledger) Telling(ctx context.Context, after store.Key, limit int) ([]store.Key, error) {
	return l.store.Telling(ctx, after, limit)
}

// Told takes away what was to be told of a session and was acknowledged. It is no change of the session: it has no row.
func (l *Ledger) Told(ctx context.Context, ns, id string, n int64) error {
	return l.store.Update(ctx, ns, func(tx store.Tx) error { return tx.TakeOutgoing(id, n) })
}

// now is the time, and never one before the last row (S16); behind says that the clock is so far behind it that it is not to be trusted.
func (l *Ledger) now(last time.Time) (now time.Time, behind bool) {
	now = l.clock.Now().UTC().Truncate(time.Microsecond)
	if now.Before(last) {
		return last, last.Sub(now) > clockSlack
	}
	return now, false
}
