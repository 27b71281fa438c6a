package app

import (
	"strings"
	"testing"
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
