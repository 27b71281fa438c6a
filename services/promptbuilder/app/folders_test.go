package app_test

import (
	"os"
	"path/filepath"
	"testing"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/app"
)

// serveFolder runs promptbuilder whose prompts file names one folder, `here`, in which files by their paths are written first.
func serveFolder(t *testing.T, files map[string]string) (client promptbuilderv1.PromptBuilderServiceClient, dir string) {
	t.Helper()
	cfg := app.DefaultConfig()
	cfg.Prompts = filepath.Join(t.TempDir(), "prompts.yaml")
	dir = filepath.Join(filepath.Dir(cfg.Prompts), "here")
	all := map[string]string{cfg.Prompts: "roots: {here: {path: here}}\n"}
	for name, text := range files {
		all[dir+"/"+name] = text
	}
	for path, text := range all {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Skip("this disk takes no such name: ", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := app.New(t.Context(), cfg, app.Deps{Backends: set(t, "http://127.0.0.1:1")})
	if err != nil {
		t.Fatal(err)
	}
	return promptbuilderv1.NewPromptBuilderServiceClient(testkit.Serve(t, a.Register)), dir
}

// One folder whose name is no UTF-8 is told with its name, and takes no prompt away: the call answers.
func TestAFolderWhoseNameIsNoText(t *testing.T) {
	t.Parallel()
	client, _ := serveFolder(t, map[string]string{"b\xff/SKILL.md": "---\ndescription: d\n---\n"})
	p, err := client.BuildSystem(t.Context(), &promptbuilderv1.BuildSystemRequest{
		Tools: []*promptbuilderv1.Tool{{Name: "read"}}, SkillRoots: []*promptbuilderv1.SkillRoot{{Root: "here"}},
	})
	if err != nil || len(p.GetDiagnostics()) != 1 || p.GetDiagnostics()[0].GetCode() != "skill_refused" || p.GetDiagnostics()[0].GetPart() != `here/b\xff` {
		t.Errorf("%v, %v", p.GetDiagnostics(), err)
	}
}

// cases/systemprompt.md 8: a snapshot that comes back gives the same bytes, where two names are one file, too.
func TestSystemprompt08ASnapshotOfTwoNames(t *testing.T) {
	t.Parallel()
	client, dir := serveFolder(t, map[string]string{"TOOLS.md": "t", "SOUL.md": "s"})
	if err := os.Link(filepath.Join(dir, "TOOLS.md"), filepath.Join(dir, "COPY.md")); err != nil {
		t.Skip("this system makes no links: ", err)
	}
	r := &promptbuilderv1.BuildSystemRequest{
		ReturnSnapshot: true, Bootstrap: &promptbuilderv1.Bootstrap{Root: "here", List: &promptbuilderv1.FileList{Names: []string{"TOOLS.md", "COPY.md", "SOUL.md"}}},
	}
	first, err := client.BuildSystem(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.Snapshot = first.GetSnapshot()
	again, err := client.BuildSystem(t.Context(), r)
	if err != nil || again.GetText() != first.GetText() || again.GetFiles()[2].GetDuplicateOf() != "TOOLS.md" || len(again.GetStaleSnapshot()) > 0 {
		t.Errorf("%q, and from the snapshot %q, %v, %v", first.GetText(), again.GetText(), again.GetFiles(), err)
	}
}
