package turn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessiontool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// outbox are the turns that are to be stored as nodes.
func (r *rig) outbox() (all []conversation.Exchange) {
	r.Helper()
	r.ok(r.Ledger.Read(r.Context(), ns, func(v store.View) error {
		found, err := v.Outgoing(id, 0, 100)
		if err != nil {
			return err
		}
		for _, o := range found {
			var to struct{ Text string }
			var x conversation.Exchange
			if err := json.Unmarshal(o.Body, &to); err != nil {
				return err
			}
			t, err := v.Text(id, to.Text)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(t.Body, &x); err != nil {
				return err
			}
			all = append(all, x)
		}
		return nil
	}))
	return all
}

// TestTurnsThatAreStored: one node for each turn, whatever its end, with what the person was told and how it was made.
func TestTurnsThatAreStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("港の名は？", say("PLANNING", "done", "reply", "糸崎です。"))
	r.send("その町は？", say("PLANNING", "pending_user", "question", "どの町ですか？"))
	r.send("書いて", say("EXECUTION", "continue", "actions", []any{call("write", "path", "a.md", "content", "x")}))
	m := r.message(approver("ann"), "やめて")
	m.Mode, m.Approvals = session.Supersede, []string{r.pending()[0].ID}
	sent, err := r.Send(t.Context(), ns, id, m)
	r.ok(err)
	_, err = r.Cancel(t.Context(), ns, id, sent.Session.State.Turn.ID, ann)
	r.ok(err)
	r.drive()
	s := r.send("まだ？") // The model is away.
	want := []conversation.Exchange{
		{User: "港の名は？", Reply: "糸崎です。"}, {User: "その町は？", Reply: "どの町ですか？"},
		{User: "書いて", Reply: "次の一手", Finish: "cancelled", Error: "another message took the place of it"},
		{User: "やめて", Finish: "cancelled", Error: "the work was cancelled"}, {User: "まだ？", Finish: "backend_error", Error: "nothing more to say"},
	}
	got := r.outbox()
	if len(got) != len(want) || s.Nodes != len(want) || s.Flow != conversation.FlowID(id).String() {
		t.Fatalf("%d nodes, %+v", s.Nodes, got)
	}
	for i, x := range got {
		made := x.Made
		if x.Made = (ledger.Made{}); !strings.Contains(x.Error, want[i].Error) {
			t.Errorf("turn %d ended by %q, want %q", i+1, x.Error, want[i].Error)
		}
		x.Error = want[i].Error
		if x != want[i] {
			t.Errorf("turn %d is %+v, want %+v", i+1, x, want[i])
		}
		if answered := i < 3; (made.Backend == llm.Identity{Window: 4096}) != answered || answered && (made.Finish != "stop" || len(made.Prompt) != 64 || made.MaxTokens != 1024) {
			t.Errorf("turn %d was made by %+v", i+1, made)
		}
	}
	r.sound()
}

// TestAnInterruptedTurnIsStored, as far as it came, and the model is asked about the message that interrupted it (C77).
func TestAnInterruptedTurnIsStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send0("書いて")
	r.ok(r.open(t.Context(), ns, id))
	s, err := r.Ledger.Get(t.Context(), ns, id)
	r.ok(err)
	m := r.message(approver("ann"), "待って")
	m.Mode, m.TurnID = session.Interrupt, s.State.Turn.ID
	_, err = r.Send(t.Context(), ns, id, m)
	r.ok(err)
	r.model.lines = []string{say("PLANNING", "done", "reply", "待ちます。")}
	s = r.drive()
	got := r.outbox()
	if len(got) != 2 || s.Nodes != 2 || got[0].User != "書いて" || got[0].Finish != "cancelled" || got[1].User != "待って" || got[1].Reply != "待ちます。" {
		t.Errorf("%+v", got)
	}
	if asked := r.model.asked[0].Messages; asked[len(asked)-1].Content != "待って" {
		t.Errorf("the model was asked %+v", asked)
	}
	r.sound()
}

// TestAnAsideIsStored beside the conversation.
func TestAnAsideIsStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("港の名は？", say("PLANNING", "done", "reply", "糸崎です。"))
	last := conversation.NodeID(id, 1).String()
	r.model.lines = []string{"今は昼です。"}
	for range 2 { // The second time it is answered as before.
		_, err := r.Aside(t.Context(), ns, id, ann, "m-1", "今は？")
		r.ok(err)
	}
	s, err := r.Ledger.Get(t.Context(), ns, id)
	r.ok(err)
	if got := r.outbox(); len(got) != 2 || got[1].User != "今は？" || got[1].Reply != "今は昼です。" || got[1].Made.Finish != "stop" || s.Nodes != 2 || s.Last != last {
		t.Errorf("%+v, %d nodes", got, s.Nodes)
	}
	r.sound()
}

