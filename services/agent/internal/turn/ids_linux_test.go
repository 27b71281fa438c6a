package turn

import (
	"context"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// provider is a server that makes calls in its own form, and begins to count them anew with each answer.
type provider struct {
	*says
	calls []llm.ToolCall
}

type providing struct {
	llm.Stream
	call llm.ToolCall
}

func (p *provider) Generator(string) (llm.Generator, error) { return p, nil }
func (p *provider) Generate(ctx context.Context, r llm.Request) (llm.Stream, error) {
	s, err := p.says.Generate(ctx, r)
	if err != nil || len(p.calls) == 0 {
		return s, err
	}
	call := p.calls[0]
	p.calls = p.calls[1:]
	return &providing{s, call}, nil
}

func (p *providing) Result() llm.Result {
	return llm.Result{Finish: llm.FinishStop, Calls: []llm.ToolCall{p.call}}
}

// TestIDsOfServers: a server that calls everything call_0 has no call told the result of an earlier one.
func TestIDsOfServers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ok(writeFile(r, "a.md", "霧の港"))
	r.Models = &provider{r.model, []llm.ToolCall{
		{ID: "call_0", Name: "read", Arguments: `{"path":"a.md"}`}, {ID: "call_0", Name: "write", Arguments: `{"path":"a.md","content":"x"}`},
	}}
	r.send("読んで", say("PLANNING", "continue"))
	r.model.lines = nil
	r.send("書いて", say("EXECUTION", "continue"))
	wait := r.pending()
	if len(wait) != 1 {
		t.Fatalf("%+v", wait)
	}
	r.ok(r.decide(wait[0], session.Deny, "まだ早い"))
	r.model.lines = []string{say("PLANNING", "done", "reply", "待ちます。")}
	r.drive()
	asked := r.model.asked[len(r.model.asked)-1].Messages
	if last := asked[len(asked)-1].Content; !strings.Contains(last, "DENIED") || strings.Contains(last, "霧の港") {
		t.Errorf("the model was told %q", last)
	}
	r.sound()
}
