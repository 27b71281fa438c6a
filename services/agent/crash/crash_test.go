package main

import (
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
)

// A few real kills, so that the program that proves that nothing is lost is itself known to run.
func TestFewKills(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and kills a real tsumugi")
	}
	r := kill.NewReport(os.Stdout, 1)
	if err := run(t.Context(), options{kills: 3, writers: 4, seed: 1}, r); err != nil {
		t.Fatal(err)
	}
	if r.Kills != 3 || !r.Sound() {
		t.Errorf("%+v", r)
	}
	for _, what := range []string{"messages, QUEUE", "decisions, APPROVE", "calls executed"} {
		if r.Acknowledged[what] == 0 {
			t.Errorf("no %s in %v", what, r.Acknowledged)
		}
	}
}

const (
	pending  = agentv1.ApprovalState_APPROVAL_STATE_PENDING
	approved = agentv1.ApprovalState_APPROVAL_STATE_APPROVED
	consumed = agentv1.ApprovalState_APPROVAL_STATE_CONSUMED
	denied   = agentv1.ApprovalState_APPROVAL_STATE_DENIED
	edited   = agentv1.ApprovalState_APPROVAL_STATE_EDITED
	replaced = agentv1.ApprovalState_APPROVAL_STATE_SUPERSEDED

	approves = agentv1.Decision_DECISION_APPROVE
	denies   = agentv1.Decision_DECISION_DENY
)

// asked is an approval of a call, with what was sent about it. What is named first was acknowledged.
func asked(state agentv1.ApprovalState, acknowledged agentv1.Decision, sent ...agentv1.Decision) *known {
	k := &known{seen: &agentv1.Approval{Name: "approvals/a", Session: "sessions/s", Call: "c", Digest: "d", State: state}}
	if acknowledged != 0 {
		k.sent = append(k.sent, &decision{&agentv1.DecideApprovalRequest{Decision: acknowledged}, true})
	}
	for _, d := range sent {
		k.sent = append(k.sent, &decision{&agentv1.DecideApprovalRequest{Decision: d}, false})
	}
	return k
}

// A comparison that finds nothing proves something only if it finds what is wrong.
func TestWrongApprovalsAreFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		was   *known
		now   agentv1.ApprovalState
		wrong int
	}{
		"waits":                         {asked(pending, 0), pending, 0},
		"superseded":                    {asked(pending, 0), replaced, 0},
		"approved":                      {asked(pending, approves), approved, 0},
		"approved and begun":            {asked(approved, approves), consumed, 0},
		"under way, and taken":          {asked(pending, 0, denies), denied, 0},
		"under way, and not taken":      {asked(pending, 0, denies), pending, 0},
		"two, and one was acknowledged": {asked(pending, denies, approves), denied, 0},
		"lost":                          {asked(pending, approves), pending, 1},
		"two outcomes":                  {asked(denied, denies, approves), approved, 2},
		"by nobody":                     {asked(pending, 0), approved, 1},
		"denied, and runs":              {asked(denied, denies), consumed, 3},
		"waits again":                   {asked(edited, 0, agentv1.Decision_DECISION_EDIT), pending, 1},
	} {
		now := asked(tt.now, 0).seen
		if wrong := tt.was.wrong(now); len(wrong) != tt.wrong {
			t.Errorf("%s: %q", name, wrong)
		}
		if now.Digest = "e"; len(tt.was.wrong(now)) != tt.wrong+1 {
			t.Errorf("%s: another digest is not found", name)
		}
	}
}

// trialOf is a trial with one session, and calls a and b that were approved: a creates a file, which b moves.
func trialOf(t *testing.T) (*trial, *session) {
	t.Helper()
	r := &trial{Report: kill.NewReport(io.Discard, 1), dir: t.TempDir(), ledger: newLedger()}
	one := newSession(0, rand.New(rand.NewPCG(1, 1)))
	if err := os.MkdirAll(filepath.Join(r.work(), one.folder()), 0o750); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]string{"a": `{"path":"s00/f","content":"text"}`, "b": `{"source":"s00/f","destination":"s00/g"}`} {
		k := asked(consumed, approves)
		k.seen.Call, k.arguments = name, args
		r.ledger.approvals[name] = k
	}
	return r, one
}

