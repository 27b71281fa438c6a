package fit_test

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// prompt puts a text into a prompt of the usual shape, or into three parts of it.
func prompt(text string, borders ...int) fit.Prompt {
	body, tail, suffix := text, "", ""
	if len(borders) == 2 {
		body, tail, suffix = text[:borders[0]], text[borders[0]:borders[1]], text[borders[1]:]
	}
	p := fit.Prompt{Parts: []fit.Part{
		{Open: "[INST]続けてください。", Fixed: true},
		{Open: "\n【本文】\n```\n", Text: body, Close: "\n```"},
		{Open: "\n注", Fixed: true},
		{Open: "\n", Text: tail},
		{Open: "[/INST]", Fixed: true},
		{Text: suffix},
	}}
	at := 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			p.Lines, p.Places = append(p.Lines, at), append(p.Places, at)
		}
		at += len(line)
	}
	return p
}

// parted is a prompt of one or three parts.
func parted(t *rapid.T) fit.Prompt {
	text := story().Draw(t, "text")
	p := prompt(text)
	if len(p.Lines) < 2 || rapid.Bool().Draw(t, "one part") {
		return p
	}
	a, b := rapid.SampledFrom(p.Lines).Draw(t, "tail"), rapid.SampledFrom(p.Lines).Draw(t, "suffix")
	return prompt(text, min(a, b), max(a, b))
}

// story draws texts of lines, blank lines, sentences, clauses, accents and joiners.
func story() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"彼は歩いた。", "「待て！」", "雨、風、", "\n", "\n\n", "　", "Hello, world. ", "👨‍👩‍👧‍👦が\u3099", "あいうえおかきくけこ", "e\u0301", "3.14", "……",
		"漢字《かんじ》", "｜Hello, world. 「は！」《よ、み。》", "|", "《", "\n　", "ｶﾞ",
	})
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.SampledFrom([]int{0, 1, 3, 10, 100, 300}).Draw(t, "pieces")
		return strings.Join(rapid.SliceOfN(piece, n, n).Draw(t, "text"), "")
	})
}

// rubies are bases with their readings.
var rubies = regexp.MustCompile(`([|｜][^|｜《》\n]{1,64}|[\p{Han}〆ヶヵ]{1,64})《[^|｜《》\n]{1,64}》`)

// inside says that an offset lies in a ruby, or beside a full-width space that it would part from what it belongs to. The
// slow way, a line at a time.
func inside(text string, at int) bool {
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[begin:], "\n")
	at -= begin
	for _, r := range rubies.FindAllStringIndex(line, -1) {
		if at > r[0] && at < r[1] {
			return true
		}
	}
	if at == 0 || begin+at == len(text) {
		return false
	}
	next, _, _, _ := uniseg.FirstGraphemeClusterInString(line[at:], -1)
	return strings.Trim(line[:at], "　") == "" || next == "　"
}

// places are the offsets of each kind, found the slow way.
func places(p fit.Prompt) map[fit.Place][]int {
	all := map[fit.Place][]int{fit.Whole: {0}, fit.Line: p.Lines}
	text := p.Text()
	at, state := 0, -1
	for rest := text; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		at += len(cluster)
		all[fit.Character] = append(all[fit.Character], at)
		if inside(text, at) {
			all[fit.Character] = all[fit.Character][:len(all[fit.Character])-1]
			continue
		}
		next, _ := utf8.DecodeRuneInString(text[at:])
		if strings.ContainsRune("　 」。！…、\n", next) {
			continue
		}
		before := strings.TrimRight(text[:at], "　 」")
		if strings.HasSuffix(before, "。") || strings.HasSuffix(before, "！") || strings.HasSuffix(before, "…") || strings.HasSuffix(before, "world.") {
			all[fit.Sentence] = append(all[fit.Sentence], at)
		}
		if strings.HasSuffix(before, "、") || strings.HasSuffix(before, "Hello,") {
			all[fit.Clause] = append(all[fit.Clause], at)
		}
	}
	return all
}

