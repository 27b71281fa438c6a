package sysprompt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// folders is a Roots in memory: files by root and name.
type folders map[string]map[string]string

func (f folders) Names() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name := range f {
			if !yield(name) {
				return
			}
		}
	})
}

func (f folders) Trouble(root string) string {
	if f[root] == nil {
		return "no such file or directory"
	}
	return ""
}

func (f folders) Files(root string, names []string) []File {
	var all []File
	for _, name := range names {
		content, ok := f[root][name]
		state := FileOK
		if !ok {
			state = FileMissing
		}
		all = append(all, File{Name: name, Content: []byte(content), Root: root, State: state, Same: name})
	}
	return all
}

func (f folders) Skills(SkillRoot, bool) ([]SkillFile, []SkillReport) { return nil, nil }

func (f folders) Digest(root, name string) string {
	content, ok := f[root][name]
	if !ok {
		return ""
	}
	return digest(content)
}

// tester is what a test and a property have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func build(t tester, r Request) Prompt { return buildIn(t, folders{}, r) }

func buildIn(t tester, f folders, r Request) Prompt {
	t.Helper()
	b := NewBuilder(f, nil, Defaults{})
	r, wrong := b.Prepare(r)
	if len(wrong) > 0 {
		t.Fatalf("%v", wrong)
	}
	p, err := b.Build(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// everything is a request that prints every section that a request can.
func everything() Request {
	r := Request{
		Locale: "ja", Tools: []Tool{{"zip", "Pack", "{}"}, {"read", "Read", ""}, {"session_status", "", ""}}, Workspace: "/w",
		Skills: []Skill{{Name: "b", Description: "B", Location: "/b"}, {Name: "a", Description: "A", Location: "/a"}},
		Files:  []File{{Name: "SOUL.md", Content: []byte("s")}, {Name: "AGENTS.md", Content: []byte("a")}, {Name: "HEARTBEAT.md", Content: []byte("h"), Class: Volatile}},
		Zone:   "Asia/Tokyo", Now: time.Date(2026, 7, 4, 1, 2, 3, 0, time.UTC), IncludeTime: true, Sandbox: &Sandbox{Runtime: "docker"},
		Runtime: Runtime{OS: "Linux", Extra: map[string]string{"b": "2", "a": "1"}}, Reasoning: Reasoning{Level: "off"},
	}
	for _, row := range table() {
		if row.by == callers {
			r.Sections = append(r.Sections, Custom{ID: row.id, Text: "text of " + row.id})
		}
	}
	for class := Identity; class <= Volatile; class++ {
		r.Sections = append(r.Sections, Custom{ID: fmt.Sprintf("own%d", class), Text: "own", Class: class})
	}
	return r
}

func ids(p Prompt) []string {
	var all []string
	for _, s := range p.Sections {
		all = append(all, s.ID)
	}
	return all
}

// Each row of the table in each mode, sent and not sent; include and exclude.
func TestTheTable(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Full, Minimal, None} {
		r := everything()
		r.Mode = mode
		p := build(t, r)
		var want []string
		for _, row := range table() {
			switch {
			case row.by == given:
			case row.by == custom && mode != None:
				want = append(want, fmt.Sprintf("own%d", row.class))
			case mode == Full, mode == Minimal && row.minimal, row.id == idIdentity:
				if row.by != custom && (row.id != idChanging || mode == Full) { // HEARTBEAT.md is left out in Minimal
					want = append(want, row.id)
				}
			}
		}
		if diff := cmp.Diff(want, ids(p)); diff != "" {
			t.Errorf("mode %d: %s", mode, diff)
		}
		for _, l := range p.LeftOut {
			if l.Reason != ByMode && l.Reason != NotSent {
				t.Errorf("mode %d: %v", mode, l)
			}
		}
	}
	for _, mode := range []Mode{Full, Minimal, None} {
		empty := build(t, Request{Mode: mode})
		if diff := cmp.Diff([]string{idIdentity}, ids(empty)); diff != "" || len(empty.LeftOut) != len(table())-5 {
			t.Errorf("mode %d, nothing sent: %s, %d left out", mode, diff, len(empty.LeftOut))
		}
		for _, l := range empty.LeftOut {
			if l.Reason != NotSent {
				t.Errorf("mode %d, nothing sent: %v", mode, l)
			}
		}
	}
	for _, row := range table() {
		if row.id == "" || row.by == given || row.id == idIdentity || row.id == idChanging {
			continue
		}
		r := everything()
		r.Mode, r.Include = Minimal, []string{row.id}
		if p := build(t, r); !slices.Contains(ids(p), row.id) {
			t.Errorf("%s is not included", row.id)
		}
		r = everything()
		r.Exclude = []string{row.id}
		if p := build(t, r); slices.Contains(ids(p), row.id) || !slices.Contains(p.LeftOut, LeftOut{row.id, Excluded}) {
			t.Errorf("%s is not excluded: %v", row.id, p.LeftOut)
		}
	}
}

// That files follow is said where some do: a section with files that is excluded is not announced.
func TestFilesAreAnnouncedWhereTheyFollow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		exclude []string
		want    string
	}{
		{nil, "identity workspace_files project_context changing_files"},
		{[]string{idFiles}, "identity workspace_files changing_files"},
		{[]string{idChanging}, "identity workspace_files project_context"},
		{[]string{idFiles, idChanging}, "identity"},
	} {
		r := Request{Exclude: c.exclude, Files: []File{{Name: "a", Content: []byte("a")}, {Name: "b", Content: []byte("b"), Class: Session}}}
		if got := strings.Join(ids(build(t, r)), " "); got != c.want {
			t.Errorf("without %q: %s", c.exclude, got)
		}
	}
}