func TestWrongFilesAreFound(t *testing.T) {
	t.Parallel()
	begun := func(id string) row { return row{"intent", "INTENT", details{Call: id, Approval: id}} }
	done := func(id string) row { return row{"execute", "EXECUTED", details{Call: id, Approval: id}} }
	all := []row{begun("a"), done("a"), begun("b"), done("b")}
	moved := map[string]string{"s00/g": "text"}
	for name, tt := range map[string]struct {
		rows  []row
		files map[string]string
		lost  int
	}{
		"nothing wrong":      {all, moved, 0},
		"done twice":         {all, map[string]string{"s00/g": "text", "s00/f": "text"}, 1},
		"not done":           {all, map[string]string{"s00/f": "text"}, 2},
		"another text":       {all, map[string]string{"s00/g": "texttext"}, 1},
		"told twice":         {append(slices.Clone(all), done("b")), moved, 3},
		"told, and never":    {[]row{begun("b"), done("b")}, nil, 3},
		"nobody has seen it": {append(slices.Clone(all), done("c")), moved, 1},
		"not told":           {all[:2], moved, 3},
		"left by a kill":     {all, map[string]string{"s00/g": "text", "s00/" + stagedName + "1": "x"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, one := trialOf(t)
			for path, text := range tt.files {
				if err := os.WriteFile(filepath.Join(r.work(), path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			is := newTold()
			for _, row := range tt.rows {
				r.read(one, &is, row)
			}
			for name, k := range r.ledger.approvals {
				r.compareCall(name, k, is)
			}
			if err := r.compareFiles(one, is); err != nil || r.Lost != tt.lost {
				t.Errorf("%d losses, want %d, %v", r.Lost, tt.lost, err)
			}
		})
	}
}

// A call that nobody may have begun is found, and one that nobody can tell of leaves its files out of account until somebody has looked.
func TestWhoHasNotSaid(t *testing.T) {
	t.Parallel()
	r, one := trialOf(t)
	r.ledger.approvals["a"].sent = nil
	is := newTold()
	r.read(one, &is, row{"intent", "INTENT", details{Call: "a", Approval: "a"}})
	r.read(one, &is, row{"unknown_outcome", "UNKNOWN", details{Call: "b", Approval: "b"}})
	if r.compareCall("a", r.ledger.approvals["a"], is); r.Lost != 1 || !is.unsure["b"] {
		t.Errorf("%d, %v", r.Lost, is)
	}
	outcome := asked(agentv1.ApprovalState_APPROVAL_STATE_NOT_HAPPENED, agentv1.Decision_DECISION_NOT_HAPPENED)
	outcome.seen.Call = "b"
	r.ledger.approvals["o"] = outcome
	if r.read(one, &is, row{"outcome", "NOT_HAPPENED", details{Approval: "o"}}); is.unsure["b"] {
		t.Error("somebody has looked")
	}
}

// Each kind of order is drawn, and says in its message what the model's answers go by.
func TestOrders(t *testing.T) {
	t.Parallel()
	s, tools := newSession(7, rand.New(rand.NewPCG(1, 1))), map[string]int{}
	for range 200 {
		o := s.draw()
		s.orders = append(s.orders, o)
		for _, c := range o.calls {
			tools[c.Name]++
			for key, path := range c.Args {
				if key != "content" && !strings.HasPrefix(path, "s07/") {
					t.Errorf("%s reaches %s", o.id, path)
				}
			}
		}
	}
	if names := slices.Sorted(maps.Keys(tools)); !slices.Equal(names, []string{"create", "delete", "move", "write"}) {
		t.Errorf("%v", tools)
	}
}
