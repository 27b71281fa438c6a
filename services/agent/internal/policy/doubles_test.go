package policy

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

var (
	noon  = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	hashA = canon.Sum([]byte("a"))
	hashB = canon.Sum([]byte("b"))
)

// engine gives a policy with the defaults of the house and these rules.
func engine(t rapid.TB, rules ...Rule) *Engine {
	t.Helper()
	p := Default()
	p.Rules = rules
	return engineOf(t, p)
}

func engineOf(t rapid.TB, p Policy) *Engine {
	t.Helper()
	s, err := NewSet([]Policy{p}, p.Name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Engine(Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// call is a call of a built-in tool in EXECUTION, measured, on paths. What it writes, writes and creates: the last of them.
func call(name string, paths ...string) Call {
	c := Call{
		Definition: hashA, Hash: hashB, Namespace: "default", Session: "s", Root: "work", Paths: paths, Roles: []string{RoleUser}, InExecution: true,
		Facts: Facts{Measured: true, Files: 1, Bytes: 10},
	}
	for _, d := range append(tool.BuiltIns(), tool.ExecDefinition(false)) {
		if d.Name == name {
			c.Tool = d
		}
	}
	if name == tool.Write || name == tool.Create || name == tool.Move {
		c.Writes = paths[len(paths)-1:]
	}
	return c
}

// foreign is a call of a tool of an MCP server.
func foreign(a tool.Annotations) Call {
	c := call("")
	c.Tool = tool.Definition{Name: "do", Annotations: a, Origin: tool.Origin{Kind: tool.MCP, Server: "srv", ServerID: "srv: node srv.js"}}
	return c
}

func verdict(e *Engine, c Call, standing ...Standing) Verdict {
	return e.Explain(c, standing, noon).Verdict
}

func rule(id string, effect Effect, toolName, path string) Rule {
	return Rule{ID: id, Effect: effect, Tool: toolName, Path: path}
}

var (
	drawPath   = rapid.SampledFrom([]string{"a.txt", "docs/b.md", "docs/deep/c.md", "SRC/a.py", "src/a.py", "src2/x", "run.sh", "Makefile", "."})
	drawEffect = rapid.SampledFrom([]Effect{EffectDeny, EffectAsk, EffectAllow})
)

func drawRule(t *rapid.T, id string) Rule {
	r := Rule{
		ID: id, Effect: drawEffect.Draw(t, "effect"), Tool: rapid.SampledFrom([]string{"", "*", "write", "re*", "srv.*"}).Draw(t, "tool"),
		Path:        rapid.SampledFrom([]string{"", "", "docs", "docs/**", "**/*.md", "src/*", "**"}).Draw(t, "path"),
		Role:        rapid.SampledFrom([]string{"", "", RoleUser, RoleAdmin}).Draw(t, "role"),
		Root:        rapid.SampledFrom([]string{"", "", "work", "other"}).Draw(t, "root"),
		Annotations: tool.Annotations{ReadOnly: rapid.SampledFrom([]tool.Hint{"", "", tool.Yes, tool.No}).Draw(t, "read only")},
	}
	if r.Effect != EffectAllow {
		r.RiskAtLeast = rapid.SampledFrom([]Risk{Unknown, Unknown, Low, Medium, High}).Draw(t, "risk")
	}
	return r
}

func drawRules(t *rapid.T, prefix string) []Rule {
	var out []Rule
	for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
		out = append(out, drawRule(t, prefix+strings.Repeat("x", i+1)))
	}
	return out
}

func drawPolicy(t *rapid.T, name string) Policy {
	level := rapid.SampledFrom([]Risk{Unknown, Medium, High})
	return Policy{
		Name: name, Rules: drawRules(t, name), AllowHigh: rapid.Bool().Draw(t, "allow high"),
		Extensions: Extensions{Allow: rapid.SampledFrom([][]string{{".txt"}, {".txt", ".md"}, {".md", ".sh"}}).Draw(t, "allowed"), Deny: rapid.SampledFrom([][]string{nil, {".sh"}, {".SH", ".py"}}).Draw(t, "denied")},
		Levels:     Levels{Write: level.Draw(t, "write"), Delete: level.Draw(t, "delete"), MCP: level.Draw(t, "mcp")},
		Thresholds: Thresholds{Files: rapid.IntRange(0, 2).Draw(t, "files"), Bytes: rapid.Int64Range(0, 20).Draw(t, "bytes")},
	}
}

func drawCall(t *rapid.T) Call {
	name := rapid.SampledFrom([]string{tool.Read, tool.List, tool.Write, tool.Create, tool.Move, tool.Delete, tool.Exec, tool.SessionStatus, "srv"}).Draw(t, "tool")
	c := call(name, drawPath.Draw(t, "path"), drawPath.Draw(t, "path"))
	if name == "srv" {
		hint := rapid.SampledFrom([]tool.Hint{"", tool.Yes, tool.No})
		c = foreign(tool.Annotations{ReadOnly: hint.Draw(t, "read only"), Destructive: hint.Draw(t, "destructive"), OpenWorld: hint.Draw(t, "open world")})
	}
	c.InExecution = rapid.Bool().Draw(t, "in execution")
	c.LikeUnknown = rapid.Bool().Draw(t, "like unknown")
	c.Roles = rapid.SampledFrom([][]string{nil, {RoleUser}, {RoleUser, RoleAdmin}}).Draw(t, "roles")
	c.Facts = Facts{
		Measured: rapid.Bool().Draw(t, "measured"), Files: rapid.IntRange(-1, 3).Draw(t, "files"), Bytes: rapid.Int64Range(-1, 30).Draw(t, "bytes"), Unshown: rapid.Bool().Draw(t, "unshown"),
	}
	return c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
