package generation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
)

// TestWayThroughMergedBranches: A -> B, A -> C, B and C -> D, D -> E.
func TestWayThroughMergedBranches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("."))
	a := w.flows.put(nil, "user", "a")
	b := w.flows.put([]uuid.UUID{a}, "user", "b")
	c := w.flows.put([]uuid.UUID{a}, "user", "c")
	d := w.flows.put([]uuid.UUID{b, c}, "user", "d")
	e := w.flows.put([]uuid.UUID{d}, "user", "e")
	lone := w.flows.put(nil, "user", "lone")
	for name, tc := range map[string]struct {
		parent uuid.UUID
		via    []uuid.UUID
		body   string
		wrong  string
	}{
		"one way":              {parent: c, body: "ac"},
		"named":                {parent: e, via: []uuid.UUID{c}, body: "acde"},
		"the other":            {parent: d, via: []uuid.UUID{b}, body: "abd"},
		"the whole way named":  {parent: e, via: []uuid.UUID{a, b, d, e}, body: "abde"},
		"not named":            {parent: e, wrong: "continues 2 nodes"},
		"both named":           {parent: e, via: []uuid.UUID{b, c}, wrong: "continues 2 nodes"},
		"named, but elsewhere": {parent: e, via: []uuid.UUID{c, lone}, wrong: "via[1]"},
		"two that are nowhere": {parent: e, via: []uuid.UUID{lone, uuid.Max}, wrong: "via[0], nodes/" + lone.String() + "; via[1], nodes/" + uuid.Max.String()},
		"nothing to choose":    {parent: c, via: []uuid.UUID{b}, wrong: "via[0]"},
		"a root":               {body: ""},
	} {
		t.Run(name, func(t *testing.T) {
			req := w.request("")
			req.Parent, req.Via = tc.parent, tc.via
			o, err := w.Preview(t.Context(), ns, req)
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("error %v, want %q", err, tc.wrong)
				}
				return
			}
			if err != nil || o.Build.Prompt != "<>"+tc.body {
				t.Errorf("prompt %+v, error %v", o.Build, err)
			}
		})
	}
	req := w.request("")
	req.Parent = e
	_, err := w.Preview(t.Context(), ns, req)
	if ambiguous := new(generation.AmbiguousError); !errors.As(err, &ambiguous) || ambiguous.Node != d || len(ambiguous.Parents) != 2 {
		t.Errorf("%v", err)
	}
}

func TestANodeThatCannotBeReadIsNoHoleInTheText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("."))
	a := w.flows.put(nil, "user", "a")
	b := w.flows.put([]uuid.UUID{a}, "user", "b")
	c := w.flows.put([]uuid.UUID{a}, "user", "c")
	d := w.flows.put([]uuid.UUID{b, c}, "user", "d")
	w.flows.problem[b] = "not XML"
	req := w.request("")
	req.Parent, req.Via = d, []uuid.UUID{c}
	if o, err := w.Preview(t.Context(), ns, req); err != nil || o.Build.Prompt != "<>acd" {
		t.Errorf("beside the way it does not matter: %v", err)
	}
	req.Via = []uuid.UUID{b}
	unreadable := new(generation.UnreadableError)
	if _, err := w.Preview(t.Context(), ns, req); !errors.As(err, &unreadable) || unreadable.Node != b || unreadable.Problem != "not XML" || unreadable.Path != b.String()+".xml" {
		t.Errorf("on the way: %v", err)
	}
}

// TestTheHeadOfAHugeTextIsLeftOutAndCounted: promptbuilder takes 4 MiB, a path may hold more.
func TestTheHeadOfAHugeTextIsLeftOutAndCounted(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("夜", 99) + "\n"
	w := newWorld(t, says("."))
	parent := uuid.Nil
	for range 3 {
		var parents []uuid.UUID
		if parent != uuid.Nil {
			parents = []uuid.UUID{parent}
		}
		parent = w.flows.put(parents, "user", strings.Repeat(line, 7000))
	}
	req := w.request("そして")
	req.Parent = parent
	o, err := w.Preview(t.Context(), ns, req)
	if err != nil {
		t.Fatal(err)
	}
	body := strings.TrimPrefix(o.Build.Prompt, "<>")
	total := 3*7000*100 + 3
	cut := o.Build.Cut
	if cut == nil || cut.Characters+len([]rune(body)) != total || cut.KeptCharacters != len([]rune(body)) || cut.Lines*100 != cut.Characters {
		t.Fatalf("cut %+v, kept %d characters of %d", cut, len([]rune(body)), total)
	}
	if !strings.HasPrefix(body, line) || !strings.HasSuffix(body, line+"そして") || len(body) > 4<<20 || len(body) < 4<<20-len(line) {
		t.Errorf("the kept text has %d bytes and begins with %.20q", len(body), body)
	}
	if want := strings.Repeat("夜", 80); cut.FirstKept != want {
		t.Errorf("first kept line %q", cut.FirstKept)
	}
}

func TestStoryFieldsOverrideOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("."))
	w.flows.story = generation.Story{
		Title: ptr("流れの題"), Note: ptr("流れの注"), Keywords: []string{"雨"}, Genres: []string{"怪談"}, Rating: ptr("general"),
	}
	req := w.request("")
	req.Story = generation.Story{Title: ptr(""), Plot: ptr("筋"), Keywords: []string{"風", "雪"}}
	if _, err := w.Preview(t.Context(), ns, req); err != nil {
		t.Fatal(err)
	}
	s := w.prompts.builds[0].Story
	if *s.Title != "" || *s.Note != "流れの注" || *s.Plot != "筋" || len(s.Keywords) != 2 || len(s.Genres) != 1 || *s.Rating != "general" || s.Setting != nil {
		t.Errorf("%+v", s)
	}
}