// TestThePatternOfTheNextPrompt is that of the last answer, also over the end of a turn (seed 001, 10.2).
func TestThePatternOfTheNextPrompt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("港の名は？", say("PLANNING", "done", "reply", "糸崎です。", "prompt_pattern", "base_main"))
	r.send("書いて", say("PLANNING", "continue", "prompt_pattern", "base_main_specialized"), say("PLANNING", "done", "reply", "はい"))
	r.send("次は？", say("PLANNING", "done", "reply", "はい", "prompt_pattern", "base_main"))
	var got []string
	for _, p := range r.prompts.built {
		got = append(got, p.Pattern)
	}
	if strings.Join(got, " ") != " base_main base_main_specialized base_main_specialized" {
		t.Errorf("%q", got)
	}
}

// TestTheSnapshotOfASession: later prompts get what the first one read, also in another process; what a person should know is told once.
func TestTheSnapshotOfASession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.prompts.answer = Built{Text: "p", Snapshot: []byte("files"), Zone: "Asia/Tokyo", Hours: "24", Notices: []string{"", "a file\nis cut"}}
	r.send("港の名は？", say("PLANNING", "done", "reply", "糸崎です。"))
	r.prompts.answer.Snapshot = nil
	r.restart()
	s := r.send("その町は？", say("PLANNING", "done", "reply", "尾道です。"))
	if first, next := r.prompts.built[0].Snapshot, r.prompts.built[1].Snapshot; len(first) != 0 || string(next) != "files" {
		t.Errorf("%q, then %q", first, next)
	}
	if len(s.Notices) != 1 || s.Notices[0] != "a file is cut" || s.Zone != "Asia/Tokyo" || s.Hours != "24" {
		t.Errorf("%q %q %q", s.Notices, s.Zone, s.Hours)
	}
	r.sound()
}

// shelf shows every node.
type shelf struct{}

func (shelf) Detail(_ context.Context, _ string, _ nodecontext.Settings, e nodecontext.Entry, _ int) (string, error) {
	return "node " + e.ID.String(), nil
}

func (shelf) LimitText(context.Context, string, nodecontext.Settings, string) (string, error) {
	return "limit", nil
}

func (shelf) UnknownText(context.Context, string, nodecontext.Settings, string) (string, error) {
	return "unknown", nil
}

// looking gives the router of a rig the tools that look at the session.
type looking struct{ *rig }

func (l looking) Router(ctx context.Context, ns string, s ledger.Session) (router.Router, error) {
	r, err := l.rig.Router(ctx, ns, s)
	t := &sessiontool.Tools{Namespace: ns, Session: s, Nodes: shelf{}, Flows: nil, Clock: l.clock, ToolCalls: l.Limits.ToolCalls}
	r.Reads = t.Reads()
	return r, err
}

// TestLookingAtTheSession: a model is shown three nodes of its session in a turn, over several answers, and more in the next one; each
// has its row, and what is not shown is an error that says why.
func TestLookingAtTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Tools = looking{r}
	r.send("港の名は？", say("PLANNING", "done", "reply", "糸崎です。"))
	node := func(n string) map[string]any { return call(tool.NodeDetail, "node_id", n) }
	one := conversation.NodeID(id, 1).String()
	s := r.send("前は？",
		say("PLANNING", "continue", "actions", []any{node("1"), node(one)}), say("PLANNING", "continue", "actions", []any{node(one[28:]), node("[1]"), call(tool.SessionStatus)}),
		say("PLANNING", "done", "reply", "糸崎です。"))
	var got []string
	for _, m := range r.model.asked[len(r.model.asked)-1].Messages {
		if m.Role == llm.RoleTool {
			var result tool.Result
			r.ok(json.Unmarshal([]byte(m.Content), &result))
			got = append(got, string(result.Status)+" "+result.Text)
		}
	}
	shown := "EXECUTED node " + one
	if len(got) != 5 || got[0] != shown || got[1] != shown || got[4] == "" || strings.Count(strings.Join(got[2:4], "\n"), shown) != 1 || strings.Count(strings.Join(got[2:4], "\n"), "FAILED limit") != 1 {
		t.Fatalf("%q", got)
	}
	var status sessiontool.Status
	if err := json.Unmarshal([]byte(strings.TrimPrefix(got[4], "EXECUTED ")), &status); err != nil || status.SessionID != id || status.Budget.ModelCalls != 18 || !strings.HasPrefix(status.RequestID, "id") {
		t.Errorf("%+v, %v", status, errors.Unwrap(err))
	}
	if s.Talk.Shown != 3 || s.Talk.ShownNow != 3 {
		t.Errorf("%d and %d are counted", s.Talk.Shown, s.Talk.ShownNow)
	}
	if s = r.send("もっと", say("PLANNING", "continue", "actions", []any{node("2")}), say("PLANNING", "done", "reply", "はい")); s.Talk.Shown != 4 || s.Talk.ShownNow != 1 {
		t.Errorf("%d and %d are counted", s.Talk.Shown, s.Talk.ShownNow)
	}
	rows := 0
	for row, err := range r.Ledger.Rows(t.Context(), ns, id, 1) {
		r.ok(err)
		if strings.Contains(row.Details, tool.NodeDetail) {
			rows++
		}
	}
	if rows != 5 {
		t.Errorf("%d rows of node_detail", rows)
	}
	r.sound()
}
