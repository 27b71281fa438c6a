package turn

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// TestAgent04AStoredCallThatChanged: where what is stored of a call that waits is no longer what was shown, nothing of it is written, whatever was
// approved: neither where what was shown has changed, which breaks the session, nor where the arguments that would run have (cases/agent.md c4).
func TestAgent04AStoredCallThatChanged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text      func(a gate.Approval) string
		code      gate.Code
		state     gate.State
		lifecycle session.Lifecycle
		kind      audit.Kind
	}{
		"what was shown": {func(a gate.Approval) string { return contentOf(a.ID) }, gate.Broken, gate.Canceled, session.Failed, audit.Refusal},
		"what would run": {func(a gate.Approval) string { return argsOf(a.Call) }, "", gate.Voided, session.Open, audit.Void},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("write", "path", "a.txt", "content", "hello")}))
			a := r.pending()[0]
			r.ok(r.store.Update(t.Context(), ns, func(tx store.Tx) error {
				was, err := tx.Text(id, tt.text(a))
				if err != nil {
					return err
				}
				was.Body = []byte(strings.ReplaceAll(string(was.Body), "hello", "rm"))
				return tx.PutText(was)
			}))
			if got := refusal(r.decide(a, session.Approve, "")); got != tt.code {
				t.Errorf("refused with %q", got)
			}
			r.model.lines = []string{say("PLANNING", "done")}
			if s := r.drive(); s.State.Lifecycle != tt.lifecycle || r.approval(a.ID).State != tt.state || r.file("a.txt") != "" {
				t.Errorf("%+v, the approval is %s, %q is written", s.State, r.approval(a.ID).State, r.file("a.txt"))
			}
			if n := r.kinds(); n[tt.kind] == 0 || n[audit.Intent] != 0 {
				t.Errorf("rows: %v", n)
			}
			_, err := r.Ledger.Verify(t.Context(), ns, id)
			r.ok(err)
		})
	}
}

// TestAgent32WhatWasMendedIsTold: the row of an answer that was mended before it could be read says what was done, and its raw text is kept as the
// model wrote it (cases/agent.md c32).
func TestAgent32WhatWasMendedIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	raw := `<think>maybe {"step":"EXECUTION"}</think>Here it is:` + "\n```json" + strings.TrimSuffix(say("PLANNING", "done", "reply", "はい。"), "}") + ",}"
	if s := r.send("港の名は？", raw); s.State.Status != session.Success || s.State.Step != session.Planning {
		t.Fatalf("%+v", s.State)
	}
	told := 0
	for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
		r.ok(err)
		var d ledger.Details
		if row.Details == "" || json.Unmarshal([]byte(row.Details), &d) != nil || d.Answer == "" {
			continue
		}
		told++
		for _, repair := range []string{"think", "fence", "trailing_comma"} {
			if !slices.Contains(d.Read, repair) {
				t.Errorf("the row says %q, and nothing of %s", d.Read, repair)
			}
		}
		r.ok(r.Ledger.Read(t.Context(), ns, func(v store.View) error {
			kept, err := v.Text(id, d.Answer)
			if string(kept.Body) != raw {
				t.Errorf("%q is kept", kept.Body)
			}
			return err
		}))
	}
	if told != 1 {
		t.Errorf("%d rows tell of the answer", told)
	}
	r.sound()
}

// TestAgent14WhatBecameOfACall: where a turn ends before the model was told what became of its call, it is told with the next message: that a
// message took its place, that it was canceled, and also that it was carried out (cases/agent.md c14).
func TestAgent14WhatBecameOfACall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(r *rig, a gate.Approval)
		want []string
	}{
		"superseded": {func(r *rig, a gate.Approval) {
			m := r.message(approver("ann"), "八〇八〇番で")
			m.Mode, m.Approvals = session.Supersede, []string{a.ID}
			_, err := r.Send(r.Context(), ns, id, m)
			r.ok(err)
		}, []string{`"status":"VOIDED","not_executed":true`, "SUPERSEDED"}},
		"canceled": {func(r *rig, a gate.Approval) {
			_, err := r.Cancel(r.Context(), ns, id, a.Turn, ann)
			r.ok(err)
			r.drive()
		}, []string{`"status":"VOIDED","not_executed":true`, "CANCELED"}},
		"carried out, and the model was away": {func(r *rig, a gate.Approval) {
			r.ok(r.decide(a, session.Approve, ""))
			r.drive()
		}, []string{`"status":"EXECUTED"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("write", "path", "a.md", "content", "x")}))
			tt.end(r, r.pending()[0])
			r.send("それで？", say("PLANNING", "done", "reply", "はい。"), say("PLANNING", "done", "reply", "はい。"))
			first := slices.IndexFunc(r.prompts.built, func(p Prompt) bool { return len(p.Evidence) > 0 })
			if first < 0 || len(r.prompts.built[first].Talk) > 0 {
				t.Fatalf("no prompt, or not the first of a turn: %+v", r.prompts.built)
			}
			told := r.prompts.built[first].Evidence
			for _, want := range tt.want {
				if len(told) != 1 || told[0].Source != "write" || !strings.Contains(told[0].Text, want) {
					t.Errorf("it is told %+v, without %s", told, want)
				}
			}
			r.sound()
		})
	}
}
