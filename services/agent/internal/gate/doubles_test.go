package gate

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

var (
	alice   = Who{Name: "alice", Token: "t1", Namespace: "default", Roles: []string{policy.RoleUser, policy.RoleApprover}}
	bob     = Who{Name: "bob", Token: "t2", Namespace: "default", Roles: []string{policy.RoleApprover}}
	mallory = Who{Name: "mallory", Token: "t3", Namespace: "default", Roles: []string{policy.RoleUser, policy.RoleAdmin}}
)

func origin(id string) Origin {
	return Origin{
		ID: id, Namespace: "default", Session: "s1", Task: "task1", Turn: "turn1", Call: "call-" + id, Seq: 10, Requester: "alice", Now: noon,
		Said: Said{Intent: "tidy up", Rationale: "it is untidy"},
	}
}

// files is a work folder in memory.
type files map[string]string

func (f files) look(p string) (folder.State, error) {
	s := folder.State{Path: p, Hash: folder.Absent}
	if text, ok := f[p]; ok {
		s = folder.State{Path: p, Kind: folder.KindFile, Hash: folder.Of([]byte(text)), Size: int64(len(text)), Mode: folder.FileMode, Content: []byte(text)}
	}
	return s, nil
}

// judged is a call as a router would judge it: checked arguments, a real plan, the policy of the house.
func judged(t rapid.TB, o Origin, name string, args map[string]any, f files) ToolCall {
	t.Helper()
	c := ToolCall{Origin: o}
	admitted := admit(t, name)
	raw, err := json.Marshal(args)
	must(t, err)
	checked, err := admitted.Check(raw)
	must(t, err)
	hash, err := canon.CallHash(canon.Call{Tool: admitted.Full(), Definition: admitted.Hash, Args: checked.Args, Root: "work"})
	must(t, err)
	c.Judged = policy.Call{
		Tool: admitted.Definition, Definition: admitted.Hash, Hash: hash, Namespace: o.Namespace, Session: o.Session, Root: "work", InExecution: true,
		Facts: policy.Facts{Measured: true, Files: 1, Args: checked.Args},
	}
	c.Judged.Paths, c.Judged.Writes, err = tool.Touched(admitted.Definition, checked.Args)
	must(t, err)
	change := folder.Change{Op: folder.Op(name), Path: c.Judged.Paths[0]}
	if text, ok := args["content"].(string); ok {
		change.Content = []byte(text)
	}
	if len(c.Judged.Paths) > 1 {
		change.To = c.Judged.Paths[1]
	}
	plan, err := folder.NewScene(f.look).Plan(change)
	must(t, err)
	c.Plan = &plan
	c.Judged.Facts.Diff, c.Judged.Facts.Unshown = plan.Diff, plan.NotShown != ""
	c.Subject = canon.ToolCall{Call: hash, Hidden: plan.NotShown != "", Targets: targetsOf(plan)}
	return rejudge(t, c)
}

func admit(t rapid.TB, name string) *tool.Tool {
	t.Helper()
	for _, d := range tool.BuiltIns() {
		if d.Name == name {
			admitted, err := tool.Admit(d)
			must(t, err)
			return admitted
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func rejudge(t rapid.TB, c ToolCall) ToolCall {
	t.Helper()
	set, err := policy.NewSet([]policy.Policy{policy.Default()}, policy.Default().Name)
	must(t, err)
	engine, err := set.Engine(policy.Choice{})
	must(t, err)
	c.Why = engine.Explain(c.Judged, nil, noon)
	return c
}

func targetsOf(p folder.Plan) []canon.Target {
	hash := func(h folder.Hash) canon.Hash {
		return canon.Hash(strings.TrimSuffix(string(h), string(folder.Absent)))
	}
	if p.Op == folder.Move {
		return []canon.Target{{Path: p.Target, Before: hash(p.Before)}, {Path: p.TargetTo, After: hash(p.After), Mode: p.Mode}}
	}
	return []canon.Target{{Path: p.Target, Before: hash(p.Before), After: hash(p.After), Mode: p.Mode}}
}

func write(t rapid.TB, id, path, content string) ToolCall {
	t.Helper()
	return judged(t, origin(id), tool.Write, map[string]any{"path": path, "content": content}, files{"docs/a.md": "old\n"})
}

// one makes the approval of a call.
func one(t rapid.TB, c ToolCall) Made {
	t.Helper()
	made, err := ForCalls([]ToolCall{c}, 0)
	must(t, err)
	return made[0]
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func yes(a Approval, who Who) Request {
	return Request{Who: who, Decision: session.Approve, Digest: a.Digest, Now: noon.Add(time.Minute), Seq: 20}
}

func with(r Request, d session.Decision) Request {
	r.Decision = d
	return r
}

// apply puts an event through a machine whose only call waits for this approval, and settles.
func apply(t *testing.T, a Approval, r Ruling) (session.State, []Approval) {
	t.Helper()
	m := session.Machine{Limits: session.DefaultLimits()}
	after, notes, err := m.Apply(waiting(a), r.Event)
	must(t, err)
	changed, err := Settle([]Approval{a}, notes, r.Change)
	must(t, err)
	all := append([]Approval{}, changed...)
	if len(changed) == 0 || changed[0].ID != a.ID {
		t.Fatalf("%s does not change", a.ID)
	}
	must(t, Agree(after, all))
	return after, all
}

// waiting is a session in AWAITING_APPROVAL for one approval.
func waiting(a Approval) session.State {
	c := session.Call{ID: a.Call, Kind: session.Kind(a.Kind), Progress: session.Pending, Approval: a.ID, Digest: string(a.Digest), Until: a.Expires}
	if a.Kind == canon.KindOutcome {
		c.Kind, c.Progress = session.KindTool, session.OutcomePending
	}
	return session.State{
		Step: session.Awaiting, Status: session.RequiresInput, Lifecycle: session.Open, Calls: []session.Call{c},
		Turn: session.Turn{Running: session.Waiting, ID: a.Turn, Utterance: "u", ModelCalls: 10},
	}
}
