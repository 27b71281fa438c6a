package ledger

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Bounds of what recent holds, in bytes of bodies: of one, and of all of a generation, of which there are two. As values they take about
// as much again.
const (
	maxKnown = 256 << 10
	maxYoung = 4 << 20
)

// recent holds the sessions that were read or written last, as their bodies and what these say: a session is read several times for each
// change, and reading JSON is most of that. What is stored decides: a session is taken from here only where the very bytes of its body were
// read just now, so that nobody, and no other process either, can make what is here old. Safe for concurrent use.
type recent struct {
	mu sync.Mutex
	// What is not used while young fills with others goes with old.
	young, old map[string]known
	bytes      int
}

// known is a body, the text of the session in it, and the session, which is nobody's: whoever gets it gets a copy.
type known struct {
	body, text []byte
	session    Session
}

func (r *recent) find(id string, body []byte) (k known, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k, ok = r.young[id]; !ok {
		if k, ok = r.old[id]; ok {
			r.keep(id, k)
		}
	}
	return k, ok && bytes.Equal(k.body, body)
}

// put takes a session as it was read. Nobody changes its body.
func (r *recent) put(id string, k known) {
	if len(k.body) > maxKnown {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(id, k)
}

// wrote takes a session as it was written; nil: it was not.
func (r *recent) wrote(s Session, body []byte) {
	// What is not UTF-8 in it is another text when it is read again.
	if parts, err := members(body); err == nil && body != nil && !bytes.Contains(body, []byte(`\ufffd`)) {
		r.put(s.ID, known{body: body, text: find(parts, []byte("session")), session: s.copy()})
	}
}

func (r *recent) keep(id string, k known) {
	if r.bytes > maxYoung || r.young == nil {
		r.young, r.old, r.bytes = map[string]known{}, r.young, 0
	}
	r.bytes += len(k.body) - len(r.young[id].body)
	r.young[id] = k
}

// copied is a list of one's own, as it is when it is read again: one without entries is nil.
func copied[T any](all []T) []T {
	if len(all) == 0 {
		return nil
	}
	return slices.Clone(all)
}

// copy is a session that shares nothing with the other one that can be changed, and is as it were when it is read again.
func (s *Session) copy() Session {
	c := *s
	c.Tools = copied(s.Tools)
	c.Items.Constraints, c.Items.PlanBrief, c.Items.OpenQuestions = copied(s.Items.Constraints), copied(s.Items.PlanBrief), copied(s.Items.OpenQuestions)
	c.Thread.Refs, c.Thread.Decisions = copied(s.Thread.Refs), copied(s.Thread.Decisions)
	c.Memory, c.Brought = s.Memory.copy(), s.Brought.copy()
	c.State.Calls, c.State.Queue = copied(s.State.Calls), copied(s.State.Queue)
	c.Answered, c.Notices, c.Standing = copied(s.Answered), copied(s.Notices), copied(s.Standing)
	c.Talk = s.Talk.copy()
	if c.Calls = nil; len(s.Calls) > 0 {
		c.Calls = maps.Clone(s.Calls)
	}
	if c.Pins = nil; len(s.Pins) > 0 {
		c.Pins = make(tool.Pins, len(s.Pins))
		for server, pinned := range s.Pins {
			c.Pins[server] = maps.Clone(pinned)
		}
	}
	if s.Direct != nil {
		direct := *s.Direct
		c.Direct = &direct
	}
	return c
}

func (m Memory) copy() Memory {
	m.Patterns, m.Wishes = copied(m.Patterns), copied(m.Wishes)
	return m
}

func (t Talk) copy() Talk {
	t.Messages, t.Owed, t.Past, t.Evidence = copied(t.Messages), copied(t.Owed), copied(t.Past), copied(t.Evidence)
	for i := range t.Messages {
		t.Messages[i].Calls = copied(t.Messages[i].Calls)
	}
	t.Denied, t.Unknown, t.Recent = copied(t.Denied), copied(t.Unknown), copied(t.Recent)
	t.Executed = copied(t.Executed)
	for i := range t.Executed {
		t.Executed[i].Targets = copied(t.Executed[i].Targets)
	}
	t.Senders, t.Speakers = copied(t.Senders), copied(t.Speakers)
	return t
}
