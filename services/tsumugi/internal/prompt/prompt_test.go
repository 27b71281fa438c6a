package prompt

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	promptbuilder "github.com/tsumugi-dev/tsumugi/services/promptbuilder/app"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// desk is a folder of a person and a promptbuilder.
type desk struct {
	*testing.T
	folder string
	rpc    promptbuilderv1.PromptBuilderServiceClient
}

func newDesk(t *testing.T) desk {
	t.Helper()
	set, err := backends.Parse([]byte("backends: {nobody: {kind: llamacpp, address: 'http://127.0.0.1:1'}}"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := promptbuilder.New(t.Context(), promptbuilder.Config{}, promptbuilder.Deps{Backends: set})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return desk{t, t.TempDir(), promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, func(r grpc.ServiceRegistrar) { a.Register(r) }))}
}

func (d desk) file(name, text string) string {
	d.Helper()
	path := filepath.Join(d.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.Fatal(err)
	}
	return path
}

// system is what System shows, but for the way to the service.
func (d desk) system(o Options) (string, error) {
	d.Helper()
	var out bytes.Buffer
	o.Out = &out
	if o.Err == nil {
		o.Err = io.Discard
	}
	req := &promptbuilderv1.BuildSystemRequest{}
	for _, prepare := range []func() error{
		func() error { return o.read(req) }, func() error { return o.attach(req) }, func() error { return o.compare(req) },
	} {
		if err := prepare(); err != nil {
			return "", err
		}
	}
	r, err := d.rpc.BuildSystem(d.Context(), req)
	if err != nil {
		return "", err
	}
	err = o.show(reply{whole: r, system: r}, req.GetPrevious())
	return out.String(), err
}

func TestAPromptIsShown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rules := d.file("AGENTS.md", "# 規則\n日本語で書く。\n")
	o := Options{Request: d.file("r.yaml", "locale: en\ntools: [{name: read}]\nruntime: {model: gemma}\n"), Files: []string{rules, "TOOLS.md=" + rules}}
	text, err := d.system(o)
	if err != nil || !strings.HasPrefix(text, "You are the AI assistant of Tsumugi.\n\n# Tooling") || !strings.HasSuffix(text, "# Runtime\n\n- Model: gemma") {
		t.Fatalf("%s, %v", text, err)
	}
	o.JSON = true
	before, err := d.system(o)
	if err != nil {
		t.Fatal(err)
	}
	o.JSON, o.Explain = false, true
	table, err := d.system(o)
	for _, line := range []string{
		"     36      9  identity  ", "  session   ", "--- cache boundary: byte ", "--- session boundary: byte ", "      6                   ",
		"file TOOLS.md: ok, 12 characters\n", "not printed (not_sent): base, dialog_policy", " tokens (estimated by est-1), sha256 ",
	} {
		if !strings.Contains(table, line) {
			t.Errorf("no %q, %v, in\n%s", line, err, table)
		}
	}
	o.Diff = d.file("before.json", before)
	if same, err := d.system(o); err != nil || !strings.Contains(same, "nothing changed: ") || strings.Contains(same, "\n~") {
		t.Errorf("%v\n%s", err, same)
	}
	d.file("AGENTS.md", "# 規則\n日本語で書く。\n短く。\n")
	o.Files, o.Request = o.Files[:1], d.file("r.yaml", "locale: en\ntools: [{name: read}]\nreasoning: {level: 'off'}\n")
	diff, err := d.system(o)
	for _, line := range []string{
		"= ", "\n~ ", "\n+ ", "first change: project_context, AGENTS.md: it has other bytes\n", "equal at the beginning: ", "the stable part (", ") changed: a server reads all behind byte ", "gone: runtime\n",
	} {
		if !strings.Contains(diff, line) {
			t.Errorf("no %q, %v, in\n%s", line, err, diff)
		}
	}
}

// What is told below the table names the file, the skill or the place that it is about, and sizes have a unit.
func TestWhatBecameOfThingsIsTold(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	text := `
locale: en
bootstrap: {maxChars: 30, list: {names: [AGENTS.md, USER.md]}}
tools: [{name: read}]
skills: [{name: gmail, description: d, location: /a}, {name: gmail, description: d, location: /b}]
sections: [{id: preamble, text: "v=1; cch=fa690;", class: SECTION_CLASS_IDENTITY}]
`
	o := Options{Request: d.file("r.yaml", text), Files: []string{d.file("AGENTS.md", strings.Repeat("規則", 20)+"\n## 終わり")}}
	var said bytes.Buffer
	o.Err = &said
	if built, err := d.system(o); err != nil || !strings.HasSuffix(built, "[File not found]") || said.String() != "tsumugi: AGENTS.md is truncated; remarks: 2; --explain tells more\n" {
		t.Errorf("%v, beside the text: %s", err, said.String())
	}
	o.Explain, o.Files = true, append(o.Files, d.file("notes.md", "規則規則規則\n"+strings.Repeat("## 節\n", 25)))
	o.Request = d.file("r.yaml", strings.Replace(text, "USER.md]", "USER.md, notes.md]", 1))
	table, err := d.system(o)
	for _, line := range []string{
		"  without: ## 節\n  and 4 headings more\n", "file AGENTS.md: truncated, 30 of 47 characters, for the limit of one file (maxChars)\n  without: ## 終わり\n", "file USER.md: missing\n",
		"! skill_shadowed: gmail: the one at /a comes first; this one is at /b\n", "! volatile_hash: preamble, byte 47: this looks like ",
	} {
		if !strings.Contains(table, line) {
			t.Errorf("no %q, %v, in\n%s", line, err, table)
		}
	}
}

