package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// workspace is what an integrator has: a folder with rules of 40,000 characters, and ten skills in it and in a folder beside it.
type workspace struct {
	*world
	dir   string
	rules string
	// mounts are the folders by the paths under which the agent sees them.
	mounts map[string]string
}

// newWorkspace makes the folders and the services over them.
func newWorkspace(t *testing.T, m mode) *workspace {
	t.Helper()
	w := &workspace{world: prepare(t, m, nobody), dir: t.TempDir()}
	w.mounts = map[string]string{"/workspace": filepath.Join(w.dir, "novel"), "/skills": filepath.Join(w.dir, "shared")}
	var b strings.Builder
	for n := 1; b.Len() < 3*40_000; n++ {
		fmt.Fprintf(&b, "## 第%d節\n\n%s\n\n", n, strings.Repeat("登場人物の名前は変えない。必ず原稿を読んでから、短い文で直す。", 50))
	}
	w.rules = string([]rune(b.String())[:40_000])
	w.put(t, "novel/AGENTS.md", w.rules)
	w.put(t, "novel/SOUL.md", "静かに、短く、正確に。\n")
	for n := range 10 {
		folder := "shared/"
		if n < 3 {
			folder = "novel/skills/"
		}
		w.put(t, fmt.Sprintf("%sskill-%d/SKILL.md", folder, n), fmt.Sprintf("---\nname: 技%d\ndescription: 原稿の第%d節を確かめる。\n---\n# 手順\n", n, n))
	}
	w.put(t, "prompts.yaml", "roots:\n  novel: {path: novel, mount: /workspace}\n  shared: {path: shared, mount: /skills}\n")
	w.settings.prompts = filepath.Join(w.dir, "prompts.yaml")
	w.start(t)
	return w
}

func (w *workspace) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// request asks for the prompt of the workspace.
func (*workspace) request() *promptbuilderv1.BuildSystemRequest {
	return &promptbuilderv1.BuildSystemRequest{
		Tools:      []*promptbuilderv1.Tool{{Name: "write"}, {Name: "read", Summary: "ファイルを読む"}},
		SkillRoots: []*promptbuilderv1.SkillRoot{{Root: "novel"}, {Root: "shared"}}, Bootstrap: &promptbuilderv1.Bootstrap{Root: "novel"},
		Workspace: "/workspace", Time: &promptbuilderv1.TimeSection{Zone: "Asia/Tokyo"}, Runtime: &promptbuilderv1.Runtime{Model: "gemma"},
	}
}

