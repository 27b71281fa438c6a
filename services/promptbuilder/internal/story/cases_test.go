package story_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// The tests of this file are public reports about programs of this kind, by their numbers in the collection of cases.
// F1 counts 1 and one for each code point; a line has 40 code points with its end.

// body40 is n lines that tell each other apart.
func body40(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%05d行目。%s\n", i, strings.Repeat("あ", 31))
	}
	return b.String()
}

// bodyBlock is what stands in the fence of 【本文】.
func bodyBlock(t *testing.T, prompt string) string {
	t.Helper()
	_, after, opened := strings.Cut(prompt, "【本文】\n```\n")
	text, _, closed := strings.Cut(after, "\n```\n")
	if !opened || !closed {
		t.Fatalf("no 【本文】 in %.200q", prompt)
	}
	return text
}

// beforeNewText is a prompt up to the end of what its 【本文】 holds.
func beforeNewText(t *testing.T, prompt string) string {
	t.Helper()
	text := bodyBlock(t, prompt)
	return prompt[:strings.Index(prompt, text)+len(text)]
}

// turns builds a text that grows by 6 lines a turn, with the state of the turn before or without, and gives how often its cut
// moved; check sees each prompt and the one before.
func turns(t *testing.T, n, slack int, stateful bool, check func(before, p story.Prompt)) (moves int) {
	t.Helper()
	for _, blind := range []bool{false, true} {
		b, moved := builder(&server{window: 8192, blind: blind}), 0
		var before story.Prompt
		for turn := range n {
			r := story.Request{Body: body40(300 + 6*turn), Slack: &slack}
			if stateful {
				r.State = before.State
			}
			p, err := b.Build(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if p.Tokens > p.Limit || p.Slack != slack {
				t.Errorf("%d tokens of %d, slack %d", p.Tokens, p.Limit, p.Slack)
			}
			if turn > 0 && p.Cut.Lines != before.Cut.Lines {
				moved++
			} else if turn > 0 {
				check(before, p)
			}
			before = p
		}
		moves = max(moves, moved)
	}
	return moves
}

func TestWannabe1TheServerKeepsItsCache(t *testing.T) {
	t.Parallel()
	moves := turns(t, 20, 25, false, func(before, p story.Prompt) {
		if !strings.HasPrefix(p.Text, beforeNewText(t, before.Text)) {
			t.Errorf("the prompt of %d lines begins otherwise than that before", p.Cut.Lines)
		}
	})
	if moves > 3 {
		t.Errorf("the cut moved in %d of 19 turns, want at most 3", moves)
	}
}

func TestWannabe2TheCutMovesSeldom(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		slack    int
		stateful bool
		most     int
	}{{25, false, 10}, {25, true, 8}, {12, false, 20}, {12, true, 17}} {
		if moves := turns(t, 60, tt.slack, tt.stateful, func(_, _ story.Prompt) {}); moves > tt.most {
			t.Errorf("with a slack of %d %% (state: %t) the cut moved in %d of 59 turns, want at most %d", tt.slack, tt.stateful, moves, tt.most)
		}
	}
	if moves := turns(t, 10, 0, false, func(_, _ story.Prompt) {}); moves != 9 {
		t.Errorf("without slack the cut moved in %d of 9 turns", moves)
	}
}

func TestWannabe4TheHeadMayChange(t *testing.T) {
	t.Parallel()
	body := body40(400)
	for _, blind := range []bool{false, true} {
		s := &server{window: 8192, blind: blind}
		p := build(t, s, story.Request{Body: body})
		shorter := body[:0] + strings.Join(strings.SplitAfter(body, "\n")[3:], "")
		again := build(t, s, story.Request{Body: shorter, State: p.State})
		if p.State == "" || again.Text != p.Text || again.State != p.State || again.Cut.Lines != p.Cut.Lines-3 {
			t.Errorf("state %q: after an edit of the head the text is cut before %q, and was before %q", p.State, again.Cut.FirstKept, p.Cut.FirstKept)
		}
		// A text that became shorter at its end keeps its cut too.
		if shorter = strings.Join(strings.SplitAfter(body, "\n")[:350], ""); build(t, s, story.Request{Body: shorter, State: p.State}).Cut.FirstKept != p.Cut.FirstKept {
			t.Error("old text comes back when the end of the text is cut off")
		}
	}
}

