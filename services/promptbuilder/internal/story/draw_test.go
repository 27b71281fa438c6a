package story_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// TestMalformedGroups: every field with one is told, with line and column.
func TestMalformedGroups(t *testing.T) {
	t.Parallel()
	r := story.Request{Body: "一。\n夜の{雨|雪", Work: story.Work{Title: "{@weather}", Keywords: []string{"a", "{3$$b|c}"}}}
	got := map[string]string{}
	for _, v := range r.Check() {
		got[v.Field] = v.Description
	}
	for field, want := range map[string]string{"body": "line 2, column 3", "story.title": "@weather", "story.keywords[1]": "of 2 options"} {
		if !strings.Contains(got[field], want) {
			t.Errorf("%s: %q, want %q", field, got[field], want)
		}
	}
	r.Compat = true
	if v := r.Check(); v != nil {
		t.Errorf("the program of seed 000 refuses nothing: %v", v)
	}
}

// TestAllMalformedGroups: all of all fields at once, beside what else is wrong; a field that is too long is not read.
func TestAllMalformedGroups(t *testing.T) {
	t.Parallel()
	r := story.Request{
		MaxTokens: -1, Body: strings.Repeat("{3$$a|b}\n", 30),
		Work: story.Work{Title: "{a|b{.5::c|d}", Note: strings.Repeat("{3$$a|b}", story.MaxText)},
	}
	told := map[string][]string{}
	for _, v := range r.Check() {
		told[v.Field] = append(told[v.Field], v.Description)
	}
	if len(told["story.title"]) != 2 || len(told["max_tokens"]) != 1 || len(told["story.note"]) != 1 {
		t.Errorf("%v", told)
	}
	if body := told["body"]; len(body) != 21 || !strings.HasPrefix(body[19], "line 20, column 1") || body[20] != "holds 10 more groups that are malformed" {
		t.Errorf("%q", body)
	}
}

// TestLenientBody: what a model wrote does not stop the story; the writer's own fields are checked all the same.
func TestLenientBody(t *testing.T) {
	t.Parallel()
	r := story.Request{Body: "一。\n夜の{雨|雪", LenientBody: true}
	if p := build(t, runesOf(4096), r); !hasWarning(p, story.MalformedGroup) || !strings.Contains(p.Text, "夜の{雨|雪") {
		t.Errorf("warnings %v in %q", p.Warnings, p.Text)
	}
	r.Work.Title = "{雨|雪"
	if v := r.Check(); len(v) != 1 || v[0].Field != "story.title" {
		t.Errorf("%v", v)
	}
}

