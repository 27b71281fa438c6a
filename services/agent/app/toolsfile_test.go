package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/execchild"
)

// TestToolsFile: everything that is wrong is told at once, with the place where it stands; what is right is taken.
func TestToolsFile(t *testing.T) {
	t.Parallel()
	f, err := parseTools([]byte(`
roots:
  - {name: docs, path: /srv/docs, namespaces: [team-a], protected: ["*.pem"], bootstrap: home}
read_roots:
  - {name: skills, path: /srv/skills, mount: /skills}
skills:
  - {root: skills, mount: /skills}
exec:
  programs: {go: /usr/local/go/bin/go}
  timeout: 1m
servers:
  - {name: weather, url: "http://127.0.0.1:9000/mcp", tools: ["*"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if f.Roots[0].Namespaces[0] != "team-a" || f.ReadRoots[0].Mount != "/skills" || !f.Exec.On() || f.Exec.OpenFiles == 0 || f.Servers[0].Name != "weather" || f.FileCharacters == 0 {
		t.Errorf("%+v", f)
	}
	if none, err := loadTools(""); err != nil || len(none.Roots) != 0 || none.Exec.On() {
		t.Errorf("%+v, %v", none, err)
	}
	_, err = parseTools([]byte(`
roots:
  - {name: "My Docs", path: "", mount: /docs}
  - {name: a, path: /a, namespaces: ["Team A"]}
  - {name: a, path: /b}
read_roots:
  - {name: b, path: /c}
skills: [{root: "", mount: /nowhere}]
file_characters: -1
exec: {programs: {go: go}}
servers: [{name: "a.b"}]
`))
	for _, want := range []string{
		"roots[0].name: must be", "roots[0].path: must be", "roots[0].mount: must be empty", `roots[1].namespaces: has "Team A"`, `roots[2].name: "a" stands twice`,
		"read_roots[0].mount: must be a path such as /skills", "skills[0]: must have", "file_characters and bootstrap_characters", "exec.programs", "servers[0, a.b].name",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %s in %v", want, err)
		}
	}
	if _, err := parseTools([]byte("root: []")); err == nil || !strings.Contains(err.Error(), "root: unknown key") {
		t.Errorf("an unknown key: %v", err)
	}
}

// TestWorkFoldersLieApart: two folders that sessions may change are refused where one is the other or lies in it, also behind a link, with the names of
// both: each would have a lock of its own. What is only read may lie anywhere.
func TestWorkFoldersLieApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "in"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"twin": "a", "deep": "a/in"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "ab"), 0o700); err != nil {
		t.Fatal(err)
	}
	root := func(name, path string) ToolsRoot { return ToolsRoot{Name: name, Path: filepath.Join(dir, path)} }
	for _, c := range []struct {
		path     string
		readOnly bool
		apart    bool
	}{
		{"ab", false, true}, {"a", false, false}, {"a/in", false, false}, {".", false, false}, {"twin", false, false}, {"deep", false, false},
		{"a", true, true}, {"deep", true, true}, {".", true, true},
	} {
		second := root("second", c.path)
		second.ReadOnly = c.readOnly
		read := root("skills", "a")
		read.Mount = "/skills"
		for _, roots := range [][]ToolsRoot{{root("first", "a"), second}, {second, root("first", "a")}} {
			opened, err := ToolsFile{Roots: roots, ReadRoots: []ToolsRoot{read}}.open(nil)
			if (err == nil) != c.apart || err != nil && (!strings.Contains(err.Error(), `"first"`) || !strings.Contains(err.Error(), `"second"`)) {
				t.Errorf("%s, read only %v: %v", c.path, c.readOnly, err)
			}
			if err := opened.close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestNoProgramWhereNothingChanges: in a folder that is only read no program runs, which could write there.
func TestNoProgramWhereNothingChanges(t *testing.T) {
	t.Parallel()
	exec := execchild.DefaultConfig()
	exec.Programs = map[string]string{"sh": "/bin/sh"}
	opened, err := ToolsFile{Roots: []ToolsRoot{{Name: "work", Path: t.TempDir()}, {Name: "books", Path: t.TempDir(), ReadOnly: true}}, Exec: exec}.open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, work := opened.programs["work"]; !work || len(opened.programs) != 1 {
		t.Errorf("programs run in %v", opened.programs)
	}
	if err := opened.close(); err != nil {
		t.Error(err)
	}
}
