package sessiontool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

const id = "0196b2c4-1111-7aaa-8bbb-0000a1b2c301"

var (
	foreign = uuid.MustParse("0196b2c4-2222-7aaa-8bbb-0000a1b2c302")
	linked  = uuid.MustParse("0196b2c4-3333-7aaa-8bbb-0000a1b2c303")
	branch  = uuid.MustParse("0196b2c4-4444-7aaa-8bbb-0000a1b2c304")
	gone    = uuid.MustParse("0196b2c4-5555-7aaa-8bbb-0000a1b2c305")
	other   = uuid.MustParse("0196b2c4-6666-7aaa-8bbb-0000a1b2c306")
)

// nodes shows nodes but one that is gone, and says what it was asked.
type nodes struct{ shown atomic.Int32 }

func (n *nodes) Detail(_ context.Context, ns string, set nodecontext.Settings, e nodecontext.Entry, chars int) (string, error) {
	if e.ID == gone {
		return "", nodecontext.ErrNoNode
	}
	n.shown.Add(1)
	return fmt.Sprint(ns, " ", set.Locale, " ", e.ID, " ", e.TextID, " ", chars), nil
}

func (*nodes) LimitText(_ context.Context, _ string, _ nodecontext.Settings, id string) (string, error) {
	return id + " limit", nil
}

func (*nodes) UnknownText(_ context.Context, _ string, _ nodecontext.Settings, id string) (string, error) {
	return id + " unknown", nil
}

// flows have members.
type flows map[uuid.UUID][]uuid.UUID

func (f flows) Members(_ context.Context, _ string, flow uuid.UUID) ([]uuid.UUID, error) {
	all, ok := f[flow]
	switch {
	case f == nil:
		return nil, conversation.ErrAway
	case !ok:
		return nil, conversation.ErrNoFlow
	}
	return all, nil
}

type clock struct{}

func (clock) Now() time.Time { return time.Date(2026, 5, 1, 23, 59, 59, 999, time.UTC) }

func tools() *Tools {
	own := conversation.FlowID(id)
	return &Tools{
		Namespace: "team-a", Nodes: &nodes{}, Clock: clock{}, ToolCalls: 64,
		Flows: flows{own: {conversation.NodeID(id, 1), branch, gone}, other: {linked}},
		Session: ledger.Session{
			ID: id, Settings: ledger.Settings{Locale: "ja"}, Flow: own.String(), Nodes: 2,
			Thread: session.Thread{Refs: []string{"file:a.md", "conversation:2", "conversation:sessions/old/2", "conversation:" + foreign.String(), "conversation:flows/" + other.String(), "conversation:flows/" + uuid.NewString(), "plan:1"}},
			State:  session.State{Turn: session.Turn{ModelCalls: 20}},
			Talk:   ledger.Talk{ToolCalls: 3, Messages: []ledger.Message{{Role: "user", Text: "m1/message"}}},
		},
	}
}

