package roots

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// roots are settings with a folder for each of the place.
func (p place) roots() *Roots {
	p.Helper()
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		p.Fatal(err)
	}
	folders := map[string]sysprompt.Folder{}
	for _, e := range entries {
		folders[e.Name()] = sysprompt.Folder{Path: filepath.Join(p.dir, e.Name()), Mount: "/workspace/" + e.Name()}
	}
	return New(folders)
}

// builds makes a prompt with the tool `read` and the skills below the folder `skills`, if it is there and no other is named.
func (p place) builds(r sysprompt.Request) sysprompt.Prompt {
	p.Helper()
	roots := p.roots()
	r.Locale, r.Tools = "en", []sysprompt.Tool{{Name: "read"}}
	if r.SkillRoots == nil && slices.Contains(roots.Names(), "skills") {
		r.SkillRoots = []sysprompt.SkillRoot{{Root: "skills"}}
	}
	b := sysprompt.NewBuilder(roots, nil, sysprompt.Defaults{})
	r, wrong := b.Prepare(r)
	if len(wrong) > 0 {
		p.Fatal(wrong)
	}
	prompt, err := b.Build(context.Background(), r)
	if err != nil {
		p.Fatal(err)
	}
	return prompt
}

// told are the codes and subjects of what a reply tells.
func told(p sysprompt.Prompt) (all []string) {
	for _, d := range p.Diagnostics {
		all = append(all, d.Code+" "+d.Part)
	}
	return all
}

// cases/systemprompt.md 17: two names of one memory are printed once, of two memories that of the larger letters, and either alone is taken.
func TestSystemprompt17TheMemory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		put             func(p place)
		has, twin, text string
	}{
		"a hard link": {func(p place) {
			p.put("ws/MEMORY.md", "one")
			if err := os.Link(filepath.Join(p.dir, "ws", "MEMORY.md"), filepath.Join(p.dir, "ws", "memory.md")); err != nil {
				p.Skip("this system makes no links: ", err)
			}
		}, "MEMORY.md", "memory.md", "one"},
		"a link": {func(p place) {
			p.put("ws/memory.md", "one")
			p.link("memory.md", "ws/MEMORY.md")
		}, "MEMORY.md", "memory.md", "one"},
		"two files": {func(p place) {
			p.put("ws/MEMORY.md", "one")
			if _, err := os.Stat(filepath.Join(p.dir, "ws", "memory.md")); err == nil {
				p.Skip("this system does not tell MEMORY.md from memory.md")
			}
			p.put("ws/memory.md", "two")
		}, "MEMORY.md", "memory.md", "one"},
		"memory.md alone": {func(p place) { p.put("ws/memory.md", "two") }, "memory.md", "", "two"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := place{t, t.TempDir()}
			p.put("ws/AGENTS.md", "a")
			c.put(p)
			got := p.builds(sysprompt.Request{Bootstrap: sysprompt.Bootstrap{Root: "ws"}})
			want := "## " + c.has + "\n\n<file>\n" + c.text + "\n</file>"
			if !strings.HasSuffix(got.Text, want) || strings.Count(strings.ToLower(got.Text), "## memory.md") != 1 {
				t.Errorf("%s", got.Text)
			}
			states := map[string]sysprompt.FileState{}
			for _, f := range got.Files {
				states[f.Name] = f.State
				if f.State == sysprompt.FileDuplicate && f.DuplicateOf != c.has {
					t.Errorf("%+v", f)
				}
			}
			if states[c.has] != sysprompt.FileOK || c.twin != "" && states[c.twin] != sysprompt.FileDuplicate || c.twin == "" && states["MEMORY.md"] != "" {
				t.Errorf("%v", states)
			}
		})
	}
}

// cases/systemprompt.md 25: skills stand by name, in whatever order they came onto the disk; of two of one name that of the first root is taken.
func TestSystemprompt25SkillsInOrder(t *testing.T) {
	t.Parallel()
	texts := map[string]bool{}
	for seed := range uint64(5) {
		p := place{t, t.TempDir()}
		for _, n := range rand.New(rand.NewPCG(seed, 0)).Perm(20) {
			root := []string{"skills", "shared"}[n%2]
			p.put(fmt.Sprintf("%s/f%02d/SKILL.md", root, 20-n), skill(fmt.Sprintf("%c%d", "aZ"[n%2], n)))
		}
		p.put("skills/twin/SKILL.md", skill("twin"))
		p.put("shared/twin/SKILL.md", skill("twin"))
		got := p.builds(sysprompt.Request{SkillRoots: []sysprompt.SkillRoot{{Root: "skills"}, {Root: "shared"}}})
		var names []string
		for _, s := range got.Sections {
			if s.ID == "skills" {
				for _, part := range s.Parts {
					names = append(names, part.ID)
				}
			}
		}
		if len(names) != 21 || !slices.IsSorted(names) {
			t.Errorf("%q", names)
		}
		if !strings.Contains(got.Text, "<location>/workspace/skills/twin/SKILL.md</location>") || !cmp.Equal(told(got), []string{"skill_shadowed twin"}) {
			t.Errorf("%q, %s", told(got), got.Text)
		}
		texts[got.Text] = true
	}
	if len(texts) != 1 {
		t.Errorf("%d texts of the same skills", len(texts))
	}
}

