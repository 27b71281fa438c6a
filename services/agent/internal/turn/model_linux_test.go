package turn

import (
	"context"
	"fmt"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// servers are the model servers of a backends file.
type servers struct{ set *backends.Set }

func (r servers) Generator(string) (llm.Generator, error) { return r.set.Generator("small") }

// plain is a prompt that says what is wanted.
type plain struct{}

func (plain) Build(context.Context, string, Prompt) (Built, error) {
	return Built{Text: "You are an agent. Answer the user. Put your answer into reply. Say yes to both checks. step is PLANNING, next_step is done."}, nil
}

// TestARealModel: a real llama.cpp server takes the form that an answer is held to. Whatever a small model makes of it, what it proposes is
// disposed of, and the session rests; answers that were cut are asked for again.
func TestARealModel(t *testing.T) {
	t.Parallel()
	address := testkit.Model(t, "smollm2")
	set, err := backends.Parse(fmt.Appendf(nil, "default: small\nbackends:\n  small: {kind: llamacpp, address: %q}\n", address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	r := newRig(t)
	r.Models, r.Prompts = servers{set}, plain{}
	r.Limits.Answer = 150
	r.send0("港の話を書いてください。")
	s := r.drive()
	for _, a := range r.pending() {
		r.ok(r.decide(a, session.Deny, "not now"))
	}
	t.Logf("%s %s %s %s", s.State.Step, s.State.Status, s.State.Reason, s.State.LastError)
	if s.State.Status == session.InProgress || s.State.Status == session.Error || s.State.Reason == session.ReasonUnreachable {
		t.Errorf("%+v", s.State)
	}
	r.sound()
}
