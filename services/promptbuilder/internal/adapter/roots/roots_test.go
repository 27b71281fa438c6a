package roots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// place is a folder in which tests put files and links.
type place struct {
	testing.TB
	dir string
}

func (p place) put(name, text string) {
	p.Helper()
	file := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p place) link(target, name string) {
	p.Helper()
	if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
		p.Skip("this system makes no links: ", err)
	}
}

func skill(name string) string { return "---\nname: " + name + "\ndescription: d\n---\n" }

// cases/systemprompt.md 23: links within the folders of the settings are followed, others are told, and the good ones are never lost.
func TestSystemprompt23Links(t *testing.T) {
	t.Parallel()
	p := place{t, t.TempDir()}
	p.put("skills/a/SKILL.md", skill("a"))
	p.put("shared/b/SKILL.md", skill("b"))
	p.put("shared/c.md", skill("c"))
	p.put("outside/d/SKILL.md", skill("d"))
	p.put("skills/c/other", "")
	p.link(filepath.Join(p.dir, "shared", "b"), "skills/b")
	p.link(filepath.Join(p.dir, "shared", "c.md"), "skills/c/SKILL.md")
	p.link(filepath.Join(p.dir, "outside", "d"), "skills/d")
	p.link("nowhere", "skills/e")
	p.link(".", "skills/f")
	p.put("skills/.hidden/SKILL.md", skill("hidden"))
	p.put("skills/node_modules/x/SKILL.md", skill("x"))
	r := New(map[string]sysprompt.Folder{"skills": {Path: filepath.Join(p.dir, "skills"), Mount: "/skills"}, "shared": {Path: filepath.Join(p.dir, "shared")}})
	found, reports := r.Skills(sysprompt.SkillRoot{Root: "skills"}, false)
	var names, told []string
	for _, s := range found {
		names = append(names, s.Name+" "+s.Location)
	}
	for _, s := range reports {
		told = append(told, s.Name+": "+s.Why)
	}
	if diff := cmp.Diff([]string{"a /skills/a/SKILL.md", "b /skills/b/SKILL.md", "c /skills/c/SKILL.md"}, names); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"skills/d: it is a link that leads out of the folders of the settings, or in a loop", "skills/e: it is a link that leads nowhere",
		"skills/f: it is a folder that is listed already, or a loop of links",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

// The location of a skill is the path that the reader tool takes: a folder whose name a prompt would not print as it is is told, and
// not listed under another path.
func TestLocationsAreThoseOfTheReader(t *testing.T) {
	t.Parallel()
	p := place{t, t.TempDir()}
	names := []string{"a&b", "two  blanks", "家\u200d族", "日本語 の技"}
	for _, name := range names {
		p.put(name+"/SKILL.md", skill(name))
	}
	found, reports := New(map[string]sysprompt.Folder{"s": {Path: p.dir, Mount: "/s"}}).Skills(sysprompt.SkillRoot{Root: "s", Mount: "/elsewhere"}, false)
	if len(found) != 2 || found[0].Location != "/elsewhere/a&b/SKILL.md" || found[1].Location != "/elsewhere/日本語 の技/SKILL.md" {
		t.Errorf("%+v", found)
	}
	if len(reports) != 2 || reports[0].Name != "s/two  blanks/SKILL.md" || !strings.Contains(reports[1].Why, "rename the folder") {
		t.Errorf("%+v", reports)
	}
}

// A file that cannot be read is never called missing; two names of one file are known as one.
func TestFiles(t *testing.T) {
	t.Parallel()
	p := place{t, t.TempDir()}
	p.put("ws/AGENTS.md", "a")
	p.put("ws/folder/x", "")
	p.put("secret", "s")
	p.put("ws/big", strings.Repeat("x", sysprompt.MaxFile+1))
	p.link("../secret", "ws/out")
	p.link("gone", "ws/dangling")
	p.link("AGENTS.md", "ws/same")
	r := New(map[string]sysprompt.Folder{"ws": {Path: filepath.Join(p.dir, "ws")}})
	names := []string{"AGENTS.md", "none", "folder", "big", "out", "dangling", "same", "../secret"}
	want := []sysprompt.FileState{
		sysprompt.FileOK, sysprompt.FileMissing, sysprompt.FileUnreadable, sysprompt.FileTooLarge, sysprompt.FileBlocked, sysprompt.FileUnreadable, sysprompt.FileOK, sysprompt.FileUnreadable,
	}
	for i, f := range r.Files("ws", names) {
		if f.State != want[i] || f.State != sysprompt.FileOK && len(f.Content) > 0 && f.State != sysprompt.FileTooLarge {
			t.Errorf("%s: %s, %d bytes", f.Name, f.State, len(f.Content))
		}
		if f.Name == "same" && f.Same != "AGENTS.md" {
			t.Errorf("%q", f.Same)
		}
	}
	if d := r.Digest("ws", "AGENTS.md"); len(d) != 64 || r.Digest("ws", "none") != "" {
		t.Errorf("%q", d)
	}
	for folder, want := range map[string]string{"gone": "no such file or directory", "secret": "not a directory", "ws": ""} {
		r := New(map[string]sysprompt.Folder{"f": {Path: filepath.Join(p.dir, folder)}})
		_, reports := r.Skills(sysprompt.SkillRoot{Root: "f"}, false)
		if f := r.Files("f", []string{"x"}); f[0].State == sysprompt.FileOK || r.Trouble("f") != want || (len(reports) > 0 && strings.HasSuffix(reports[0].Why, ": "+want)) != (want != "") {
			t.Errorf("%s: %v, %q, %v", folder, f, r.Trouble("f"), reports)
		}
	}
}

// frontMatter is the text of a SKILL.md, and what is made of it: a name and a description, or a fault.
type frontMatter struct{ text, want, description, fault string }

// check parses, also with strict: that refuses what is read with a guess.
func (c frontMatter) check(t *testing.T, name string, guessed bool) {
	t.Helper()
	h, err := parse([]byte(c.text), "folder", false)
	if c.fault != "" {
		if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	if err != nil || h.Name != c.want || h.Description != c.description || strings.ContainsAny(h.Name+h.Description, "\r\ufeff") {
		t.Errorf("%s: %+v, %v", name, h, err)
	}
	if _, strict := parse([]byte(c.text), "folder", true); guessed != (strict != nil) || guessed != (len(h.Warnings) > 0) {
		t.Errorf("%s: warnings %q, strict %v", name, h.Warnings, strict)
	}
}

// cases/systemprompt.md 19: a byte order mark before the front matter, or in it, hides no skill.
func TestSystemprompt19AByteOrderMark(t *testing.T) {
	t.Parallel()
	frontMatter{"\ufeff---\nname: demo\ndescription: d\n---\nx", "demo", "d", ""}.check(t, "before", false)
	frontMatter{"---\nname: \ufeffdemo\ndescription: d\ufeff\n---\nx", "demo", "d", ""}.check(t, "inside", false)
	p := place{t, t.TempDir()}
	p.put("skills/a/SKILL.md", "\ufeff"+skill("a"))
	p.put("skills/AGENTS.md", "\ufeff規則")
	got := p.builds(sysprompt.Request{Bootstrap: sysprompt.Bootstrap{Root: "skills", List: &[]string{"AGENTS.md"}}})
	if !strings.Contains(got.Text, "<name>a</name>") || !strings.Contains(got.Text, "<file>\n規則\n</file>") || strings.Contains(got.Text, "\ufeff") {
		t.Errorf("%q", got.Text)
	}
}

// cases/systemprompt.md 20: lines end as an editor ends them, and the file may end right behind the closing fence, or before it.
func TestSystemprompt20EndsOfLines(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"CRLF, no end":     "---\r\nname: demo\r\ndescription: d\r\n---",
		"CR":               "---\rname: demo\rdescription: d\r---\rx",
		"CR, no end":       "---\rname: demo\rdescription: d\r---",
		"mixed":            "---\r\nname: demo\rdescription: d\n---\r\nx",
		"blanks behind":    "---  \nname: demo  \ndescription: d\t\n---\t\nx",
		"no closing fence": "---\nname: demo\ndescription: d",
	} {
		frontMatter{text, "demo", "d", ""}.check(t, name, false)
	}
}

// cases/systemprompt.md 22: a number or a truth is a text, a list is refused with its place, and the other skills stay.
func TestSystemprompt22ValuesThatAreNoTexts(t *testing.T) {
	t.Parallel()
	p := place{t, t.TempDir()}
	p.put("skills/a/SKILL.md", "---\nname: 3000\ndescription: a number\n---\n")
	p.put("skills/b/SKILL.md", "---\nname: b\ndescription: [a, b]\n---\n")
	p.put("skills/c/SKILL.md", "---\nname: c\ndescription: true\n---\n")
	p.put("skills/d/SKILL.md", "---\nname: {a: b}\ndescription: d\n---\n")
	p.put("skills/e/SKILL.md", "---\nname: [\n---\n")
	p.put("skills/f/SKILL.md", skill("f"))
	found, reports := p.roots().Skills(sysprompt.SkillRoot{Root: "skills"}, false)
	var names, told []string
	for _, s := range found {
		names = append(names, s.Name+": "+s.Description)
	}
	for _, r := range reports {
		told = append(told, r.Name+" "+r.What+" "+r.Why)
	}
	if diff := cmp.Diff([]string{"3000: a number", "c: true", "f: d"}, names); diff != "" {
		t.Error(diff)
	}
	for i, want := range []string{
		"skills/b/SKILL.md refused its description must be a text, and is a list or a map (line 2, column 14 of the front matter)",
		"skills/d/SKILL.md refused its name must be a text, and is a list or a map (line 1, column 7 of the front matter)",
		"skills/e/SKILL.md refused its front matter (line 1 is the one behind ---) is not YAML",
	} {
		if len(told) != 3 || !strings.HasPrefix(told[i], want) {
			t.Errorf("%q, want %q", told, want)
		}
	}
}

// Front matter as people leave it.
func TestFrontMatter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]frontMatter{
		"no name":                  {"---\ndescription: d\n---", "folder", "d", ""},
		"colons":                   {"---\nname: demo\ndescription: a: b: c\n---", "demo", "a: b: c", ""},
		"colons in quotes":         {"---\nname: demo\ndescription: 'a: b'\n---", "demo", "a: b", ""},
		"several lines":            {"---\nname: demo\ndescription: >\n  a\n  b\n---", "demo", "a b", ""},
		"no description":           {"---\nname: demo\n---", "", "", "no description"},
		"no front matter":          {"# Demo\n", "", "", "first line must be ---"},
		"something else in colons": {"---\nname: demo\ndescription: d\nnote: a: b\n---", "demo", "d", ""},
	} {
		c.check(t, name, name == "colons" || name == "something else in colons")
	}
	h, err := parse([]byte("---\ndescription: d\nos: linux\nrequires:\n  bins: [git, rg]\n  env: TOKEN\n---"), "f", false)
	if diff := cmp.Diff(head{Name: "f", Description: "d", OS: []string{"linux"}, Bins: []string{"git", "rg"}, Env: []string{"TOKEN"}}, h); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