// cases/systemprompt.md 1: what is sent in another order gives the same bytes, also in a hundred builds.
func TestSystemprompt01OneDigestInAnyOrder(t *testing.T) {
	t.Parallel()
	want := build(t, everything())
	for seed := range uint64(100) {
		r, shuffle := everything(), rand.New(rand.NewPCG(seed, 0))
		mix(shuffle, r.Tools)
		mix(shuffle, r.Skills)
		mix(shuffle, r.Files)
		mix(shuffle, r.Sections)
		if got := build(t, r); got.Text != want.Text || got.ToolsDigest != want.ToolsDigest {
			t.Fatalf("another text: %s", cmp.Diff(want.Text, got.Text))
		}
	}
}

func mix[T any](r *rand.Rand, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// headingLines are the headings of all sections, as a file may have them.
func headingLines() (lines []string) {
	for _, r := range table() {
		if r.heading != "" {
			lines = append(lines, "# "+r.heading+"\n\n")
		}
	}
	return lines
}

// Sections and parts tile the text, and the digests are those of their ranges, whatever stands in the files.
func TestSectionsTileTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom(append(headingLines(), "</file>", "</FILE-1>", "か\u3099", "\xff", "\r\n", "a", "\x00", "<file>\n", "\u2028"))
		r := everything()
		r.Files = nil
		for i := range rapid.IntRange(0, 4).Draw(t, "files") {
			text := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "")
			r.Files = append(r.Files, File{Name: fmt.Sprintf("f%d.md", i), Content: []byte(text), Class: rapid.SampledFrom([]Class{Stable, Session, Volatile}).Draw(t, "class")})
		}
		r.Bootstrap.Max = rapid.IntRange(24, 60).Draw(t, "max")
		r.Bootstrap.Truncation = rapid.SampledFrom([]Truncation{Head, HeadTail, Digest}).Draw(t, "truncation")
		r.Bootstrap.Unit = rapid.SampledFrom([]passage.Unit{passage.Characters, passage.Bytes}).Draw(t, "unit")
		p := build(t, r)
		if !utf8.ValidString(p.Text) {
			t.Fatal("no UTF-8")
		}
		at := 0
		for i, s := range p.Sections {
			if i > 0 && p.Text[at:s.Start] != "\n\n" || digest(p.Text[s.Start:s.End]) != s.Digest {
				t.Fatalf("section %s does not follow the one before", s.ID)
			}
			for _, q := range s.Parts {
				if q.Start < s.Start || q.End > s.End || digest(p.Text[q.Start:q.End]) != q.Digest {
					t.Fatalf("part %s of %s", q.ID, s.ID)
				}
			}
			at = s.End
			if s.Class <= Stable && s.End > p.Cache.Byte || s.Class > Stable && s.Start < p.Cache.Byte {
				t.Fatalf("the boundary %d is not behind the stable sections", p.Cache.Byte)
			}
		}
		if at != len(p.Text) {
			t.Fatal("the text goes on behind the last section")
		}
		for _, f := range p.Files {
			if f.Printed > r.Bootstrap.Max {
				t.Fatalf("%v is over its limit %d", f, r.Bootstrap.Max)
			}
		}
	})
}