// What was found in skills that are not listed is told in each build, the first and those with its snapshot; a skill whose name is too long for
// a line is refused as one of a request is.
func TestRefusedSkillsAreToldWithASnapshot(t *testing.T) {
	t.Parallel()
	p := place{t, t.TempDir()}
	p.put("skills/good/SKILL.md", skill("good"))
	p.put("skills/none/SKILL.md", "no front matter")
	p.put("skills/mac/SKILL.md", "---\nname: mac\ndescription: d\nrequires: {bins: [say]}\n---\n")
	p.put("skills/long/SKILL.md", skill(strings.Repeat("x", 4097)))
	r := sysprompt.Request{SkillRoots: []sysprompt.SkillRoot{{Root: "skills"}}, Tools: []sysprompt.Tool{{Name: "read"}}, ReturnSnapshot: true, Facts: &sysprompt.Facts{}}
	first := p.builds(r)
	want := []string{"skill_not_eligible mac", "skill_refused skills/long/SKILL.md", "skill_refused skills/none/SKILL.md"}
	got := slices.DeleteFunc(told(first), func(s string) bool { return strings.HasPrefix(s, "skill_guessed") })
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
		t.Error(diff)
	}
	r.Snapshot = first.Snapshot
	if again := p.builds(r); again.Text != first.Text || !cmp.Equal(again.Diagnostics, first.Diagnostics) {
		t.Errorf("%q with its snapshot, %q without", told(again), told(first))
	}
}

// Folders that are too deep, or too many, are told, and a name with a line feed stands in one line of what is told.
func TestTheBoundsOfAWalkAreTold(t *testing.T) {
	t.Parallel()
	p := place{t, t.TempDir()}
	p.put("skills/1/2/3/4/5/6/SKILL.md", skill("six"))
	p.put("skills/a/2/3/4/5/6/7/SKILL.md", skill("seven"))
	p.put("skills/b/2/3/4/5/6/7/SKILL.md", skill("seven"))
	p.put("skills/c/2/3/4/5/6/notes.md", "no folder is in it")
	p.put("skills/d\n/SKILL.md", skill("d"))
	found, reports := p.roots().Skills(sysprompt.SkillRoot{Root: "skills"}, false)
	want := []sysprompt.SkillReport{
		{Name: `skills/d\n/SKILL.md`, What: "refused", Why: "its path has blanks or characters that a prompt does not print as they are, so that no tool could read it: rename the folder"},
		{Name: "skills/a/2/3/4/5/6", What: "refused", Why: "no skill is looked for in the folders in it, which are more than 6 deep; nor in those of 1 other folders"},
	}
	if diff := cmp.Diff(want, reports); diff != "" || len(found) != 1 {
		t.Errorf("%+v %s", found, diff)
	}
}

// cases/systemprompt.md 28: a skill is listed where the reader tool finds it, and never below ~: the path behind the mount is that of its file.
func TestSystemprompt28WhereTheReaderFindsThem(t *testing.T) {
	t.Parallel()
	p := place{t, t.TempDir()}
	p.put("skills/x/SKILL.md", skill("x"))
	p.put("skills/deep/er/y&z/SKILL.md", skill("y"))
	p.put("outside/w/SKILL.md", skill("w"))
	p.link(filepath.Join(p.dir, "outside", "w"), "skills/w")
	all := p.roots()
	only := New(map[string]sysprompt.Folder{"skills": {Path: all.folders["skills"].Path, Mount: "/workspace/skills"}})
	for mount, want := range map[string]string{"": "/workspace/skills", "/elsewhere": "/elsewhere", "/with/slash/": "/with/slash"} {
		found, reports := only.Skills(sysprompt.SkillRoot{Root: "skills", Mount: mount}, false)
		if len(found) != 2 || len(reports) != 1 || reports[0].Name != "skills/w" || reports[0].What != "refused" {
			t.Fatalf("%+v, %+v", found, reports)
		}
		for _, s := range found {
			inside, ok := strings.CutPrefix(s.Location, want+"/")
			if !ok || strings.Contains(s.Location, "~") || strings.Contains(s.Location, p.dir) {
				t.Errorf("%q with the mount %q", s.Location, mount)
			}
			if d := only.Digest("skills", inside); d == "" || d != s.Digest {
				t.Errorf("what is read at %q is not the skill", inside)
			}
		}
	}
	if err := (sysprompt.Folder{Path: "/srv/skills", Mount: "~/skills"}).Check(); err == nil {
		t.Error("settings may mount a folder below ~")
	}
}
