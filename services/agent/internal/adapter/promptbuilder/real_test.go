package promptbuilder_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/promptbuilder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/servicetest"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// refs are the nodes that a session refers to.
type refs []nodecontext.Excerpt

func (r refs) Lines(context.Context, string, ledger.Session) ([]nodecontext.Excerpt, error) {
	if len(r) == 0 {
		return nil, fmt.Errorf("flowstore does not answer")
	}
	return r, nil
}

// world is a real promptbuilder with a model that counts, and folders that it may name.
type world struct {
	*testing.T
	dir      string
	sessions promptbuilder.Sessions
}

func newWorld(t *testing.T, program servicetest.Binary) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir()}
	model := llmtest.New(t, llmtest.Options{})
	w.put("backends.yaml", "default: tale\nbackends:\n  tale: {kind: llamacpp, address: '"+model.URL+"'}\n")
	w.put("prompts.yaml", "roots:\n  shop: {path: shop, mount: /workspace}\n  skills: {path: skills, mount: /skills}\nsystem:\n  defaults: {user_timezone: Asia/Tokyo, time_format: auto}\n")
	w.put("shop/AGENTS.md", "本文は日本語で書く。")
	w.put("skills/proofread/SKILL.md", "---\nname: proofread\ndescription: Find mistakes in a chapter\n---\nRead twice.\n")
	p := program.Start(t, "--backends", filepath.Join(w.dir, "backends.yaml"), "--prompts", filepath.Join(w.dir, "prompts.yaml"))
	w.sessions = promptbuilder.Sessions{Client: promptbuilder.New(p.Conn())}
	w.folders(promptbuilder.Folders{Bootstrap: "shop", Skills: []promptbuilder.SkillRoot{{Root: "skills"}}})
	return w
}

func (w *world) folders(f promptbuilder.Folders) {
	w.sessions.Folders = func(ledger.Session) promptbuilder.Folders { return f }
}

func (w *world) put(name, text string) {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) build(p turn.Prompt) turn.Built {
	w.Helper()
	b, err := w.sessions.Build(w.Context(), "default", p)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// prompt is of a session that has something of everything.
func prompt() turn.Prompt {
	a := gate.Approval{ID: "a-1", Kind: canon.KindToolCall}
	a.Subject.Tool, a.Points.Intent.Text = "write", "第2章を保存する"
	s := ledger.Session{
		ID: "s-7", Settings: ledger.Settings{Locale: "ja"},
		Items: session.Items{
			Goal: "短編を仕上げる", WhyNow: "締切が明日のため", Constraints: []string{"登場人物を増やさない", "3000字以内"}, PlanBrief: []string{"第2章を書く", "見直す"},
			OpenQuestions: []string{"題はどうするか"},
		},
		State:  session.State{Step: session.Execution, Status: session.InProgress},
		Memory: ledger.Memory{Files: 9, Operations: 99}, Brought: ledger.Memory{Files: 3, Operations: 12},
	}
	return turn.Prompt{
		Session: s, Pattern: "base_main_specialized", User: "続きを書いて", Total: 6000, Constrain: true, Pending: []gate.Approval{a},
		Past:     []turn.Exchange{{User: "第1章を読んで", Reply: "読みました。"}, {User: "直して", Reply: "直しました。"}},
		Evidence: []turn.Excerpt{{Source: "read", Text: "雨の朝だった。"}},
		Tools:    []tool.Shown{{Name: "read", Description: "Read a text file.\nMore.", Input: `{"type":"object"}`}, {Name: tool.SessionStatus}, {Name: tool.NodeDetail}},
	}
}

// TestARealPromptbuilder: what one makes of a session.
func TestARealPromptbuilder(t *testing.T) {
	t.Parallel()
	program := servicetest.Build(t, "promptbuilder")
	for name, test := range map[string]func(*testing.T, servicetest.Binary){
		"holds the session": holdsTheSession, "patterns": patterns, "snapshots": snapshots, "large snapshots": largeSnapshots,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, program)
		})
	}
}

// holdsTheSession: the bytes that a real promptbuilder makes hold what the session says, all of it that
// field/systemprompt-rules.md 3 asks for, and above the boundary nothing that changes with a turn.
func holdsTheSession(t *testing.T, program servicetest.Binary) {
	w := newWorld(t, program)
	w.sessions.Refs = refs{{ID: uuid.MustParse("0196b2c4-4444-7aaa-8bbb-0000a1b2c304"), Summary: "港町の方言は控えめに使うと決めた。", Tags: []string{"方言"}}}
	b := w.build(prompt())
	at := 0
	for _, want := range []string{
		"# Tooling\n\nAvailable tools:\n- read: Read a text file.\n", "<name>proofread</name>", "<location>/skills/proofread/SKILL.md</location>",
		"Timezone: Asia/Tokyo\nTime format: 24-hour", "Use session_status tool", "本文は日本語で書く。",
		"- 作成したファイル数: 3\n- 成功した操作数: 12", "- セッションID: s-7",
		"# 実行の専門知識・手順書", "[a1b2c304]: 港町の方言は控えめに使うと決めた。 [#方言]", "- （冒頭のみ）第1章を読んで 読みました。\n- （冒頭のみ）直して 直しました。",
		"現在のステップ: EXECUTION\n現在のステータス: IN_PROGRESS\n進行中のタスク: 第2章を書く",
		"目標: 短編を仕上げる\nなぜ今やるのか: 締切が明日のため\n制約: (1) 登場人物を増やさない (2) 3000字以内\n直近の計画: (1) 第2章を書く (2) 見直す\n未解決の問い: (1) 題はどうするか",
		"- a-1: TOOL_CALL write: 第2章を保存する", "<evidence source=\"read\">\n雨の朝だった。\n</evidence>", "ユーザー: 第1章を読んで\n応答: 読みました。\nユーザー: 直して\n応答: 直しました。",
		"\"prompt_pattern\"",
	} {
		i := strings.Index(b.Text[at:], want)
		if i < 0 {
			t.Fatalf("%q does not stand behind byte %d of\n%s", want, at, b.Text)
		}
		at += i + len(want)
	}
	if strings.Contains(b.Text, "続きを書いて") || b.Zone != "Asia/Tokyo" || b.Hours != "24" || len(b.Notices) != 0 {
		t.Errorf("%q %q %q", b.Zone, b.Hours, b.Notices)
	}
	later := prompt()
	later.Session.State.Step, later.Session.Memory, later.Past, later.Snapshot = session.Review, ledger.Memory{Files: 10}, nil, b.Snapshot
	end := strings.Index(b.Text, "長期的記憶")
	if got := w.build(later); got.Text[:end] != b.Text[:end] {
		t.Error("the stable part moved with a turn")
	}
	w.sessions.Refs = refs{}
	if got := w.build(prompt()); len(got.Notices) != 1 || !strings.Contains(got.Notices[0], "flowstore does not answer") || strings.Contains(got.Text, "a1b2c304") {
		t.Errorf("%q", got.Notices)
	}
}