func TestWannabe5TheSameBeginningInASession(t *testing.T) {
	t.Parallel()
	head := func(seed uint32, lines int) string {
		p := build(t, runesOf(8192), story.Request{Body: body40(lines), Seed: seed, Work: story.Work{Title: "{朝|夜}の街"}})
		before, _, _ := strings.Cut(p.Text, "【本文】")
		return before
	}
	heads := map[string]bool{}
	for seed := range uint32(8) {
		if head(seed, 10) != head(seed, 50) {
			t.Errorf("seed %d: the prompt begins otherwise when the text grew", seed)
		}
		heads[head(seed, 10)] = true
	}
	if len(heads) != 2 {
		t.Errorf("8 seeds give %d titles, want 2", len(heads))
	}
}

func TestWannabe7CutsAtALineStart(t *testing.T) {
	t.Parallel()
	body := body40(400)
	for _, blind := range []bool{false, true} {
		p := build(t, &server{window: 2048, blind: blind}, story.Request{Body: body, MaxTokens: 128})
		text := bodyBlock(t, p.Text)
		if !strings.Contains("\n"+body, "\n"+text+"\n") {
			t.Errorf("【本文】 begins inside a line: %.60q", text)
		}
		if p.Cut == nil || p.Cut.FirstKept != strings.SplitN(text, "\n", 2)[0] || p.Cut.Characters != p.Cut.Lines*40 {
			t.Errorf("the cut is described as %+v", p.Cut)
		}
		if p.Tokens > p.Limit || p.Tokens != f1(p.Text) || p.Tokens*100 < p.Limit*98 {
			t.Errorf("%d tokens of %d", p.Tokens, p.Limit)
		}
	}
}

func TestWannabe8CutsAtAJapaneseSentence(t *testing.T) {
	t.Parallel()
	body := string([]rune(strings.Repeat("彼は歩いた。「待て！」彼女は言った。", 200))[:3000])
	for _, blind := range []bool{false, true} {
		p := build(t, &server{window: 600, blind: blind}, story.Request{Body: body, MaxTokens: 70})
		_, kept, _ := strings.Cut(p.Text, "[/INST]")
		before := strings.TrimSuffix(body, kept)
		if before == body || !strings.HasSuffix(before, "。") && !strings.HasSuffix(before, "！」") {
			t.Errorf("the text is cut after %.30q", before[max(0, len(before)-30):])
		}
		if !hasWarning(p, story.CutAtSentence) {
			t.Errorf("warnings %v, want CUT_AT_SENTENCE", p.Warnings)
		}
	}
}

func TestWannabe10TheNoteStandsBetweenLines(t *testing.T) {
	t.Parallel()
	const body = "短い。\nこれは少し長い一行である。\n三。\n　四行目は字下げされ、そしてとても長く続いていく。\n\n六。\n「七」\n八。\n九は長い、長い、長い行。\n十。"
	const note = "\n【この先の展開についての指示・メモ】\n```\n注\n```"
	for _, tt := range []struct {
		mode         story.Mode
		end          string
		depth        int
		older, after string
	}{
		{story.Generate, "", 2, "「七」\n八。\n```", "\n九は長い、長い、長い行。\n十。[/INST]"},
		{story.Generate, "", 1, "九は長い、長い、長い行。\n```", "\n十。[/INST]"},
		{story.Generate, "", 0, "「七」\n```", "\n八。\n九は長い、長い、長い行。\n十。[/INST]"},
		{story.Generate, "", 6, "続いていく。\n```", "\n\n六。\n「七」\n八。\n九は長い、長い、長い行。\n十。[/INST]"},
		{story.Generate, "", 1000, "レーティング: general", "\n" + body + "[/INST]"},
		{story.Generate, "\nそして", 3, "「七」\n八。\n```", "\n九は長い、長い、長い行。\n十。[/INST]そして"},
		{story.Generate, "\nそして", 1, "十。\n```", "[/INST]そして"},
		{story.Autocomplete, "\nそして", 2, "九は長い、長い、長い行。\n\n```", "\n十。\n[/INST]そして"},
		{story.Autocomplete, "\n", 2, "八。\n\n```", "\n九は長い、長い、長い行。\n十。\n[/INST]"},
	} {
		p := build(t, runesOf(4096), story.Request{Body: body + tt.end, Work: story.Work{Note: "注"}, NoteDepth: num(tt.depth), Mode: tt.mode})
		older, after, _ := strings.Cut(p.Text, note)
		if !strings.HasSuffix(older, tt.older) || after != tt.after {
			t.Errorf("depth %d before %q: %q and %q stand around the note, want %q and %q", tt.depth, tt.end, older, after, tt.older, tt.after)
		}
	}
	if p, q := build(t, runesOf(4096), story.Request{Body: body, NoteDepth: num(9)}), build(t, runesOf(4096), story.Request{Body: body}); p.Text != q.Text {
		t.Error("without a note its depth changes the prompt")
	}
}

