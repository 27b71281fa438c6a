package ledger

import (
	"bytes"
	"maps"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/recent"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// maxRecent bounds what recent holds, in bytes of the bodies of a generation. As values they take about as much again.
const maxRecent = 4 << 20

// bodies holds the sessions that were read or written last, as their bodies and what these say: a session is read several times for each
// change, and reading JSON is most of that. What is stored decides: a session is taken from here only where the very bytes of its body were
// read just now, so that nobody, and no other process either, can make what is here old.
type bodies struct {
	recent.Cache[string, *known]
}

func newBodies() *bodies { return &bodies{recent.Cache[string, *known]{Max: maxRecent}} }

// known is a body as it was written, the text of the session in it, and the session, which is nobody's: whoever gets it takes a copy.
type known struct {
	body, text []byte
	session    Session
}

// find gives what a body says; nil: it is not known.
func (b *bodies) find(id string, body []byte) *known {
	if k, ok := b.Get(id); ok && bytes.Equal(k.body, body) {
		return k
	}
	return nil
}

// read takes a session as it was read. Nobody changes its body.
func (b *bodies) read(id string, k *known) { b.Put(id, k, len(k.body)) }

// wrote takes a session as it was written, with the text of it; nil: it was not.
func (b *bodies) wrote(s *Session, body, text []byte) {
	// What is not UTF-8 in it is another text when it is read again.
	if body != nil && !bytes.Contains(body, []byte(`\ufffd`)) {
		b.read(s.ID, &known{body: body, text: text, session: s.copy()})
	}
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
	c.Tools, c.Added = copied(s.Tools), copied(s.Added)
	c.Items.Constraints, c.Items.PlanBrief, c.Items.OpenQuestions = copied(s.Items.Constraints), copied(s.Items.PlanBrief), copied(s.Items.OpenQuestions)
	c.Thread.Refs, c.Thread.Found, c.Thread.Decisions = copied(s.Thread.Refs), copied(s.Thread.Found), copied(s.Thread.Decisions)
	c.State.Calls, c.State.Queue = copied(s.State.Calls), copied(s.State.Queue)
	c.Answered, c.Notices, c.Standing = copied(s.Answered), copied(s.Notices), copied(s.Standing)
	c.Unproven = copied(s.Unproven)
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
