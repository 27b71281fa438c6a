package turn

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// book is an MCP server with one tool, note. away: it has told nothing since the service was started; comes: it does when somebody waits for it; gone: it
// is no longer among the settings; other: they name another one of its tools. beside: another server of the namespace is away and stays so.
// alone: no other tool is there.
type book struct {
	away, comes, gone, other, beside, alone bool
	lines                                   []string
	// awaited are the servers that somebody waited for; empty: all.
	awaited []string
}

func (b *book) await(server string) (told bool) {
	b.awaited = append(b.awaited, server)
	if b.comes {
		b.away = false
	}
	return (!b.away || b.gone) && (!b.beside || server == "book")
}

// in adds the tool of the server to a router.
func (b *book) in(r router.Router) (router.Router, error) {
	note, err := tool.Admit(tool.Definition{
		Name: "note", Description: "Note a line", Input: `{"type":"object","properties":{"line":{"type":"string"}}}`,
		Origin: tool.Origin{Kind: tool.MCP, Server: "book", ServerID: "book /bin/book"}, Timeout: time.Second, Limit: 1000,
	})
	if err != nil {
		return r, err
	}
	r.Pins = tool.Pins{"book": map[string]canon.Hash{"note": note.Hash}}
	r.Effects = func(tool.Definition) router.Effect { return b }
	if b.alone {
		r.Tools = &tool.Registry{}
	}
	if !b.away && !b.other {
		r.Tools, err = r.Tools.With(note)
	}
	return r, err
}

func (*book) InFolder() bool              { return false }
func (*book) Ready(context.Context) error { return nil }
func (b *book) Start(_ context.Context, _ router.Intent, args []byte) (router.Output, error) {
	b.lines = append(b.lines, string(args))
	return router.Output{Text: []byte("noted")}, nil
}

// TestAServerThatIsNotThereYet: a call that was approved waits for its server, which was started with the service and tells its tools a moment later, or
// much later; where the server or its tool is no longer among the settings the call is withdrawn, whatever other servers do.
func TestAServerThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]book{
		"a moment later": {away: true, comes: true}, "much later": {away: true}, "never": {away: true, gone: true},
		"a moment later, and another one is away": {away: true, comes: true, beside: true}, "without the tool": {other: true},
		"without the tool, and another one is away": {other: true, beside: true},
	} {
		withdrawn := after.gone || after.other
		r := newRig(t)
		r.book = &book{}
		r.send("書き留めて", say("EXECUTION", "continue", "actions", []any{call("book.note", "line", "霧")}))
		*r.book = after
		r.restart()
		r.model.lines = []string{say("EXECUTION", "done", "reply", "はい。")}
		r.ok(r.decide(r.pending()[0], session.Approve, ""))
		s := r.drive()
		if parked := s.State.Turn.Running == session.Parked; parked != (name == "much later") || parked && !strings.Contains(s.State.LastError, "book.note") {
			t.Errorf("%s: %+v", name, s.State)
		}
		if name == "much later" {
			r.book.away = false
			r.clock.now = s.Parked.Until
			s = r.drive()
		}
		told := r.told(1)[0]
		if n := len(r.book.lines); s.State.Status != session.Success || (n == 1) == withdrawn || n > 1 || strings.Contains(told, "withdrawn before it started") != withdrawn {
			t.Errorf("%s: %d lines, %+v, the model is told %s", name, n, s.State, told)
		}
		r.sound()
	}
}

// TestNobodyWaitsForOtherTools: a call that was approved, whose tool is of no server and is gone by now, is withdrawn at once.
func TestNobodyWaitsForOtherTools(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.book = &book{}
	r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("create", "path", "a.md", "content", "霧")}))
	*r.book = book{alone: true, beside: true}
	r.restart()
	r.model.lines = []string{say("EXECUTION", "done", "reply", "はい。")}
	r.ok(r.decide(r.pending()[0], session.Approve, ""))
	s := r.drive()
	if told := r.told(1)[0]; s.State.Status != session.Success || len(r.book.awaited) > 0 || !strings.Contains(told, "withdrawn before it started") {
		t.Errorf("%+v, awaited %q, the model is told %s", s.State, r.book.awaited, told)
	}
	r.sound()
}