// TestNeverOver holds for counters that are fair, noisy or lying, with token borders and without, whatever is remembered.
func TestNeverOver(t *testing.T) {
	t.Parallel()
	memories := map[string]memory{}
	rapid.Check(t, func(t *rapid.T) {
		p := parted(t)
		limit := rapid.SampledFrom([]int{1, 20, 60, 80, 100, 150, 300, 800, 2000}).Draw(t, "limit")
		name := rapid.SampledFrom([]string{"runes", "runes by size", "dense", "dense by size", "noisy", "noisy by size", "moody", "liar"}).Draw(t, "counter")
		c := map[string]*counter{
			"runes": byPieces(runes), "runes by size": bySize(runes), "dense": byPieces(dense), "dense by size": bySize(dense),
			"noisy": byPieces(noisy), "noisy by size": bySize(noisy), "moody": moody(), "liar": {size: liar},
		}[name]
		o := fit.Options{Limit: limit, Slack: rapid.SampledFrom([]int{0, 0, 10, 50}).Draw(t, "slack")}
		if len(p.Lines) > 0 && rapid.Bool().Draw(t, "anchored") {
			o.Anchor = rapid.SampledFrom(p.Lines).Draw(t, "anchor")
		}
		if rapid.Bool().Draw(t, "remembers") {
			if memories[name] == nil {
				memories[name] = memory{}
			}
			o.Memory = memories[name]
		}
		r, err := fit.Cut(t.Context(), c, p, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Over != (r.Size.Tokens > limit) {
			t.Fatalf("%d tokens of %d, over: %t", r.Size.Tokens, limit, r.Over)
		}
		if !slices.Contains(c.asked, r.Prompt) || r.Counts != len(c.asked)+c.refused || r.Counts > fit.MaxCounts {
			t.Fatalf("%d counts noted, %d asked; the prompt was counted: %t", r.Counts, len(c.asked), slices.Contains(c.asked, r.Prompt))
		}
		if r.Prompt != p.From(r.Offset) || !slices.Contains(places(p)[r.Place], r.Offset) {
			t.Fatalf("cut at %d, which is no place of kind %d", r.Offset, r.Place)
		}
		if text := p.Text(); strings.TrimSpace(text) != "" && strings.TrimSpace(text[r.Offset:]) == "" {
			t.Fatal("nothing of the text was kept")
		}
		c.asked, c.refused = nil, 0
		again, err := fit.Cut(t.Context(), c, p, o)
		if err != nil || again.Prompt != r.Prompt && (o.Memory == nil || !r.Over && name != "moody") {
			t.Fatalf("the second run gives another prompt (%v)", err)
		}
	})
}

// TestFirstPlaceThatFits compares with the rule worked out by trying every place.
func TestFirstPlaceThatFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := parted(t)
		limit := rapid.SampledFrom([]int{60, 80, 100, 150, 300, 800, 2000}).Draw(t, "limit")
		c := byPieces(runes)
		r, err := fit.Cut(t.Context(), c, p, fit.Options{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		wantOffset, wantPlace := slowly(p, limit)
		if r.Over {
			if wantPlace != fit.Whole || wantOffset == 0 {
				t.Fatalf("over, but a cut at %d fits", wantOffset)
			}
			return
		}
		if r.Offset != wantOffset || r.Place != wantPlace {
			t.Fatalf("cut at %d (place %d), want %d (place %d)", r.Offset, r.Place, wantOffset, wantPlace)
		}
		if r.Counts > 4 {
			t.Fatalf("%d counts for an honest counter with token borders", r.Counts)
		}
	})
}

// slowly finds the cut of an honest counter by trying every place.
func slowly(p fit.Prompt, limit int) (at int, place fit.Place) {
	size := func(at int) int { return len(runes(p.From(at))) }
	if size(0) <= limit {
		return 0, fit.Whole
	}
	all, text := places(p), p.Text()
	at, place = len(text), fit.Whole
	for _, finer := range []fit.Place{fit.Line, fit.Sentence, fit.Clause, fit.Character} {
		least := map[bool]int{true: 90, false: 98}[finer == fit.Character]
		if at < len(text) && size(at)*100 >= limit*least {
			break
		}
		for _, a := range all[finer] {
			if size(a) <= limit && a < at && strings.TrimSpace(text[a:at]) != "" {
				at, place = a, finer
				break
			}
		}
	}
	return at, place
}

func TestUse(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("彼は歩いた。", 6) + "\n"
	english := strings.Repeat("He walked on and on through the rain. ", 3) + "\n"
	for name, text := range map[string]string{
		"japanese":               strings.Repeat(line, 2000),
		"english":                strings.Repeat(english, 2000),
		"english, then japanese": strings.Repeat(english, 1000) + strings.Repeat(line, 1000),
		"japanese, then english": strings.Repeat(line, 1000) + strings.Repeat(english, 1000),
		"without a line break":   strings.Repeat("彼は歩いた。「待て！」彼女は言った。", 3000),
		"a gap of blank lines":   strings.Repeat(line, 100) + strings.Repeat("\n", 700) + strings.Repeat(line, 30),
	} {
		for kind, c := range map[string]func() *counter{
			"borders": func() *counter { return byPieces(dense) },
			"sizes":   func() *counter { return bySize(dense) },
			"noise":   func() *counter { return bySize(noisy) },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				const limit = 3846
				r, err := fit.Cut(t.Context(), c(), prompt(text), fit.Options{Limit: limit})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d of %d tokens, place %d, %d counts", r.Size.Tokens, limit, r.Place, r.Counts)
				if r.Over || r.Size.Tokens*100 < limit*98 || r.Counts > 6 {
					t.Errorf("%d of %d tokens in %d counts, want 98 %% in at most 6", r.Size.Tokens, limit, r.Counts)
				}
			})
		}
	}
}

func TestBadCounts(t *testing.T) {
	t.Parallel()
	broken := errors.New("the line is dead")
	for name, c := range map[string]fit.Counter{
		"zero":             &counter{size: func(string) int { return 0 }},
		"negative":         &counter{size: func(string) int { return -1 }},
		"no pieces":        byPieces(func(string) []int { return nil }),
		"pieces too short": byPieces(func(s string) []int { return []int{len(s) - 1} }),
		"a negative piece": byPieces(func(s string) []int { return []int{-1, len(s) + 1} }),
		"enormous":         &counter{size: func(string) int { return math.MaxInt }},
	} {
		var wrong *fit.CountError
		if _, err := fit.Cut(t.Context(), c, prompt("一。\n二。"), fit.Options{Limit: 100}); !errors.As(err, &wrong) {
			t.Errorf("%s: error %v, want a CountError", name, err)
		}
	}
	if _, err := fit.Cut(t.Context(), failing{broken}, prompt("一。"), fit.Options{Limit: 100}); !errors.Is(err, broken) {
		t.Errorf("error %v, want the counter's own", err)
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	p := prompt("一。\n二。")
	size := len(runes(p.From(0)))
	for _, tt := range []struct {
		limit int
		over  bool
	}{{size, false}, {size - 1, true}} {
		r, err := fit.Measure(t.Context(), byPieces(runes), p, tt.limit, 0)
		if err != nil || r.Over != tt.over || r.Prompt != p.From(0) || r.Counts != 1 || r.Size.Tokens != size {
			t.Errorf("limit %d: %d tokens, over %t, %d counts, error %v", tt.limit, r.Size.Tokens, r.Over, r.Counts, err)
		}
	}
}
