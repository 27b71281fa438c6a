package app

import (
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/policyfile"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/runner"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

// SessionsConfig are the settings of sessions.
type SessionsConfig struct {
	// Tools is the file of folders, programs and MCP servers, Policies that of policies, AuditKeys that of the keys of the audit record.
	Tools     string `yaml:"tools" help:"tools file: work folders, folders to read, programs, MCP servers; empty: sessions have no files and no tools of others"`
	Policies  string `yaml:"policies" help:"policy file; empty: what changes something is asked about, what only looks is allowed"`
	AuditKeys string `yaml:"audit_keys" help:"file of the keys of the audit record; empty: audit-keys.yaml in agent.data, made at the first start"`
	// Running is how many sessions are carried on at once, and Lease how long a process owns one that it carries on.
	Running int           `yaml:"running" help:"sessions that are carried on at once; those that wait for a person or for the tools of the caller do not count"`
	Lease   time.Duration `yaml:"lease" help:"how long a process owns a session; it is renewed while the session is carried on"`
	// Grace is how long a call that runs may go on after its task was canceled.
	Grace time.Duration `yaml:"grace" help:"how long a call that runs may go on after its task was canceled or interrupted, before it is ended"`
	// AnswerTokens and Ask bound one answer of the model, ModelCalls, ToolCalls and Reasks what one message may cost.
	AnswerTokens int           `yaml:"answer_tokens" help:"tokens of an answer of the model in a session"`
	Ask          time.Duration `yaml:"ask" help:"how long the model may take for an answer in a session"`
	ModelCalls   int           `yaml:"model_calls" help:"calls of the model that one message may cost"`
	ToolCalls    int           `yaml:"tool_calls" help:"calls of tools that one message may cost"`
	Reasks       int           `yaml:"reasks" help:"how often a model is asked again for an answer that cannot be read"`
	Recoveries   int           `yaml:"recoveries" help:"how often a task begins its plan anew after an error before a person is asked"`
	Queue        int           `yaml:"queue" help:"messages that may wait in a session"`
	// Approval is how long an approval waits.
	Approval            time.Duration `yaml:"approval" help:"how long an approval waits for its decision"`
	RequesterMayApprove bool          `yaml:"requester_may_approve" help:"a person may approve what they asked for; off: another approver decides"`
	ApproveUnshown      bool          `yaml:"approve_unshown" help:"an approver may approve what cannot be shown whole, such as a binary file"`
	// Without are rows of the table that are taken away (field/review-agent.md C78).
	Without []string `yaml:"without" help:"moves that the model may not make, such as PLANNING->REVIEW; not both that and EXECUTION->REVIEW"`
	// KeepContents and KeepRecords are how long contents of approvals, and the rows of deleted sessions, are kept.
	KeepContents time.Duration `yaml:"keep_contents" help:"how long what an approval showed is kept after it was decided"`
	KeepRecords  time.Duration `yaml:"keep_records" help:"how long the audit of a deleted session is kept; 0: for ever"`

	tools    ToolsFile
	policies *policy.Set
	without  []session.Without
}

func defaultSessions() SessionsConfig {
	t, m := turn.DefaultLimits(), session.DefaultLimits()
	return SessionsConfig{
		Running: runner.DefaultLimits().Sessions, Lease: runner.DefaultLimits().Lease, Grace: runner.DefaultLimits().Grace, AnswerTokens: t.Answer, Ask: t.Ask, ModelCalls: m.ModelCalls, ToolCalls: t.ToolCalls, Reasks: m.Reasks,
		Recoveries: m.Recoveries, Queue: m.Queue, Approval: gate.DefaultLife, RequesterMayApprove: gate.DefaultTerms().RequesterMayApprove,
		KeepContents: t.Keep,
	}
}

// Check reads the files that the settings name, and finds limits that cannot be.
func (c *SessionsConfig) Check(p *config.Problems) {
	var err error
	c.tools, err = loadTools(c.Tools)
	p.AddFile("tools", c.Tools, err)
	c.policies, err = policyfile.Load(c.Policies)
	p.AddFile("policies", c.Policies, err)
	c.withoutRows(p)
	for _, n := range []struct {
		key         string
		got         int
		least, most int
	}{
		{"running", c.Running, 1, runner.MaxSessions},
		{"answer_tokens", c.AnswerTokens, 64, 1 << 20},
		{"model_calls", c.ModelCalls, 1, 1000},
		{"tool_calls", c.ToolCalls, 1, 10_000},
		{"reasks", c.Reasks, 0, 10},
		{"recoveries", c.Recoveries, 0, 10},
		{"queue", c.Queue, 1, 1000},
	} {
		if n.got < n.least || n.got > n.most {
			p.Add(n.key, "must be from %d to %d, is %d", n.least, n.most, n.got)
		}
	}
	for _, d := range []struct {
		key         string
		got         time.Duration
		least, most time.Duration
	}{
		{"lease", c.Lease, time.Second, time.Hour},
		{"grace", c.Grace, 0, time.Hour},
		{"ask", c.Ask, time.Second, 24 * time.Hour},
		{"approval", c.Approval, gate.MinLife, gate.MaxLife},
		{"keep_contents", c.KeepContents, time.Hour, 100 * 365 * 24 * time.Hour},
	} {
		if d.got < d.least || d.got > d.most {
			p.Add(d.key, "must be from %s to %s, is %s", d.least, d.most, d.got)
		}
	}
	if c.KeepRecords < 0 {
		p.Add("keep_records", "must be 0 or more, is %s", c.KeepRecords)
	}
}

func (c *SessionsConfig) withoutRows(p *config.Problems) {
	c.without = nil
	for _, row := range c.Without {
		c.without = append(c.without, session.ParseWithout(row))
	}
	for _, wrong := range session.CheckWithout(c.without) {
		p.Add("without", "%s", wrong)
	}
}

// files are the files that these settings name: no work folder may hold them.
func (c *SessionsConfig) files() []string {
	return slices.DeleteFunc([]string{c.Tools, c.Policies, c.AuditKeys}, func(name string) bool { return name == "" })
}

func (c *SessionsConfig) limits() turn.Limits {
	l := turn.DefaultLimits()
	l.Answer, l.Ask, l.ToolCalls, l.Approval, l.Keep = c.AnswerTokens, c.Ask, c.ToolCalls, c.Approval, c.KeepContents
	return l
}

func (c *SessionsConfig) running() runner.Limits {
	l := runner.DefaultLimits()
	l.Sessions, l.Lease, l.Grace = c.Running, c.Lease, c.Grace
	return l
}

func (c *SessionsConfig) machine() session.Machine {
	l := session.DefaultLimits()
	l.ModelCalls, l.Reasks, l.Recoveries, l.Queue = c.ModelCalls, c.Reasks, c.Recoveries, c.Queue
	return session.Machine{Limits: l, Without: c.without}
}
