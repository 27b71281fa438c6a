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

// real are the model servers of a backends file.
type real struct{ set *backends.Set }

func (r real) Generator(string) (llm.Generator, error) { return r.set.Generator("small") }

// plain is a prompt that says what is wanted.
type plain struct{}

func (plain) Build(context.Context, string, Prompt) (string, error) {
	return "You are an agent. Answer the user. Put your answer into reply. Say yes to both checks. step is PLANNING, next_step is done.", nil
}

// TestARealModel: a real llama.cpp server is held to the form, so that every answer of even a small model can be read; what it proposes is
// disposed of, and the session rests.
func TestARealModel(t *testing.T) {
	t.Parallel()
	address := testkit.Model(t, "smollm2")
	set, err := backends.Parse(fmt.Appendf(nil, "default: small\nbackends:\n  small: {kind: llamacpp, address: %q}\n", address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	r := newRig(t)
	r.Models, r.Prompts = real{set}, plain{}
	r.Limits.Answer = 400
	for _, text := range []string{"What is a harbour?", "港の話を書いてください。"} {
		_, err := r.Send(t.Context(), ns, id, ann, session.Sent{ID: r.IDs.ID(), Mode: session.Queue}, text)
		r.ok(err)
		s := r.drive()
		t.Logf("%s %s %s %s", s.State.Step, s.State.Status, s.State.Reason, s.State.LastError)
		if s.State.Status == session.InProgress || s.State.Status == session.Error {
			t.Errorf("%+v", s.State)
		}
		for _, a := range r.pending() {
			r.ok(r.decide(a, session.Deny, "not now"))
		}
		r.drive()
	}
	read, all := 0, 0
	for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
		r.ok(err)
		if row.Verdict == "ANSWERED" {
			all++
		}
		if row.Verdict == "REFUSED" && row.Reason == string(session.ReasonInvalid) {
			read--
		}
	}
	t.Logf("%d answers, %d unreadable", all, -read)
	if -read > all/2 {
		t.Error("a server that holds the answer to its form gives more answers that cannot be read than others")
	}
	r.sound()
}