// patterns: what the last answer named decides the layers.
func patterns(t *testing.T, program servicetest.Binary) {
	w := newWorld(t, program)
	const special, main = "# 実行の専門知識・手順書", "# 次のステップの指示"
	for pattern, want := range map[string][2]bool{"": {false, true}, "base_main": {false, true}, "base_main_specialized": {true, true}, "base_specialized": {true, false}} {
		p := prompt()
		p.Pattern = pattern
		if text := w.build(p).Text; strings.Contains(text, special) != want[0] || strings.Contains(text, main) != want[1] {
			t.Errorf("%q:\n%s", pattern, text)
		}
	}
}

// snapshots: files and skills are those of the first prompt, whatever becomes of them on the disk; what cannot be had is told, and
// stops no prompt.
func snapshots(t *testing.T, program servicetest.Binary) {
	w := newWorld(t, program)
	p := prompt()
	first := w.build(p)
	if len(first.Snapshot) == 0 {
		t.Fatal("the first prompt gives no snapshot")
	}
	p.Snapshot = first.Snapshot
	w.put("shop/AGENTS.md", "本文は英語で書く。")
	w.put("skills/new/SKILL.md", "---\nname: new\ndescription: New\n---\n")
	again := w.build(p)
	if again.Text != first.Text || again.Snapshot != nil || len(again.Notices) != 1 || !strings.Contains(again.Notices[0], "shop:AGENTS.md") {
		t.Errorf("%q, the prompt is another one: %t", again.Notices, again.Text != first.Text)
	}
	p.Snapshot = []byte("\xff no message")
	broken := w.build(p)
	if !strings.Contains(broken.Text, "本文は英語で書く。") || len(broken.Snapshot) == 0 || bytes.Equal(broken.Snapshot, first.Snapshot) || !strings.Contains(strings.Join(broken.Notices, ""), "cannot be read any more") {
		t.Errorf("%q\n%s", broken.Notices, broken.Text)
	}
	p.Snapshot = nil
	for name, f := range map[string]promptbuilder.Folders{
		"no such folder":      {Bootstrap: "garden", Skills: []promptbuilder.SkillRoot{{Root: "skills"}}},
		"no such skills":      {Bootstrap: "shop", Skills: []promptbuilder.SkillRoot{{Root: "garden"}}},
		"a mount that is bad": {Skills: []promptbuilder.SkillRoot{{Root: "skills", Mount: "~/skills"}}},
	} {
		w.folders(f)
		b := w.build(p)
		if strings.Contains(b.Text, "proofread") || strings.Contains(b.Text, "本文は") || b.Snapshot != nil || !strings.Contains(strings.Join(b.Notices, ""), "without files and skills") {
			t.Errorf("%s: %q\n%s", name, b.Notices, b.Text)
		}
	}
	w.folders(promptbuilder.Folders{Zone: "America/New_York", Hours: "12"})
	if b := w.build(p); !strings.Contains(b.Text, "Timezone: America/New_York\nTime format: 12-hour") || b.Snapshot != nil || b.Hours != "12" || len(b.Notices) != 0 {
		t.Errorf("%+v", b)
	}
	w.folders(promptbuilder.Folders{Zone: "Mars/Olympus"})
	if _, err := w.sessions.Build(t.Context(), "default", p); err == nil {
		t.Error("a zone that there is not is taken")
	}
}

// largeSnapshots: what is too large to be kept is read anew each time, and told.
func largeSnapshots(t *testing.T, program servicetest.Binary) {
	w := newWorld(t, program)
	for _, name := range []string{"AGENTS.md", "USER.md"} {
		w.put("shop/"+name, strings.Repeat("港", 1<<20))
	}
	w.folders(promptbuilder.Folders{Bootstrap: "shop", FileChars: 500, TotalChars: 700})
	b := w.build(prompt())
	all := strings.Join(b.Notices, "\n")
	if n := strings.Count(b.Text, "港"); n < 600 || n > 700 {
		t.Errorf("%d characters of files", n)
	}
	if b.Snapshot != nil || !strings.Contains(all, "at most 6291456 are kept") || !strings.Contains(all, "AGENTS.md is not in the prompt as it stands on the disk: TRUNCATED") {
		t.Errorf("%q, %d bytes", all, len(b.Snapshot))
	}
}
