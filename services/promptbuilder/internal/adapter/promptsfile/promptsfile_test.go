package promptsfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse([]byte(`
roots:
  shop: {path: shop, mount: /workspace}
  skills: {path: /srv/skills}
system:
  defaults: {workspace: /w, user_timezone: Asia/Tokyo}
  sections:
    - {id: house, heading: House style, text: 短く。, class: identity, modes: [full], order: 2, untrusted: true}
agents:
  defaults: {workspace: /w, timeFormat: "24", bootstrapMaxChars: 9000}
`), "/etc/tsumugi")
	want := Settings{
		Folders: map[string]sysprompt.Folder{"shop": {Path: "/etc/tsumugi/shop", Mount: "/workspace"}, "skills": {Path: "/srv/skills", Mount: "/skills"}},
		Defaults: sysprompt.Defaults{Workspace: "/w", Zone: "Asia/Tokyo", TimeFormat: "24", MaxChars: 9000, Sections: []sysprompt.Custom{
			{ID: "house", Heading: "House style", Text: "短く。", Class: sysprompt.Identity, Modes: []sysprompt.Mode{sysprompt.Full}, Order: 2, Untrusted: true},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// Every problem is told at once, by its key.
func TestProblems(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`
roots: {A: {path: x}, b: {mount: ~/x, path: x}, c: {}}
system:
  defaults: {workspace: /a, user_timezone: Mars, time_format: "13", bootstrap_max_chars: 3}
  sections: [{id: tooling, class: often, modes: [none]}, {id: x}, {id: x}]
agents: {defaults: {workspace: /b}}
`), "/")
	if err == nil {
		t.Fatal("no error")
	}
	for _, key := range []string{
		"roots.A", "roots.b", "roots.c", "system.defaults.workspace", "system.defaults.user_timezone", "system.defaults.time_format", "system.defaults.bootstrap_max_chars",
		"system.sections[0].class", "system.sections[0].modes[0]", "system.sections[0].id", "system.sections[2].id",
	} {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not in %v", key, err)
		}
	}
	if _, err := Parse([]byte("rots: {}\n"), "/"); err == nil || !strings.Contains(err.Error(), "roots") {
		t.Errorf("an unknown key: %v", err)
	}
	if s, err := Load(""); err != nil || len(s.Folders) > 0 {
		t.Errorf("no file: %v", err)
	}
	if _, err := Load("/nowhere.yaml"); err == nil || !strings.Contains(err.Error(), "prompts file") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("roots: {a: {path: x}}\nsystem: {sections: [{id: a, text: b}]}\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Parse(data, "/") })
}