// Whatever is wrong with what a person names is told before anything is asked.
func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no such request":  {Options{Request: filepath.Join(d.folder, "none")}, "no such file"},
		"an unknown field": {Options{Request: d.file("a.json", `{"toolz": []}`)}, `a.json: toolz: there is no such field; did you mean tools?`},
		"an unknown one":   {Options{Request: d.file("f.yaml", "locale: en\ntoolz: []\n")}, `f.yaml: toolz: there is no such field; did you mean tools?`},
		"a short word":     {Options{Request: d.file("g.yaml", "mode: MINIMAL")}, `g.yaml: mode: must be one of SYSTEM_MODE_FULL, SYSTEM_MODE_MINIMAL, SYSTEM_MODE_NONE, and is "MINIMAL"`},
		"a word within": {
			Options{Request: d.file("h.json", `{"sections": [{"id": "a", "class": "often"}]}`)},
			`h.json: sections[0].class: must be one of SECTION_CLASS_IDENTITY, SECTION_CLASS_STABLE, SECTION_CLASS_SESSION, SECTION_CLASS_VOLATILE, and is "often"`,
		},
		"many": {
			Options{Request: d.file("i.yaml", "mode: 5\nzz: 1\nidentity: [x]\ntools: [{name: a, bytes: 1}, 7]\nruntime: {hots: a}\nfiles: [{name: a, content: 本文}]")},
			"i.yaml: 6 fields of the request are wrong:\n  files[0].content: invalid value for bytes field content: \"本文\" (it must be base64; --file takes a file as it is)\n  identity: invalid value for string field identity: [\n  runtime.hots: there is no such field; did you mean host?\n  tools[0].bytes: there is no such field; there are name, ",
		},
		"a key twice":  {Options{Request: d.file("j.json", `{"locale": "en", "locale": "ja"}`)}, `j.json: locale: it is there twice in one object`},
		"no YAML":      {Options{Request: d.file("b.yaml", "a: [")}, "b.yaml: "},
		"a text":       {Options{Request: d.file("c.yaml", "text")}, "c.yaml: "},
		"no such file": {Options{Files: []string{"A.md=" + filepath.Join(d.folder, "none")}}, "no such file"},
		"no reply":     {Options{Diff: d.file("d.json", `{"text": "a"}`)}, "it has no sections; an earlier reply is what --json writes"},
		"no JSON":      {Options{Diff: d.file("e.json", `text`)}, "e.json: "},
	} {
		if text, err := d.system(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v; want %q", name, text, err, c.want)
		}
	}
}

// A context beside an earlier one: what a cache keeps, the line that moved the prefix, and what became of the nodes.
func TestAContextIsComparedWithAnEarlierOne(t *testing.T) {
	t.Parallel()
	entry := func(id string, form promptbuilderv1.NodeForm, reference bool) *promptbuilderv1.ContextEntry {
		return &promptbuilderv1.ContextEntry{Id: id, TextId: id, Form: form, Reference: reference}
	}
	const full, line = promptbuilderv1.NodeForm_NODE_FORM_FULL, promptbuilderv1.NodeForm_NODE_FORM_LINE
	before := &promptbuilderv1.BuildContextResponse{
		Text: "1. 現在:\n夜の駅\n朝", Entries: []*promptbuilderv1.ContextEntry{entry("a", line, false), entry("b", full, false), entry("c", line, true)},
	}
	now := &promptbuilderv1.BuildContextResponse{
		Text: "1. 現在:\n夜の街\n昼", Entries: []*promptbuilderv1.ContextEntry{entry("a", line, false), entry("b", line, false), entry("c", line, false)},
	}
	var reply bytes.Buffer
	if err := writeJSON(&reply, &agentv1.BuildNodeContextResponse{Context: before}); err != nil {
		t.Fatal(err)
	}
	read, err := earlierContext(reply.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want := "equal at the beginning: 17 of 24 bytes (70.8 %)\nfirst change, now:    夜の街\n              before: 夜の駅\n~ line      nodes/b, before: full\n+ line      nodes/c\ngone: nodes/c (reference)\n"
	if got := contextDifference(now, read); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := contextDifference(before, read); got != "nothing changed: 24 bytes\n" {
		t.Error(got)
	}
	if _, err := earlierContext([]byte(`{"sections": []}`)); err == nil || !strings.Contains(err.Error(), "--json writes") {
		t.Errorf("%v", err)
	}
}

func TestAnAgentsReplyIsTold(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	system, tight := &promptbuilderv1.BuildSystemRequest{Locale: "en"}, int32(220)
	agent, err := d.rpc.BuildAgent(t.Context(), &promptbuilderv1.BuildAgentRequest{System: system, Agent: &promptbuilderv1.AgentState{
		Goal: "a", Evidence: []*promptbuilderv1.AgentEvidence{{Source: "read", Text: strings.Repeat("long ", 100)}}, Budgets: &promptbuilderv1.AgentBudgets{Main: &tight},
	}})
	if err != nil {
		t.Fatal(err)
	}
	table := explain(reply{whole: agent, system: agent.GetSystem(), agent: agent}, nil)
	for _, line := range []string{"layer main: ", " tokens, of 220\n", "cut: evidence, for main: "} {
		if !strings.Contains(table, line) {
			t.Errorf("no %q in\n%s", line, table)
		}
	}
	var b bytes.Buffer
	if err := writeJSON(&b, agent); err != nil {
		t.Fatal(err)
	}
	if old, err := earlier(b.Bytes()); err != nil || old.GetText() != agent.GetSystem().GetText() {
		t.Errorf("%v", err)
	}
}