// system asks over gRPC and over REST, which must answer the same.
func (w *workspace) system(t *testing.T, q *promptbuilderv1.BuildSystemRequest) *promptbuilderv1.BuildSystemResponse {
	t.Helper()
	r, err := w.prompts.BuildSystem(w.ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	over, err := promptbuilderv1.NewPromptBuilderServiceClient(overREST{w.world}).BuildSystem(w.ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, over, protocmp.Transform()); diff != "" {
		t.Errorf("REST answers otherwise: %s", diff)
	}
	return r
}

// An integrator's first day: the prompt of a workspace, its report, one edit, and what is refused.
func workspaceBuilt(t *testing.T, m mode) {
	w := newWorkspace(t, m)
	before := w.system(t, w.request())
	for name, run := range map[string]func(t *testing.T, w *workspace, p *promptbuilderv1.BuildSystemResponse){
		"the report says what was cut": workspaceCut, "the report says what it costs": workspaceCost, "the skills are where they are said to be": workspaceSkills,
	} {
		t.Run(name, func(t *testing.T) { run(t, w, before) })
	}
	t.Run("what is wrong is told", func(t *testing.T) { workspaceRefused(t, w) })
	t.Run("one file is changed", func(t *testing.T) { workspaceEdited(t, w, before) })
}

func workspaceCut(t *testing.T, w *workspace, p *promptbuilderv1.BuildSystemResponse) {
	states := map[string]string{}
	for _, f := range p.GetFiles() {
		states[f.GetName()] = fmt.Sprint(f.GetState(), " ", f.GetPrintedSize(), " of ", f.GetRawSize(), f.GetCause())
	}
	want := map[string]string{
		"IDENTITY.md": "FILE_STATE_MISSING 0 of 0", "SOUL.md": "FILE_STATE_OK 11 of 11", "AGENTS.md": "FILE_STATE_TRUNCATED 20000 of 40000file",
		"USER.md": "FILE_STATE_MISSING 0 of 0", "HEARTBEAT.md": "FILE_STATE_MISSING 0 of 0",
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
	at := slices.IndexFunc(p.GetFiles(), func(f *promptbuilderv1.FileReport) bool { return f.GetName() == "AGENTS.md" })
	f := p.GetFiles()[at]
	kept, lost := w.rules[:f.GetDroppedFrom()], w.rules[f.GetDroppedFrom():f.GetDroppedTo()]
	if int(f.GetDroppedTo()) != len(w.rules) || !strings.Contains(p.GetText(), "## AGENTS.md\n\n<file>\n"+kept+"\n[... truncated ...]\n</file>\n") {
		t.Errorf("bytes %d to %d are said to be left out", f.GetDroppedFrom(), f.GetDroppedTo())
	}
	if n := strings.Count("\n"+lost, "\n## "); n < 10 || len(f.GetLostHeadings()) != n {
		t.Errorf("%d headings were lost, %q are told", n, f.GetLostHeadings())
	}
	for _, heading := range f.GetLostHeadings() {
		if !strings.Contains(lost, heading+"\n") || strings.Contains(kept, heading+"\n") {
			t.Errorf("%q was not lost", heading)
		}
	}
	if f.GetSha256() != digestOf(w.rules) || f.GetRoot() != "novel" {
		t.Errorf("%s of %s", f.GetSha256(), f.GetRoot())
	}
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// workspaceCost: sections tile the text, digests are those of their bytes, and tokens are those of the estimate that the reply names.
func workspaceCost(t *testing.T, _ *workspace, p *promptbuilderv1.BuildSystemResponse) {
	text, at := p.GetText(), 0
	estimate := func(s string) int32 {
		ascii := 0
		for _, r := range s {
			if r < utf8.RuneSelf {
				ascii++
			}
		}
		return int32((ascii+3)/4 + utf8.RuneCountInString(s) - ascii)
	}
	var ids []string
	for _, s := range p.GetSections() {
		own := text[s.GetStart():s.GetEnd()]
		if ids = append(ids, s.GetId()); s.GetTokens() != estimate(own) || s.GetSha256() != digestOf(own) || int(s.GetCharacters()) != utf8.RuneCountInString(own) {
			t.Errorf("%s: %v", s.GetId(), s)
		}
		if at > 0 && text[at:s.GetStart()] != "\n\n" {
			t.Errorf("%q stands before %s", text[at:s.GetStart()], s.GetId())
		}
		at = int(s.GetEnd())
	}
	want := []string{"identity", "tooling", "skills", "workspace", "workspace_files", "time", "project_context", "runtime"}
	if diff := cmp.Diff(want, ids); diff != "" || at != len(text) || int(p.GetBytes()) != len(text) || p.GetSha256() != digestOf(text) {
		t.Errorf("%s, %d of %d bytes", diff, at, len(text))
	}
	if n := p.GetTokens(); n.GetCount() != estimate(text) || n.GetCounter() != "est-1" || n.GetExact() {
		t.Errorf("%v", n)
	}
	cache := p.GetBoundaries().GetCache()
	if stable := text[:cache.GetByte()]; !strings.HasPrefix(text[len(stable):], "\n\n# Runtime\n") || cache.GetSha256() != digestOf(stable) || cache.GetTokens() != estimate(stable) {
		t.Errorf("%v", cache)
	}
	if session := p.GetBoundaries().GetSession(); int(session.GetByte()) != len(text) {
		t.Errorf("%v", session)
	}
}

// workspaceSkills reads each listed location as the agent's tool does that sees the folders under their mounts.
func workspaceSkills(t *testing.T, w *workspace, p *promptbuilderv1.BuildSystemResponse) {
	var list struct {
		Skills []struct {
			Name     string `xml:"name"`
			Location string `xml:"location"`
		} `xml:"skill"`
	}
	text := p.GetText()
	from, to := strings.Index(text, "<available_skills>"), strings.Index(text, "\n\nWhen you need to use a skill, use the `read` tool")
	if err := xml.Unmarshal([]byte(text[from:to]), &list); err != nil || len(list.Skills) != 10 || len(p.GetDiagnostics()) > 0 {
		t.Fatalf("%d skills, %v, %v", len(list.Skills), err, p.GetDiagnostics())
	}
	for _, s := range list.Skills {
		var found []string
		for mount, dir := range w.mounts {
			if inside, ok := strings.CutPrefix(s.Location, mount+"/"); ok {
				data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(inside)))
				if err != nil || !strings.HasPrefix(string(data), "---\nname: "+s.Name+"\n") {
					t.Errorf("%s at %s: %.40q, %v", s.Name, s.Location, data, err)
				}
				found = append(found, mount)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s is below %q", s.Location, found)
		}
	}
}

// workspaceEdited: the diff names the file, nothing before it has moved, and what is appended behind the cut moves nothing at all.
func workspaceEdited(t *testing.T, w *workspace, before *promptbuilderv1.BuildSystemResponse) {
	q := w.request()
	q.Previous = &promptbuilderv1.PreviousBuild{Sections: before.GetSections(), BuilderVersion: before.GetBuilderVersion()}
	w.put(t, "novel/AGENTS.md", w.rules+"## 付録\n\nここは載らない。\n")
	if d := w.system(t, q).GetDiff(); d.GetFirstChanged() != nil || d.GetReusablePermille() != 1000 {
		t.Errorf("appended behind the cut: %v", d)
	}
	w.put(t, "novel/AGENTS.md", strings.Replace(w.rules, "短い文で", "長い文で", 1))
	after := w.system(t, q)
	d := after.GetDiff()
	want := &promptbuilderv1.FirstChange{Section: "project_context", Part: "AGENTS.md", Reason: promptbuilderv1.DiffReason_DIFF_REASON_CONTENT}
	if diff := cmp.Diff(want, d.GetFirstChanged(), protocmp.Transform()); diff != "" || d.GetExact() || d.GetOtherVersion() {
		t.Errorf("%s, %v", diff, d)
	}
	at := strings.Index(before.GetText(), "\n\n## AGENTS.md\n")
	if int(d.GetCommonPrefixBytes()) != at || before.GetText()[:at] != after.GetText()[:at] {
		t.Errorf("%d bytes are said to be equal, and %d are before the file", d.GetCommonPrefixBytes(), at)
	}
	if int(d.GetReusablePermille()) != 1000*at/len(after.GetText()) {
		t.Errorf("%d permille", d.GetReusablePermille())
	}
	for i, s := range before.GetSections() {
		if now := after.GetSections()[i]; (s.GetId() != "project_context") != proto.Equal(s, now) {
			t.Errorf("%s: %v, then %v", s.GetId(), s, now)
		}
	}
	q.Previous.Text = before.GetText()
	changed := strings.Index(before.GetText(), "短い文で")
	if d := w.system(t, q).GetDiff(); !d.GetExact() || int(d.GetCommonPrefixBytes()) != changed {
		t.Errorf("with the text: %v, and the first other byte is %d", d, changed)
	}
}

// workspaceRefused: roots that there are not and paths that lead out are refused by their fields, all at once, and the settings' names told.
func workspaceRefused(t *testing.T, w *workspace) {
	q := w.request()
	q.Bootstrap = &promptbuilderv1.Bootstrap{Root: "elsewhere", List: &promptbuilderv1.FileList{Names: []string{"../prompts.yaml", "/etc/passwd", "skills/../AGENTS.md", "SOUL.md", "SOUL.md"}}}
	q.SkillRoots = append(q.SkillRoots, &promptbuilderv1.SkillRoot{Root: "novel", Mount: "~/novel"}, &promptbuilderv1.SkillRoot{Root: w.dir})
	for _, side := range []struct {
		c      promptbuilderv1.PromptBuilderServiceClient
		fields *strings.Replacer
	}{
		{w.prompts, strings.NewReplacer()}, {promptbuilderv1.NewPromptBuilderServiceClient(overREST{w.world}), strings.NewReplacer("skill_roots", "skillRoots")},
	} {
		_, err := side.c.BuildSystem(w.ctx, q)
		fields := []string{
			"bootstrap.list.names[0]", "bootstrap.list.names[1]", "bootstrap.list.names[2]", "bootstrap.list.names[4]", "bootstrap.root",
			side.fields.Replace("skill_roots[2].mount"), side.fields.Replace("skill_roots[3].root"),
		}
		refusal{code: codes.InvalidArgument, reason: "INVALID_FIELD", fields: fields}.check(t, err)
		for _, v := range told(t, err).Violations {
			if v.Field == "bootstrap.root" && v.Description != `the settings have no folder "elsewhere"; they have novel, shared` {
				t.Errorf("%q", v.Description)
			}
		}
	}
}