func TestWannabe11CutsBetweenCharactersAsAReaderSeesThem(t *testing.T) {
	t.Parallel()
	const unit = "👨‍👩‍👧‍👦が\u3099😀"
	for room := 90; room < 100; room++ {
		p := build(t, runesOf(room+60), story.Request{Body: strings.Repeat(unit, 200), MaxTokens: 10})
		_, kept, _ := strings.Cut(p.Text, "[/INST]")
		state, borders := -1, map[string]bool{}
		for rest := strings.Repeat(unit, 200); rest != ""; {
			borders[rest] = true
			_, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		}
		if !utf8.ValidString(kept) || !borders[kept] || !hasWarning(p, story.CutAtCharacter) {
			t.Errorf("kept %.30q with warnings %v", kept, p.Warnings)
		}
	}
}

func TestWannabe13And14And19BracesThatAreText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ setting, want string }{
		{"閉じ}括弧と{晴|晴}", "閉じ}括弧と晴"},
		{`設定は {"name":"千草"} とする`, `設定は {"name":"千草"} とする`},
		{`cloak{" with a hood"|" with a hood"}`, "cloak with a hood"},
		{`cloak{""|""}`, "cloak"},
	} {
		p := build(t, runesOf(8192), story.Request{Work: story.Work{Setting: tt.setting}})
		if want := "# 設定:\n" + tt.want + "[/INST]"; !strings.HasSuffix(p.Text, want) {
			t.Errorf("%q became %q", tt.setting, p.Text)
		}
	}
}

func TestWannabe16GroupsInGroups(t *testing.T) {
	t.Parallel()
	drawn := map[string]bool{}
	for seed := range uint32(40) {
		p := build(t, runesOf(8192), story.Request{Work: story.Work{Title: "{in a {red|blue} car|on foot}"}, Seed: seed})
		_, title, _ := strings.Cut(strings.TrimSuffix(p.Text, "[/INST]"), "# タイトル:\n")
		drawn[title] = true
	}
	if want := map[string]bool{"in a red car": true, "in a blue car": true, "on foot": true}; !maps.Equal(drawn, want) {
		t.Errorf("drawn were %v, want %v", drawn, want)
	}
	p := build(t, runesOf(8192), story.Request{Work: story.Work{Title: "{in a {red|red} car|on foot}"}, Compat: true})
	if !strings.Contains(p.Text, "car|on foot}") {
		t.Errorf("COMPAT does not break the group as the program does: %q", p.Text)
	}
}

// The case builds five times singly and five times in one batch. There is no batch here: a call builds one prompt, so ten
// calls are all the ways that there are.
func TestWannabe17OneSeedOnePick(t *testing.T) {
	t.Parallel()
	prompts := map[string]bool{}
	for range 10 {
		p := build(t, runesOf(8192), story.Request{Work: story.Work{Title: "{猫|犬|兎}"}, Seed: 1})
		prompts[p.Text] = true
		if len(p.Picks) != 1 || p.Picks[0].Field != "story.title" || !strings.Contains(p.Text, "\n"+p.Picks[0].Text+"[/INST]") {
			t.Errorf("picks %v for %q", p.Picks, p.Text)
		}
	}
	if len(prompts) != 1 {
		t.Errorf("one seed drew %d ways", len(prompts))
	}
}

func TestWannabe20ACountOfZeroNeverFits(t *testing.T) {
	t.Parallel()
	f2 := func(text string) int {
		if n := f1(text); n < 50_000 {
			return n
		}
		return 0
	}
	body := strings.Repeat(strings.Repeat("あ", 38)+"。\n", 1500)
	s := &server{window: 65_536, blind: true, tokens: f2}
	p := build(t, s, story.Request{Body: body, MaxTokens: 32_768})
	if n := f1(p.Text); n > 32_768 || p.Tokens != n {
		t.Errorf("the prompt has %d tokens and says %d, the limit is 32768", n, p.Tokens)
	}
	_, err := builder(s).Build(t.Context(), story.Request{Body: body, MaxTokens: 32_768, Fit: story.FitNone})
	if wrong := (*llm.Error)(nil); !errors.As(err, &wrong) || wrong.Fault != llm.FaultCount {
		t.Errorf("a count of 0 for 60,000 characters gives error %v, want that of a count", err)
	}
}