// sharesByHand shares a total among files in the order of the prompt as 1.3 says it, by trying: in the order of priority the highest level
// that fits, then one unit each; what would be cut to less than the least is dropped, the last of the lowest priority first.
func sharesByHand(files []*page, total, most int) map[*page]int {
	var dropped []*page
	for {
		given, left, worst := map[*page]int{}, total, (*page)(nil)
		for priority := 2; priority >= 0; priority-- {
			var wants []*page
			for _, p := range files {
				if p.Priority == priority && !slices.Contains(dropped, p) {
					wants = append(wants, p)
				}
			}
			size := func(p *page, level int) int { return min(p.report.Raw, most, level) }
			level := most
			for ; ; level-- {
				sum := 0
				for _, p := range wants {
					sum += size(p, level)
				}
				if sum <= left {
					left -= sum
					break
				}
			}
			for _, p := range wants {
				given[p] = size(p, level)
				if left > 0 && size(p, most) > level {
					given[p]++
					left--
				}
				if given[p] < size(p, most) && given[p] < leastFile {
					worst = p
				}
			}
		}
		if worst == nil {
			return given
		}
		dropped = append(dropped, worst)
	}
}

// The shares of a total are those that trying finds; their sum is never over, and nobody has less than another that wants less,
// but for one unit of what cannot be shared evenly.
func TestShares(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var files []*page
		for i := range rapid.IntRange(1, 6).Draw(t, "files") {
			files = append(files, &page{
				File: File{Name: fmt.Sprint(i), Priority: rapid.IntRange(0, 2).Draw(t, "priority")}, report: FileReport{Raw: rapid.IntRange(1, 90).Draw(t, "size")},
			})
		}
		total, most := rapid.IntRange(1, 300).Draw(t, "total"), rapid.IntRange(leastFile, 80).Draw(t, "max")
		got, want := shares(files, Bootstrap{Max: most, TotalMax: &total}), sharesByHand(files, total, most)
		sum := 0
		for _, p := range files {
			size, kept := want[p]
			if sum += size; kept == got[p].dropped || kept && min(p.report.Raw, got[p].size) != size {
				t.Fatalf("%s (%d of priority %d) has %+v, want %d, kept %v", p.Name, p.report.Raw, p.Priority, got[p], size, kept)
			}
			for _, q := range files {
				if p.Priority == q.Priority && min(p.report.Raw, most) > min(q.report.Raw, most) && kept && size+1 < want[q] {
					t.Fatalf("%d has %d, and %d has %d", p.report.Raw, size, q.report.Raw, want[q])
				}
			}
		}
		if sum > total {
			t.Fatalf("%d in all of %d", sum, total)
		}
	})
	files := []*page{{report: FileReport{Raw: 900}}, {report: FileReport{Raw: 400}}, {report: FileReport{Raw: 300}}}
	total := 1000
	got := shares(files, Bootstrap{Max: 5000, TotalMax: &total})
	if got[files[0]].size != 350 || got[files[1]].size != 350 || min(300, got[files[2]].size) != 300 {
		t.Errorf("900, 400, 300 into 1000: %v", got)
	}
}
