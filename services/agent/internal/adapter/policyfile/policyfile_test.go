package policyfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/policyfile"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// verdict judges a call of a built-in tool on a path, in EXECUTION.
func verdict(t *testing.T, s *policy.Set, name, toolName, path string, roles ...string) policy.Verdict {
	t.Helper()
	e, err := s.Engine(policy.Choice{Policy: name})
	if err != nil {
		t.Fatal(err)
	}
	c := policy.Call{Paths: []string{path}, InExecution: true, Roles: roles, Root: "work", Facts: policy.Facts{Measured: true, Files: 1, Bytes: 5}}
	for _, d := range append(tool.BuiltIns(), tool.ExecDefinition(false)) {
		if d.Name == toolName {
			c.Tool = d
		}
	}
	if toolName == tool.Write {
		c.Writes = c.Paths
	}
	return e.Explain(c, nil, time.Unix(0, 0)).Verdict
}

const text = `
default: careful
policies:
  - name: careful
    rules:
      - {id: no-secrets, effect: deny, path: "secret/**", reason: private}
      - {id: looks, effect: ask, read_only: true, role: user}
  - name: free
    pickable: true
    allow_high: true
    ask_plan: true
    ask_result: true
    extensions: {allow: [.go], deny: []}
    levels: {delete: high, mcp: high}
    thresholds: {files: 3, bytes: 100}
    secrets: [{name: badge, pattern: 'BADGE-\d+', literals: [badge-]}]
    rules:
      - {id: all, effect: allow, tool: "*", root: work}
      - {id: risky, effect: ask, risk_at_least: high, tool: exec}
`

// What the file says of rules, kinds of files and risks decides.
func TestParse(t *testing.T) {
	t.Parallel()
	s, err := policyfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		policy, tool, path string
		roles              []string
		want               policy.Verdict
	}{
		{"", tool.Read, "secret/a", nil, policy.Deny}, {"", tool.Read, "a", []string{policy.RoleUser}, policy.Ask}, {"", tool.Read, "a", nil, policy.Allow}, {"", tool.Write, "a.sh", nil, policy.Deny},
		{"careful", tool.Write, "a.txt", nil, policy.Ask}, {"free", tool.Write, "a.go", nil, policy.Allow}, {"free", tool.Write, "a.txt", nil, policy.Ask}, {"free", tool.Write, "a.sh", nil, policy.Ask},
		{"free", tool.Delete, "a", nil, policy.Allow}, {"free", tool.Exec, ".", nil, policy.Ask},
	} {
		if got := verdict(t, s, tt.policy, tt.tool, tt.path, tt.roles...); got != tt.want {
			t.Errorf("%q: %s %s by %q is %s, want %s", tt.policy, tt.tool, tt.path, tt.roles, got, tt.want)
		}
	}
}

// Whether a person is asked about plans and results.
func TestParseAsks(t *testing.T) {
	t.Parallel()
	s, err := policyfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"careful": false, "free": true} {
		if e, err := s.Engine(policy.Choice{Policy: name}); err != nil || e.AsksPlan() != want || e.AsksResult() != want {
			t.Errorf("%s: %v, %v, %v", name, e.AsksPlan(), e.AsksResult(), err)
		}
	}
}

// Levels, thresholds and shapes of secrets reach the risk.
func TestParseRisk(t *testing.T) {
	t.Parallel()
	s, err := policyfile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Engine(policy.Choice{Policy: "free"})
	if err != nil {
		t.Fatal(err)
	}
	c := policy.Call{Tool: tool.Definition{Name: tool.Delete, Origin: tool.Origin{Kind: tool.BuiltIn}}, Facts: policy.Facts{Measured: true, Files: 3, Bytes: 100, Diff: "BADGE-7"}}
	got := strings.Join(e.Assess(c).Sentences("en"), "\n")
	want := "Risk: high.\n- it deletes a file\n- it changes 3 files (from 3 it is high)\n- it changes 100 bytes (from 100 it is high)\n- diff has what looks like a secret (badge, 1 times)"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Without a file, or without policies in it, the policy of the house holds.
func TestLoad(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(empty, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", empty} {
		s, err := policyfile.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := verdict(t, s, "", tool.Write, "a.txt"); got != policy.Ask {
			t.Errorf("a write is %s", got)
		}
	}
	if _, err := policyfile.Load(empty + "x"); err == nil || !strings.Contains(err.Error(), "policy.yamlx") {
		t.Errorf("got %v", err)
	}
}

// A start tells everything that is wrong, with the line where the text itself is.
func TestProblems(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"policies:\n  - name: a\n    rule: []\n    levels: {delete: huge}\n":               {"line 3: policies[0].rule: unknown key; did you mean rules?", "line 4: policies[0].levels.delete: must be one of unknown, low, medium, high"},
		"policies:\n  - name: a\n    rules: [{id: r, path: /x}, {id: r, effect: allow}]\n": {`policy "a": rules[0] "r": effect is "", and must be deny, ask or allow`, `policy "a": rules[0] "r": path must be relative`, `policy "a": rules[1] "r": the id stands twice`},
		"default: x\n": {`the policy "x", which sessions have that choose none, is not there`},
	} {
		_, err := policyfile.Parse([]byte(in))
		if err == nil {
			t.Errorf("%s is taken", in)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s:\n%v\nwant %s", in, err, w)
			}
		}
	}
}
