package sysprompt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/nodecontext"
)

// states are what became of the files of a prompt, in their order.
func states(p Prompt) (all []string) {
	for _, f := range p.Files {
		all = append(all, fmt.Sprint(f.Name, " ", f.State, " ", f.Printed, "/", f.Raw, f.Cause))
		if f.State == FileLeftOut && len(f.Digest) != 64 {
			all = append(all, "without a digest")
		}
	}
	return all
}

// What the mode, exclude or the list leaves out is never told as printed: not a file, not a skill, and not a text that could forge a
// section. It takes no room from what is printed, and hides no second name.
func TestNothingLeftOutIsToldAsPrinted(t *testing.T) {
	t.Parallel()
	full := func() Request {
		return Request{
			Locale: "en", Tools: []Tool{{Name: "read"}}, Bootstrap: Bootstrap{Max: 100, TotalMax: new(int), Unframed: true},
			Files: []File{
				{Name: "A.md", Content: []byte(strings.Repeat("a", 300)), Same: "1"}, {Name: "B.md", Content: []byte(strings.Repeat("b", 90)), Class: Volatile, Same: "1"},
				{Name: "HEARTBEAT.md", Content: []byte("h")}, {Name: "x/MEMORY.md", Content: []byte(" \n")},
			},
			Skills: []Skill{{Name: "s", Description: strings.Repeat("d", 3000), Location: "/s"}, {Name: "s", Description: "d", Location: "/t"}},
		}
	}
	for name, c := range map[string]struct {
		change    func(r *Request)
		files     []string
		codes     []string
		forgeable bool
	}{
		"everything": {
			func(*Request) {}, []string{"A.md truncated 100/300file", "B.md duplicate 0/90", "HEARTBEAT.md ok 1/1", "x/MEMORY.md empty 0/0"},
			[]string{"skill_shadowed skills s", "skill_shortened skills s"}, true,
		},
		"NONE": {
			func(r *Request) { r.Mode = None }, []string{"A.md left_out 0/300", "B.md left_out 0/90", "HEARTBEAT.md left_out 0/1", "x/MEMORY.md empty 0/0"}, nil, false,
		},
		"MINIMAL": {
			func(r *Request) { r.Mode = Minimal }, []string{"A.md truncated 100/300file", "B.md duplicate 0/90", "HEARTBEAT.md left_out 0/1", "x/MEMORY.md empty 0/0"},
			[]string{"file_left_out project_context ", "file_left_out project_context "}, true,
		},
		"exclude": {
			func(r *Request) { r.Exclude, *r.Bootstrap.TotalMax = []string{idFiles, idSkills}, 100 },
			[]string{"A.md left_out 0/300", "B.md ok 90/90", "HEARTBEAT.md left_out 0/1", "x/MEMORY.md empty 0/0"}, nil, true,
		},
		"a list": {
			func(r *Request) { r.Bootstrap.List, r.Skills = &[]string{"B.md", "C.md"}, nil },
			[]string{"A.md left_out 0/300", "B.md ok 90/90", "C.md missing 0/0", "HEARTBEAT.md left_out 0/1", "x/MEMORY.md empty 0/0"},
			[]string{"file_not_listed project_context ", "file_not_listed project_context ", "file_not_listed project_context "}, true,
		},
	} {
		r := full()
		c.change(&r)
		p := build(t, r)
		if diff := cmp.Diff(c.files, states(p)) + cmp.Diff(c.codes, codes(p)); diff != "" || p.Forgeable != c.forgeable {
			t.Errorf("%s: forgeable %v, %s", name, p.Forgeable, diff)
		}
	}
}

// What is sent for a section stands instead of what would be made, though nothing be in it: the section is left out as empty then, with its
// heading, whether the text is "" or blank, and whichever section it is. What is not printed without files is no more printed with a text.
func TestAnEmptyTextLeavesItsSectionOut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n", " \u0007"} {
		r := Request{Locale: "en", Zone: "Asia/Tokyo", Workspace: "/w"}
		for _, id := range []string{"time", "workspace", "documentation", "zed", "sandbox"} {
			r.Sections = append(r.Sections, Custom{ID: id, Heading: "Clock", Text: text})
		}
		p := build(t, r)
		if !cmp.Equal(ids(p), []string{idIdentity}) {
			t.Errorf("%q: %s", text, p.Text)
		}
		for _, s := range r.Sections {
			if !slices.Contains(p.LeftOut, LeftOut{s.ID, Empty}) {
				t.Errorf("%q: %s is in %v", text, s.ID, p.LeftOut)
			}
		}
	}
	if p := build(t, Request{Sections: []Custom{{ID: idNotice, Text: "Files follow."}}}); !slices.Contains(p.LeftOut, LeftOut{idNotice, NotSent}) {
		t.Errorf("%v", p.LeftOut)
	}
}

// The words before the files are left out with them, for the same reason.
func TestTheNoticeOfFilesThatAreExcluded(t *testing.T) {
	t.Parallel()
	files := []File{{Name: "A.md", Content: []byte("a")}}
	for _, sections := range [][]Custom{nil, {{ID: idNotice, Text: "Files follow."}}} {
		if p := build(t, Request{Files: files, Exclude: []string{idFiles}, Sections: sections}); !slices.Contains(p.LeftOut, LeftOut{idNotice, Excluded}) {
			t.Errorf("%v", p.LeftOut)
		}
		if p := build(t, Request{Exclude: []string{idFiles}, Sections: sections}); !slices.Contains(p.LeftOut, LeftOut{idNotice, NotSent}) {
			t.Errorf("%v", p.LeftOut)
		}
	}
}

// A fact needs a name: a blank key would print a line that begins with a colon.
func TestAFactWithoutAName(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", " \n", "\u200b"} {
		_, wrong := NewBuilder(folders{}, nil, Defaults{}).Prepare(Request{Runtime: Runtime{Extra: map[string]string{key: "v", "k": "v"}}})
		if len(wrong) != 1 || wrong[0] != (Violation{"runtime.extra[" + strconv.Quote(key) + "]", "must have a key that is not blank"}) {
			t.Errorf("%q: %v", key, wrong)
		}
	}
}

// A context that is not printed needs no room, and says why it is not there.
func TestAContextThatIsLeftOutFits(t *testing.T) {
	t.Parallel()
	for reason, r := range map[Reason]Request{ByMode: {Mode: None}, Excluded: {Exclude: []string{idContext}}} {
		r.Context = &nodecontext.Request{Prompt: strings.Repeat("夜", 100), MaxTokens: 20}
		p := build(t, r)
		found := false
		for _, l := range p.LeftOut {
			found = found || l == LeftOut{idContext, reason}
		}
		if !found || p.Context != nil {
			t.Errorf("%s: %v, %v", reason, p.LeftOut, p.Context)
		}
	}
}
