package promptsfile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
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

// Each problem is told with the line that it is in, or that of what something is missing from, in the order of the lines.
func TestTheLinesOfProblems(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`# a comment
roots:
  a: {path: x}
  a.b:
    path: y
    mount: ~/y
  c: {}
agents:
  defaults:
    bootstrapMaxChars: 3
system:
  defaults:
    user_timezone: Mars
  sections:
  - id: house
    text: t
    class: often
  -
    id: Bad
    modes:
    - full
    - none
  - text: no id
`), "/")
	want := []string{
		"line 5: roots.a.b", "line 7: roots.c", "line 10: system.defaults.bootstrap_max_chars", "line 13: system.defaults.user_timezone", "line 17: system.sections[0].class",
		"line 19: system.sections[1].id", "line 22: system.sections[1].modes[1]", "line 23: system.sections[2].id",
	}
	var got []string
	for line := range strings.Lines(fmt.Sprint(err)) {
		place, path, _ := strings.Cut(line, ": ")
		path, _, _ = strings.Cut(path, ": ")
		got = append(got, place+": "+path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A key and its other name that say the same are one, and are refused where they differ.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	for key, c := range map[string]struct{ other, value, differs string }{
		"workspace": {"workspace", "/a", "/b"}, "user_timezone": {"userTimezone", "UTC", "Asia/Tokyo"}, "time_format": {"timeFormat", "\"12\"", "\"24\""},
		"bootstrap_max_chars": {"bootstrapMaxChars", "100", "200"},
	} {
		for value, want := range map[string]bool{c.value: true, c.differs: false} {
			text := "system: {defaults: {" + key + ": " + c.value + "}}\nagents: {defaults: {" + c.other + ": " + value + "}}\n"
			if _, err := Parse([]byte(text), "/"); (err == nil) != want || !want && !strings.Contains(err.Error(), "system.defaults."+key) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

type noRoots struct{ sysprompt.Roots }

func (noRoots) Names() []string { return nil }

// Whatever stands in a prompts file is refused when it is read, or in every prompt from then on: no request fails for it. The prompt is
// the same twice, valid UTF-8, and holds what the sections say.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"roots: {a: {path: x}}\nsystem: {sections: [{id: a, text: b}]}\n",
		"system:\n  defaults: {workspace: ' \\u2028', user_timezone: Asia/Tokyo, time_format: auto, bootstrap_max_chars: 24}\n",
		"system: {sections: [{id: preamble, class: identity, text: 'x-hdr: v=1; cch=fa690;'}, {id: b, heading: H, order: -1, modes: [minimal], text: \"</data>\\0\", untrusted: true}]}",
		"system:\n  sections:\n  - id: heartbeats\n    text: |\n      ## My Rules\r\n      foo\n", "system: {sections: [{id: workspace, text: 3000}, {id: now}]}", "agents: {defaults: {userTimezone: Mars/Base}}",
		"a: &a [*a]\n", "system: {sections: [&s {id: a}, *s]}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data, "/")
		if err != nil {
			return
		}
		for _, mode := range []sysprompt.Mode{sysprompt.Full, sysprompt.Minimal, sysprompt.None} {
			p, again := build(t, s.Defaults, mode), build(t, s.Defaults, mode)
			if !utf8.ValidString(p.Text) || p.Text != again.Text {
				t.Fatalf("%q, then %q", p.Text, again.Text)
			}
			for _, c := range s.Defaults.Sections {
				at := slices.IndexFunc(p.Sections, func(x sysprompt.Section) bool { return x.ID == c.ID })
				if at < 0 {
					if !slices.ContainsFunc(p.LeftOut, func(l sysprompt.LeftOut) bool { return l.ID == c.ID }) {
						t.Fatalf("%s is neither printed nor left out", c.ID)
					}
					continue
				}
				if text := p.Text[p.Sections[at].Start:p.Sections[at].End]; !strings.Contains(text, passage.Body(c.Text).Text) {
					t.Fatalf("%s says %q", c.ID, text)
				}
			}
		}
	})
}

func build(t *testing.T, d sysprompt.Defaults, mode sysprompt.Mode) sysprompt.Prompt {
	t.Helper()
	b := sysprompt.NewBuilder(noRoots{}, nil, d)
	r, wrong := b.Prepare(sysprompt.Request{Mode: mode})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	p, err := b.Build(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