// TestStatus: exactly the fields of R42, in the zone of the prompt.
func TestStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, hours, want string }{
		{"", "", `{"current_time":"2026-05-01T23:59:59Z","timezone":"UTC","time_format":"24-hour",`},
		{"Asia/Tokyo", "12", `{"current_time":"2026-05-02T08:59:59+09:00","timezone":"Asia/Tokyo","time_format":"12-hour",`},
	} {
		s := tools()
		s.Session.Zone, s.Session.Hours = c.zone, c.hours
		got, err := s.Reads()[tool.SessionStatus](t.Context(), []byte("{}"))
		want := c.want + `"session_id":"` + id + `","request_id":"m1","budget":{"model_calls_left":19,"tool_calls_left":61,"nodes_left":3}}`
		if err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	s := tools()
	s.Session.State.Turn.ModelCalls, s.Session.Talk = 0, ledger.Talk{ToolCalls: 99, Shown: 19}
	if got, err := s.Reads()[tool.SessionStatus](t.Context(), nil); err != nil || !strings.Contains(string(got), `"request_id":"","budget":{"model_calls_left":0,"tool_calls_left":0,"nodes_left":1}`) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestWhichNodes: those of the session's own flow and of its references, however they are named; no other.
func TestWhichNodes(t *testing.T) {
	t.Parallel()
	first := conversation.NodeID(id, 1)
	for asked, want := range map[string]uuid.UUID{
		first.String(): first, "nodes/" + first.String(): first, "[" + conversation.TextID(first) + "]": first, strings.ToUpper(conversation.TextID(first)): first, "1": first, "conversation:1": first,
		"a1b2c302": foreign, "[ a1b2c302 ]": foreign, "a1b2c303": linked, "a1b2c304": branch, "3": {}, "0": {}, "-1": {}, "a1b2c305": {}, "": {}, "a1b2c306": {}, "1234567": {},
		uuid.NewString(): {}, "２": {},
	} {
		s := tools()
		got, err := s.Reads()[tool.NodeDetail](t.Context(), fmt.Appendf(nil, `{"node_id":%q}`, asked))
		if want == (uuid.UUID{}) {
			if err == nil || !strings.HasSuffix(err.Error(), " unknown") || s.shown != 0 {
				t.Errorf("%q: %s, %v", asked, got, err)
			}
			continue
		}
		if err != nil || string(got) != "team-a ja "+want.String()+" "+conversation.TextID(want)+" 8000" {
			t.Errorf("%q: %s, %v", asked, got, err)
		}
	}
	s := tools()
	s.Flows = flows(nil)
	if _, err := s.Reads()[tool.NodeDetail](t.Context(), []byte(`{"node_id":"a1b2c304"}`)); !errors.Is(err, conversation.ErrAway) {
		t.Errorf("a flow that cannot be looked at: %v", err)
	}
	s.Characters = 700
	if got, err := s.Reads()[tool.NodeDetail](t.Context(), []byte(`{"node_id":"1"}`)); err != nil || !strings.HasSuffix(string(got), " 700") {
		t.Errorf("%s, %v", got, err)
	}
}

// TestHowManyNodes: 3 of a turn and 20 of a session, also where they are asked for at once; what was not shown does not count.
func TestHowManyNodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ session, turn, want int32 }{{0, 0, 3}, {5, 2, 1}, {19, 0, 1}, {20, 0, 0}, {30, 9, 0}} {
		s, n := tools(), &nodes{}
		s.Nodes, s.Session.Talk.Shown, s.Session.Talk.ShownNow = n, int(c.session), int(c.turn)
		detail := s.Reads()[tool.NodeDetail]
		if _, err := detail(t.Context(), []byte(`{"node_id":"a1b2c305"}`)); err == nil {
			t.Error("a node that is gone was shown")
		}
		var limits atomic.Int32
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := detail(t.Context(), []byte(`{"node_id":"1"}`)); err != nil && err.Error() == "1 limit" {
					limits.Add(1)
				}
			})
		}
		all.Wait()
		if n.shown.Load() != c.want || limits.Load() != 10-c.want {
			t.Errorf("after %d and %d: %d shown, %d limits", c.session, c.turn, n.shown.Load(), limits.Load())
		}
	}
}

// TestRefs: the references of a session as nodes, and of a flow the last ones.
func TestRefs(t *testing.T) {
	t.Parallel()
	s := tools()
	all, err := Refs(t.Context(), s.Flows, s.Namespace, s.Session)
	if err != nil || !slices.Equal(all, []uuid.UUID{conversation.NodeID(id, 2), conversation.NodeID("old", 2), foreign, linked}) {
		t.Errorf("%v, %v", all, err)
	}
	many := make([]uuid.UUID, 50)
	for i := range many {
		many[i] = conversation.NodeID("x", i)
	}
	all, err = Refs(t.Context(), flows{other: many}, s.Namespace, s.Session)
	if err != nil || len(all) != MaxRefs || all[3] != many[43] || all[9] != many[49] {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := Refs(t.Context(), flows(nil), s.Namespace, s.Session); !errors.Is(err, conversation.ErrAway) {
		t.Error(err)
	}
}