func TestSetsAndPicksAreChecked(t *testing.T) {
	t.Parallel()
	r := story.Request{
		Sets:  dynamic.Sets{"a b": {"x"}, "empty": nil, "long": {strings.Repeat("x", story.MaxItem+1)}, "天気": {"晴"}},
		Picks: []story.Pick{{Field: "body"}, {Field: "story.rating"}, {Field: "story.title"}, {Field: "body"}},
	}
	var got []string
	for _, v := range r.Check() {
		got = append(got, v.Field)
	}
	if want := []string{`sets["a b"]`, `sets["empty"]`, `sets["long"].options[0]`, "picks[1].field", "picks[3].group"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPicksAreTakenAgain: a prompt is made again from the picks that it told, whatever the seed (cases/wannabe.md 5: what
// stands before the text stays, so that the model server keeps its cache).
func TestPicksAreTakenAgain(t *testing.T) {
	t.Parallel()
	r := story.Request{Seed: 1, Body: "{猫|犬|兎}が{2$$と$$a|b|c}。", Work: story.Work{Title: "{朝|夜|昼}の街"}}
	first := build(t, runesOf(4096), r)
	for seed := range uint32(20) {
		r.Seed, r.Picks = seed, first.Picks
		if again := build(t, runesOf(4096), r); again.Digest != first.Digest || !cmp.Equal(again.Picks, first.Picks) {
			t.Fatalf("seed %d: %q, want %q", seed, again.Text, first.Text)
		}
	}
	r.Picks = first.Picks
	r.Body = "{x|y|z}{猫|犬|兎}が{2$$と$$a|b|c}。" // all groups of the body are other ones now
	if p := build(t, runesOf(4096), r); strings.Count(fmt.Sprint(p.Warnings), string(story.PickNotTaken)) != 2 || !strings.Contains(p.Text, first.Picks[0].Text) {
		t.Errorf("warnings %v in %q", p.Warnings, p.Text)
	}
	r.Body = "猫が{2$$と$$a|b|c}。" // the first group of the body is another one now
	p := build(t, runesOf(4096), r)
	if !hasWarning(p, story.PickNotTaken) || !strings.Contains(p.Text, first.Picks[0].Text) {
		t.Errorf("warnings %v in %q", p.Warnings, p.Text)
	}
}

// TestCombinations: every combination once, each of which can be asked for by its picks.
func TestCombinations(t *testing.T) {
	t.Parallel()
	r := story.Request{Sampler: story.All, Body: "{猫|{犬|兎}}{1|2}"}
	p := build(t, runesOf(4096), r)
	if len(p.Combinations) != 6 || p.Some {
		t.Fatalf("%d combinations, more %t", len(p.Combinations), p.Some)
	}
	r.Sampler = story.Random
	var got []string
	for _, picks := range p.Combinations {
		r.Picks = picks
		_, text, _ := strings.Cut(build(t, runesOf(4096), r).Text, "[/INST]")
		got = append(got, text)
	}
	if want := []string{"猫1", "猫2", "犬1", "犬2", "兎1", "兎2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	r = story.Request{Sampler: story.All, Body: strings.Repeat("{a|b}", 20)}
	if p := build(t, runesOf(4096), r); len(p.Combinations) != story.MaxCombinations || !p.Some {
		t.Errorf("%d combinations, more %t", len(p.Combinations), p.Some)
	}
}

// TestAllIsItsFirstCombination: weights and counts of options do not make the prompt another one.
func TestAllIsItsFirstCombination(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"{0::A|B|C}", "{0-2$$A|B}", "{2$$0::A|B|C|D}{x|y}"} {
		p := build(t, runesOf(4096), story.Request{Sampler: story.All, Seed: 5, Body: body, Work: story.Work{Title: "{0::p|q}"}})
		if !cmp.Equal(p.Picks, p.Combinations[0]) {
			t.Errorf("%s: drawn were %v, and the first combination is %v", body, p.Picks, p.Combinations[0])
		}
	}
}

// TestCombinationsAreBoundedByBytes: a thousand groups of large options are told once, not a hundred times.
func TestCombinationsAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("あ", 1<<10)
	p := build(t, runesOf(8<<20), story.Request{Sampler: story.All, Body: strings.Repeat("{"+large+"|b}", 1000)})
	if len(p.Combinations) != 1 || !p.Some || len(p.Combinations[0]) != 1000 {
		t.Errorf("%d combinations, more %t", len(p.Combinations), p.Some)
	}
	p = build(t, runesOf(8<<20), story.Request{Sampler: story.All, Body: strings.Repeat("{"+large+"|b}", 100)})
	bytes := 0
	for _, picks := range p.Combinations {
		for _, pick := range picks {
			bytes += len(pick.Text)
		}
	}
	if len(p.Combinations) < 2 || bytes > story.MaxCombinationBytes || !p.Some {
		t.Errorf("%d combinations of %d bytes, more %t", len(p.Combinations), bytes, p.Some)
	}
}

func TestCyclicTurns(t *testing.T) {
	t.Parallel()
	var got []string
	for seed := range uint32(4) {
		_, text, _ := strings.Cut(build(t, runesOf(4096), story.Request{Sampler: story.Cyclic, Seed: seed, Body: "{猫|犬|兎}"}).Text, "[/INST]")
		got = append(got, text)
	}
	if want := []string{"猫", "犬", "兎", "猫"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestIdea: one count and nothing that could be cut (field/wannabe.md 1.1 D9); too much is an overflow with the sizes.
func TestIdea(t *testing.T) {
	t.Parallel()
	level := "多い"
	r := story.Request{Mode: story.Idea, Body: "本文", Work: story.Work{Title: " 題 ", Note: "x", DialogueLevel: &level}}
	p := build(t, runesOf(4096), r)
	want := "[INST]以下の情報に基づいて、完全な小説のアイデア（タイトル、キーワード、ジャンル、あらすじ、設定、プロット）を生成してください。 レーティング: general\n# タイトル:\n題[/INST]"
	if p.Text != want || p.Task != story.IdeaInfo || p.Counts != 1 || p.Cut != nil {
		t.Errorf("%s %q in %d counts, cut %v", p.Task, p.Text, p.Counts, p.Cut)
	}
	if p := build(t, runesOf(4096), story.Request{Mode: story.Idea, Work: story.Work{DialogueLevel: &level}}); p.Task != story.IdeaZero {
		t.Errorf("a dialogue level alone makes %s", p.Task)
	}
	r.Work.Plot = strings.Repeat("筋", 5000)
	if _, err := builder(runesOf(4096)).Build(t.Context(), r); err == nil || !strings.Contains(err.Error(), "reference") {
		t.Errorf("too large: %v", err)
	}
}

// TestAutocomplete cuts as the other modes do, and keeps line ends as they are.
func TestAutocomplete(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("彼は歩いた。\r\n", 400) + "そして"
	p := build(t, runesOf(2048), story.Request{Mode: story.Autocomplete, Body: body})
	if p.Cut == nil || p.Cut.Characters%8 != 0 || !strings.HasSuffix(p.Text, "彼は歩いた。\r\n[/INST]そして") || p.Tokens > p.Limit || p.Tokens*100 < p.Limit*98 {
		t.Errorf("%d of %d tokens, cut %+v, %q", p.Tokens, p.Limit, p.Cut, p.Text[max(0, len(p.Text)-60):])
	}
	checkBlocks(t, p)
}
