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
// is no longer among the settings.
type book struct {
	away, comes, gone bool
	lines             []string
}

func (b *book) await() (all bool) {
	if b.comes {
		b.away = false
	}
	return !b.away || b.gone
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
	if !b.away {
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
// much later; where the server is no longer among the settings the call is withdrawn.
func TestAServerThatIsNotThereYet(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]book{
		"a moment later": {away: true, comes: true}, "much later": {away: true}, "never": {away: true, gone: true},
	} {
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
		if n := len(r.book.lines); s.State.Status != session.Success || (n == 1) == after.gone || n > 1 || strings.Contains(told, "withdrawn before it started") != after.gone {
			t.Errorf("%s: %d lines, %+v, the model is told %s", name, n, s.State, told)
		}
		r.sound()
	}
}