// The 50 ms that a call of this case takes are left out: what is right is a number of calls, which no clock changes.
func TestWannabe22FewCounts(t *testing.T) {
	t.Parallel()
	for _, blind := range []bool{false, true} {
		s := &server{window: 8192, blind: blind}
		b := builder(s)
		for i, most := range []int{5, 2} {
			s.counts = 0
			p, err := b.Build(t.Context(), story.Request{Body: body40(2500 + i)})
			if err != nil {
				t.Fatal(err)
			}
			if s.counts > most || p.Counts != s.counts {
				t.Errorf("build %d: %d counts and %d noted, want at most %d", i, s.counts, p.Counts, most)
			}
		}
	}
}

// The limits of the servers themselves are in packages ollama and llamacpp.
func TestWannabe25TheLimitToTheToken(t *testing.T) {
	t.Parallel()
	body := body40(100)
	fixed := build(t, runesOf(1<<20), story.Request{Body: body}).Tokens
	for _, blind := range []bool{false, true} {
		for _, spare := range []int{1, 0, -1} {
			p := build(t, &server{window: fixed + spare + 250, blind: blind}, story.Request{Body: body})
			if cut := p.Cut != nil; cut != (spare < 0) || p.Tokens > p.Limit {
				t.Errorf("%d tokens to spare: cut %t, %d of %d tokens", spare, cut, p.Tokens, p.Limit)
			}
		}
	}
}

func TestWannabe26NobodyCounts(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(strings.Repeat("雨の港で灯台を見上げ", 4)[:99]+"。\n", 240)
	p := build(t, &server{window: 8192, local: true, vocabulary: tokenizer.Estimate()}, story.Request{Body: body, MaxTokens: 512})
	if !hasWarning(p, story.TokensEstimated) || !p.Blocks[0].Estimated {
		t.Errorf("not told to be estimated: %v", p.Warnings)
	}
	if characters := utf8.RuneCountInString(p.Text); p.Tokens*10 < characters*9 || characters*86/100 > p.Limit {
		t.Errorf("%d characters are estimated at %d tokens, of %d", characters, p.Tokens, p.Limit)
	}
}

func TestWannabe29TheBodyGoesBeforeTheInstruction(t *testing.T) {
	t.Parallel()
	work := story.Work{Plot: strings.Repeat("筋", 3000)}
	p := build(t, runesOf(4096), story.Request{Work: work, Body: strings.Repeat("あ", 6000), MaxTokens: 256})
	if !strings.HasPrefix(p.Text, "[INST]"+genInfo+"general\n# プロット:\n"+work.Plot+"[/INST]あ") || p.Tokens != p.Limit {
		t.Errorf("%d of %d tokens: %.60q", p.Tokens, p.Limit, p.Text)
	}
	for _, body := range []string{"", "\n\n", "一。", body40(400)} {
		work.Plot = strings.Repeat("筋", 5000)
		s := runesOf(4096)
		_, err := builder(s).Build(t.Context(), story.Request{Work: work, Body: body, MaxTokens: 256})
		var over *llm.OverflowError
		if !errors.As(err, &over) {
			t.Fatalf("error %v, want an OverflowError", err)
		}
		tokens := 0
		for _, b := range over.Blocks {
			tokens += b.Tokens
		}
		if over.Limit != 3840 || over.Tokens <= 3840 || tokens != over.Tokens || over.Blocks[1].Kind != string(story.KindReference) || over.Field != "story" || over.Blocks[1].Tokens < 5000 {
			t.Errorf("limit %d, tokens %d, blocks %v", over.Limit, over.Tokens, over.Blocks)
		}
	}
}

func TestWannabe31NoRoomForAPrompt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ window, maxTokens int }{{200, 250}, {200, 0}, {250, 250}} {
		s := runesOf(tt.window)
		_, err := builder(s).Build(t.Context(), story.Request{Body: "一。", MaxTokens: tt.maxTokens})
		var budget *llm.BudgetError
		if !errors.As(err, &budget) || budget.Window != tt.window || budget.MaxTokens != 250 || s.counts != 0 {
			t.Errorf("window %d, max_tokens %d: error %v after %d counts", tt.window, tt.maxTokens, err, s.counts)
		}
		for _, number := range []int{tt.window, 250} {
			if !strings.Contains(err.Error(), fmt.Sprint(number)) {
				t.Errorf("%q does not name %d", err, number)
			}
		}
	}
}

func hasWarning(p story.Prompt, code story.Code) bool {
	for _, w := range p.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}
