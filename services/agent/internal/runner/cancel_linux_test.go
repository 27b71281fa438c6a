package runner

import (
	"context"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// endless is a program that goes on until it is ended.
type endless struct{ began, ended chan struct{} }

func (endless) InFolder() bool              { return false }
func (endless) Ready(context.Context) error { return nil }
func (e endless) Start(ctx context.Context, _ router.Intent, _ []byte) (router.Output, error) {
	close(e.began)
	<-ctx.Done()
	close(e.ended)
	return router.Output{}, ctx.Err()
}

// TestAHardCancel: a call that runs goes on within the grace, however often the session is canceled, and is ended at once by a hard cancel.
func TestAHardCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t, answers(say("EXECUTION", "continue", "actions", []any{map[string]any{"name": "one.wait", "args": map[string]any{}}}), done))
	r.Limits.Grace = time.Hour
	e := endless{make(chan struct{}), make(chan struct{})}
	made := r.Engine.Tools.(tools).made
	made.Effects = func(tool.Definition) router.Effect { return e }
	admitted, err := tool.Admit(tool.Definition{Name: "wait", Description: "waits", Input: `{"type":"object"}`, Origin: tool.Origin{Kind: tool.MCP, Server: "one", ServerID: "1"}, Timeout: time.Hour, Limit: 1 << 10})
	r.ok(err)
	made.Tools, err = tool.NewRegistry(admitted)
	r.ok(err)
	p := policy.Default()
	p.Rules = []policy.Rule{{ID: "w", Effect: policy.EffectAllow, Tool: "one.wait"}}
	set, err := policy.NewSet([]policy.Policy{p}, p.Name)
	r.ok(err)
	made.Engine, err = set.Engine(policy.Choice{})
	r.ok(err)
	r.Engine.Tools = tools{made: made}
	r.create("s")
	r.start(r.process)
	s, err := r.Send(t.Context(), ns, "s", text("待って"))
	r.ok(err)
	<-e.began
	for range 2 {
		_, err = r.Engine.Cancel(t.Context(), ns, "s", s.State.Turn.ID, ann)
		r.ok(err)
		r.Wake(t.Context(), ns, "s")
		time.Sleep(5 * r.Limits.Sweep) // Looks at a session that is being stopped.
	}
	select {
	case <-e.ended:
		t.Fatal("the grace was not given")
	default:
	}
	if now := r.get("s").State; now.Lifecycle != session.Canceling || now.Hard {
		t.Errorf("%+v", now)
	}
	for range 2 {
		_, err = r.Engine.CancelHard(t.Context(), ns, "s", s.State.Turn.ID, ann)
		r.ok(err)
	}
	r.Wake(t.Context(), ns, "s")
	<-e.ended
	r.until("canceled", func() bool { return r.get("s").State.Lifecycle == session.Canceled })
	if now := r.rests("s"); now.State.Hard || r.rows("s")["cancel HARD"] != 1 {
		t.Errorf("%+v, %v", now.State, r.rows("s"))
	}
	r.sound("s")
}
