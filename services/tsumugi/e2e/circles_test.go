package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// circles are models that come to no end. answer is the one with a number, asked how often such a model is asked, reason why its turn stops then,
// and told what the session says of it.
var circles = []struct {
	name         string
	answer       func(i int) string
	asked        int
	reason, told string
}{
	{"the same answer", func(int) string { return say("PLANNING", "continue", "actions", acts("list", args{"path": "."})) }, 4, "STUCK", "4 times"},
	{"the same call", func(i int) string {
		return say("PLANNING", "continue", "rationale", fmt.Sprint("見る", i), "actions", acts("list", args{"path": "."}))
	}, 4, "STUCK", "4 times"},
	{"two calls by turns", func(i int) string {
		return say("PLANNING", "continue", "rationale", fmt.Sprint("読む", i), "actions", acts("read", args{"path": []string{"a.md", "b.md"}[i%2]}))
	}, 6, "STUCK", "6 times"},
	{"nothing that can be read", func(int) string { return `{"step": ` }, 3, "INVALID_ANSWER", ""},
	{"one failure after the other", func(i int) string {
		miss := func(n int) args { return args{"path": fmt.Sprintf("missing%d.md", 3*i+n)} }
		return say("EXECUTION", "continue", "actions", acts("read", miss(0), "read", miss(1), "read", miss(2)))
	}, 4, "ERRORS", ""},
}

// inCircles: a model that comes to no end is stopped, a person is asked, and why is told in the session and by those who watch it; one more message
// works (cases/agent.md c29).
func inCircles(t *testing.T, m mode) {
	o := newOffice(t, m, "", "")
	o.start(t)
	for _, name := range []string{"a.md", "b.md"} {
		if err := os.WriteFile(filepath.Join(o.folder, name), []byte("霧"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range circles {
		s := o.approvers(t)[i%2]
		name := o.session(t, s)
		for n := range c.asked + 3 {
			o.think(c.answer(n))
		}
		h := o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "見て"})
		if n := len(o.heard()); n != c.asked {
			t.Errorf("%s over %s: it is asked %d times", c.name, s.how, n)
		}
		now := o.get(t, s, name)
		for _, at := range []*agentv1.Session{now, h.session} {
			if at.GetStatus() != agentv1.SessionStatus_SESSION_STATUS_REQUIRES_USER_INPUT || at.GetStopReason() != c.reason || at.GetLastError() == "" || !strings.Contains(at.GetLastError(), c.told) {
				t.Errorf("%s over %s: %v", c.name, s.how, at)
			}
		}
		if got := o.stops(t, name); len(got) != 1 || got[0] != c.reason {
			t.Errorf("%s over %s: those who watch are told of the ends %q", c.name, s.how, got)
		}
		o.forget()
		o.think(say("PLANNING", "done", "reply", "はい。"))
		if h := o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "もうよい"}); h.session.GetStatus() != agentv1.SessionStatus_SESSION_STATUS_SUCCESS {
			t.Errorf("%s over %s: one more message: %v", c.name, s.how, h.session)
		}
		o.heard()
		o.sound(t, s, name)
	}
}

// stops are the reasons for which turns of a session have stopped, as a stream tells them.
func (o *office) stops(t *testing.T, name string) (all []string) {
	t.Helper()
	for _, e := range o.history(t, name) {
		if c := e.GetTurnChange(); c.GetState() == agentv1.TurnState_TURN_STATE_STOPPED {
			all = append(all, c.GetReason())
		}
	}
	return all
}
