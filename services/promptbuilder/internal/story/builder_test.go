package story_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// TestCutIsAHead: whatever is cut, what is left of the body is its end, and the parts that may not be cut are whole.
func TestCutIsAHead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 2, 10, 200}).Draw(t, "pieces")
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"彼は歩いた。\n", "「待て！」\n", "\n", "　雨、風、", "a\r\n", "b\u2028", "👨‍👩‍👧が\u3099", "あいうえお\n\n", "end.\t",
		}), n, n).Draw(t, "body")
		r := story.Request{
			Body: strings.Join(pieces, ""), Order: rapid.SampledFrom([]story.Order{"", story.TextFirst}).Draw(t, "order"), NoteDepth: num(rapid.SampledFrom([]int{0, 1, 2, 5, 1000}).Draw(t, "depth")),
			Work: story.Work{Title: rapid.SampledFrom([]string{"", "題"}).Draw(t, "title"), Note: "注"},
		}
		whole, err := builder(runesOf(1<<20)).Build(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		s := &server{window: rapid.IntRange(260, 1500).Draw(t, "window"), blind: rapid.Bool().Draw(t, "blind")}
		p, err := builder(s).Build(t.Context(), r)
		if over := (*llm.OverflowError)(nil); errors.As(err, &over) {
			if over.Tokens <= over.Limit {
				t.Fatalf("%d tokens overflow %d", over.Tokens, over.Limit)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.Task != whole.Task || p.Tokens > p.Limit || p.Tokens != f1(p.Text) || p.Counts > fit.MaxCounts || p.Overflow {
			t.Fatalf("task %s of %s, %d tokens of %d, %d counts", p.Task, whole.Task, p.Tokens, p.Limit, p.Counts)
		}
		checkBlocks(t, p)
		checkCut(t, r.Body, whole, p)
	})
}

// checkCut: all of the body after the cut is in the prompt, in its order, and nothing else of it.
func checkCut(t *rapid.T, body string, whole, p story.Prompt) {
	kept := body
	switch {
	case p.Cut == nil && p.Text != whole.Text:
		t.Fatal("nothing is said to be cut, but the prompt is another")
	case p.Cut != nil:
		runes := []rune(body)
		if p.Cut.Characters+p.Cut.KeptCharacters != len(runes) || p.Cut.Characters <= 0 {
			t.Fatalf("cut %+v of %d characters", *p.Cut, len(runes))
		}
		kept = string(runes[p.Cut.Characters:])
	}
	_, shown, _ := strings.Cut(p.Text, "general")
	for _, mark := range []string{
		"【参考情報】\n```\n# タイトル:\n題\n```", "# タイトル:\n題", "【この先の展開についての指示・メモ】\n```\n注\n```", "【本文】\n```", "```", "[/INST]",
	} {
		shown = strings.Replace(shown, mark, "", 1)
	}
	if got, want := inked(shown), inked(kept); got != want {
		t.Fatalf("the prompt shows %q of the body, want %q", got, want)
	}
}

// inked is a text without its spaces and ends of line.
func inked(s string) string { return strings.Join(strings.FieldsFunc(s, unicode.IsSpace), "") }

// checkBlocks: tokens and characters of the blocks add up to those of the prompt.
func checkBlocks(t rapid.TB, p story.Prompt) {
	tokens, characters := 0, 0
	for _, b := range p.Blocks {
		tokens += b.Tokens
		characters += b.Characters
	}
	if tokens != p.Tokens || characters != len([]rune(p.Text)) {
		t.Fatalf("%d tokens and %d characters in the blocks, %d and %d in the prompt", tokens, characters, p.Tokens, len([]rune(p.Text)))
	}
}

func TestHundredBuildsOneDigest(t *testing.T) {
	t.Parallel()
	r := story.Request{
		Body: body40(400), Seed: 5, MaxTokens: 128,
		Work: story.Work{Title: "{朝|夜}の街", Keywords: []string{"{雨|雪}"}, Genres: []string{"怪談"}, Note: "{a|b}"},
	}
	first := build(t, runesOf(2048), r)
	for range 99 {
		if p := build(t, runesOf(2048), r); p.Digest != first.Digest || !cmp.Equal(p, first) {
			t.Fatalf("the same request gave two prompts:\n%s", cmp.Diff(first, p))
		}
	}
}

// TestLocalCounts: what is counted here is cut like anything else. That no server is asked is shown on the wire (package app).
func TestLocalCounts(t *testing.T) {
	t.Parallel()
	s := &server{window: 2048, local: true}
	if p := build(t, s, story.Request{Body: body40(400)}); s.counts == 0 || p.Tokens > p.Limit || p.Cut == nil {
		t.Errorf("%d counts, %d of %d tokens", s.counts, p.Tokens, p.Limit)
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	r := story.Request{Body: "一。\n二。\n三。\n四。\n五は", Work: story.Work{Title: "題", Note: "注"}}
	kinds := []story.Kind{story.KindInstruction, story.KindReference, story.KindBody, story.KindNote, story.KindTail, story.KindSuffix}
	for _, blind := range []bool{false, true} {
		p := build(t, &server{window: 4096, blind: blind}, r)
		checkBlocks(t, p)
		for i, b := range p.Blocks {
			if b.Kind != kinds[i] || b.Estimated != blind {
				t.Errorf("block %d is %+v, want %s", i, b, kinds[i])
			}
			if exact := b.Tokens == b.Characters || i == 0 && b.Tokens == b.Characters+1; !blind && !exact {
				t.Errorf("%s has %d tokens for %d characters; the BOS belongs to the first block", b.Kind, b.Tokens, b.Characters)
			}
		}
	}
	r.Order = story.TextFirst
	p := build(t, runesOf(4096), r)
	if got := []story.Kind{p.Blocks[1].Kind, p.Blocks[2].Kind}; !slices.Equal(got, []story.Kind{story.KindBody, story.KindReference}) {
		t.Errorf("text first gives %v", got)
	}
}

func TestUncut(t *testing.T) {
	t.Parallel()
	r := story.Request{Body: body40(400), Fit: story.FitNone}
	p := build(t, runesOf(2048), r)
	if !p.Overflow || p.Cut != nil || p.Counts != 1 || p.Tokens != f1(p.Text) || !hasWarning(p, story.OverLimit) {
		t.Errorf("overflow %t, cut %v, %d counts, warnings %v", p.Overflow, p.Cut, p.Counts, p.Warnings)
	}
	if p := build(t, runesOf(1<<20), r); p.Overflow || hasWarning(p, story.OverLimit) {
		t.Error("a prompt that fits overflows")
	}
}

// TestLongLines: cut below four lines, the program of seed 000 would turn to a new novel and drop the note
// (field/wannabe.md 1.1 D10).
func TestLongLines(t *testing.T) {
	t.Parallel()
	paragraph := strings.Repeat("彼は歩いた。", 666) + "\n"
	const note = "】\n```\n注\n```\n"
	for _, tt := range []struct {
		name, body, want string
		codes            []story.Code
	}{
		{"older text", strings.Repeat(paragraph, 6) + "一。\n二。\n三。", note + "一。\n二。\n三。[/INST]", []story.Code{story.CutAtSentence}},
		{"tail", strings.Repeat(paragraph, 6), note + "彼は歩いた。", []story.Code{story.CutAtSentence, story.TailCut}},
		{"suffix", strings.Repeat(paragraph, 3) + strings.Repeat("彼は歩いた。", 3000) + "彼", note[:len(note)-1] + "[/INST]彼は歩いた。", []story.Code{story.CutAtSentence, story.TailCut}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := build(t, runesOf(8192), story.Request{Body: tt.body, Work: story.Work{Title: "題", Note: "注"}})
			if p.Task != story.ContInfo || !strings.Contains(p.Text, tt.want) || p.Tokens*100 < p.Limit*98 {
				t.Errorf("task %s, %d of %d tokens, want %q in %.300q", p.Task, p.Tokens, p.Limit, tt.want, p.Text)
			}
			for _, code := range tt.codes {
				if !hasWarning(p, code) {
					t.Errorf("warnings %v, want %s", p.Warnings, code)
				}
			}
			checkBlocks(t, p)
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("彼は歩いた。", 6) + "\n"
	for _, tt := range []struct {
		name    string
		window  int
		request story.Request
		want    []story.Code
	}{
		{"nothing to say", 8192, story.Request{Body: long}, nil},
		{"nested", 8192, story.Request{Body: "{A|{B|C}}"}, nil},
		{"comment", 8192, story.Request{Body: "@// x\n一。"}, []story.Code{story.TextLeftOut}},
		{"idea", 8192, story.Request{Mode: story.Idea, Body: "一。", Work: story.Work{Note: "注"}}, []story.Code{story.NoteNotUsed, story.BodyNotUsed}},
		{"note", 8192, story.Request{Body: long, Work: story.Work{Note: "注"}}, []story.Code{story.NoteNotUsed}},
		{"blank lines at the end", 8192, story.Request{Body: strings.Repeat(long, 5) + "\n"}, []story.Code{story.SpaceLeftOut}},
		{"indent of a new line", 8192, story.Request{Body: strings.Repeat(long, 5) + "　"}, []story.Code{story.SpaceLeftOut}},
		{"indent of the suffix", 8192, story.Request{Body: strings.Repeat(long, 5) + "　雨が"}, []story.Code{story.SpaceLeftOut}},
		{"ends of line", 8192, story.Request{Body: strings.Repeat("一。\r\n", 5)}, []story.Code{story.LineEndsChanged}},
		{"little text", 450, story.Request{Body: strings.Repeat("あ\n", 200)}, []story.Code{story.LittleTextLeft}},
		{"much text", 8000, story.Request{Body: strings.Repeat("あ\n", 8000)}, nil},
		{"half of the text", 450, story.Request{Body: strings.Repeat("あ\n", 70)}, nil},
		{"clause", 600, story.Request{Body: strings.Repeat("ああああああああああああああああああ、", 100)}, []story.Code{story.CutAtClause, story.LittleTextLeft}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := build(t, runesOf(tt.window), tt.request)
			var got []story.Code
			for _, w := range p.Warnings {
				got = append(got, w.Code)
				if w.Field == "" || w.Message == "" {
					t.Errorf("%+v is not a sentence about a field", w)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("warnings %v, want %v (%d of %d tokens, cut %+v)", p.Warnings, tt.want, p.Tokens, p.Limit, p.Cut)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	p := build(t, runesOf(4096), story.Request{})
	if p.Limit != 4096-250 || p.MaxTokens != 250 || p.Rating != story.RatingGeneral || p.Backend.Backend != "f1" || p.Seed != 0 {
		t.Errorf("limit %d, max tokens %d, rating %s, backend %+v", p.Limit, p.MaxTokens, p.Rating, p.Backend)
	}
}

// TestATailOfBlankLines: nothing of the blanks at the end is mistaken for the last line with something in it.
func TestATailOfBlankLines(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("彼は歩いた。", 180) + strings.Repeat("「待て！」\n彼は歩いた。彼は歩いた。", 4) + "「待て！」\n\n\n\n"
	for window := 10; window < 150; window++ {
		_, err := builder(runesOf(window)).Build(t.Context(), story.Request{Mode: story.Autocomplete, Body: body, MaxTokens: 1, Work: story.Work{Summary: "雨。"}})
		if err != nil && !errors.As(err, new(*llm.OverflowError)) {
			t.Fatal(err)
		}
	}
}

// TestALineWithoutAMark: one line without a sentence or a clause uses the window too, and is cut between characters.
func TestALineWithoutAMark(t *testing.T) {
	t.Parallel()
	for _, blind := range []bool{false, true} {
		p := build(t, &server{window: 4096, blind: blind}, story.Request{Body: "一。\n二。\n三。\n" + strings.Repeat("い", 9000) + "\n終"})
		if p.Tokens*100 < p.Limit*90 || !hasWarning(p, story.CutAtCharacter) {
			t.Errorf("%d of %d tokens, warnings %v", p.Tokens, p.Limit, p.Warnings)
		}
	}
}

// TestNoNovelIsSent: however a body is made up, no count is far larger than what could fit.
func TestNoNovelIsSent(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	long := strings.Repeat("い", 400_000)
	for name, body := range map[string]string{
		"two long lines": "一。\n二。\n" + long + "\n" + long + "\n終", "line feeds": strings.Repeat("\n", 4<<20), "blanks": strings.Repeat("　", 1<<20),
		"one character": "あ" + strings.Repeat("\u3099", 1<<20), "no line end": strings.Repeat("い", 1<<20),
	} {
		for _, blind := range []bool{false, true} {
			s := &server{window: 4096, blind: blind}
			p, err := builder(s).Build(t.Context(), story.Request{Body: body})
			if err != nil && !errors.As(err, new(*llm.OverflowError)) {
				t.Errorf("%s: %v", name, err)
			}
			if s.largest > 512<<10 || err == nil && p.Tokens > p.Limit {
				t.Errorf("%s: %d bytes were sent for one count", name, s.largest)
			}
		}
	}
}

// TestACountFailsHalfWay: the error says which count it was, and stays that of the server.
func TestACountFailsHalfWay(t *testing.T) {
	t.Parallel()
	s := &server{window: 2048, blind: true, fails: 2, err: &llm.Error{Fault: llm.FaultUnreachable, Backend: "f1", Address: "a", Message: "nobody answers"}}
	_, err := builder(s).Build(t.Context(), story.Request{Body: body40(400)})
	var server *llm.Error
	if !errors.As(err, &server) || server.Fault != llm.FaultUnreachable {
		t.Fatalf("error %v", err)
	}
	if server.Tried == nil || server.Tried.Count != 2 || server.Tried.Characters < 1500 || !strings.Contains(err.Error(), "nobody answers (count 2 of this request, of ") {
		t.Errorf("error %q, tried %+v; want the second count and its size", err, server.Tried)
	}
	if s.err.(*llm.Error).Tried != nil { //nolint:errorlint // the very one that the server gave
		t.Error("the server's own error was changed, which others may share")
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	dead := errors.New("dead")
	for name, s := range map[string]*server{"window": {window: 4096, err: dead}} {
		if _, err := builder(s).Build(t.Context(), story.Request{}); !errors.Is(err, dead) {
			t.Errorf("%s: building gives %v", name, err)
		}
		if _, err := builder(s).Count(t.Context(), "", []string{"a"}); !errors.Is(err, dead) {
			t.Errorf("%s: counting gives %v", name, err)
		}
	}
	var unknown *llm.UnknownBackendError
	if _, err := builder(runesOf(10)).Build(t.Context(), story.Request{Backend: "f9"}); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "f1") {
		t.Errorf("an unknown backend gives %v", err)
	}
}

// TestBackends: each is asked, and one that is in trouble is told with the reason.
func TestBackends(t *testing.T) {
	t.Parallel()
	all := builder(runesOf(4096)).Backends(t.Context())
	if len(all) != 2 || all[0].Err != nil || all[0].Identity.Window != 4096 || !all[0].Default {
		t.Errorf("%+v", all)
	}
	var unknown *llm.UnknownBackendError
	if !errors.As(all[1].Err, &unknown) || all[1].Name != "f2" {
		t.Errorf("%+v", all[1])
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	c, err := builder(runesOf(4096)).Count(t.Context(), "f1", []string{"夜の港", "", "a"})
	if err != nil || !slices.Equal(c.Tokens, []int{4, 1, 2}) || c.Backend.Backend != "f1" {
		t.Errorf("%v by %+v, error %v", c.Tokens, c.Backend, err)
	}
	for name, tokens := range map[string]int{"none": 0, "negative": -1} {
		s := &server{window: 4096, tokens: func(string) int { return tokens }}
		var wrong *llm.Error
		if _, err := builder(s).Count(t.Context(), "", []string{"", "夜の"}); !errors.As(err, &wrong) || wrong.Fault != llm.FaultCount ||
			wrong.Backend != "f1" || name == "none" && *wrong.Tried != (llm.Tried{Count: 2, Characters: 2}) {
			t.Errorf("%s: error %v, want that of the count", name, err)
		}
	}
	if c, err := builder(&server{window: 1, tokens: func(string) int { return 0 }}).Count(t.Context(), "", []string{""}); err != nil || c.Tokens[0] != 0 {
		t.Errorf("an empty text counts what the server says, and gave %v, %v", c.Tokens, err)
	}
}

// TestGranularity: a finer cut uses more of the window; each lies at a place of its kind.
func TestGranularity(t *testing.T) {
	t.Parallel()
	body := strings.Repeat(strings.Repeat("彼は歩いた。", 12)+"\n", 60)
	used := 0
	for _, finest := range []fit.Place{fit.Line, fit.Sentence, fit.Character} {
		p := build(t, runesOf(3000), story.Request{Body: body, Finest: finest, MaxTokens: 100})
		_, kept, _ := strings.Cut(p.Text, "【本文】\n```\n")
		begins := strings.HasPrefix(kept, "彼")
		if p.Tokens > p.Limit || p.Tokens < used || finest != fit.Character && !begins {
			t.Errorf("%d: %d of %d tokens, %d before, begins with %.20q", finest, p.Tokens, p.Limit, used, kept)
		}
		used = p.Tokens
		checkBlocks(t, p)
	}
	if used != 2900 {
		t.Errorf("cut at characters, %d of 2900 tokens are used", used)
	}
}

// TestTrim keeps the last characters whatever the window has room for, counts what is left, and never splits what a
// reader sees as one.
func TestTrimSendsNoNovel(t *testing.T) {
	t.Parallel()
	s := &server{window: 4096, blind: true}
	p := build(t, s, story.Request{Body: body40(20_000), Fit: story.FitCharTrim, TrimTo: 2000})
	if p.Counts != 1 || s.largest > 10_000 || p.Cut == nil {
		t.Errorf("%d counts, the largest of %d bytes", p.Counts, s.largest)
	}
	_, err := builder(s).Build(t.Context(), story.Request{Body: body40(20_000), Fit: story.FitCharTrim})
	var over *llm.OverflowError
	if !errors.As(err, &over) || !strings.Contains(over.Wish, "of the 8000 characters that are kept") {
		t.Errorf("error %v, wish %q", err, over.Wish)
	}
}

func TestTrim(t *testing.T) {
	t.Parallel()
	r := story.Request{Body: strings.Repeat("彼は歩いた。\n", 1000), Fit: story.FitCharTrim, TrimTo: 700, MaxTokens: 100}
	p := build(t, runesOf(3000), r)
	if p.Cut == nil || p.Cut.KeptCharacters != 700 || p.Cut.Lines != 900 || p.Counts != 2 || p.Tokens > p.Limit {
		t.Errorf("cut %+v, %d tokens in %d counts", p.Cut, p.Tokens, p.Counts)
	}
	checkBlocks(t, p)
	if p := build(t, runesOf(30000), r); p.Cut != nil || p.Counts != 1 {
		t.Errorf("what fits is cut: %+v", p.Cut)
	}
	r.TrimTo = 5000
	var over *llm.OverflowError
	if _, err := builder(runesOf(3000)).Build(t.Context(), r); !errors.As(err, &over) {
		t.Errorf("what is kept is over the limit too: %v", err)
	}
	r.ReturnOver = true
	if p := build(t, runesOf(3000), r); !p.Overflow || !hasWarning(p, story.OverLimit) || p.Cut.KeptCharacters != 5000 {
		t.Errorf("overflow %t, cut %+v", p.Overflow, p.Cut)
	}
	r = story.Request{Body: strings.Repeat("あ\n", 3000) + "が\u3099👨‍👩‍👧‍👦終", Fit: story.FitCharTrim, TrimTo: 2, MaxTokens: 100}
	if p := build(t, runesOf(3000), r); p.Cut.KeptCharacters != 1 || p.Cut.FirstKept != "終" {
		t.Errorf("cut %+v", p.Cut)
	}
}

// TestReturnOver gives the smallest prompt with its sizes where the fixed part alone is too large.
func TestReturnOver(t *testing.T) {
	t.Parallel()
	r := story.Request{Body: body40(50), Work: story.Work{Plot: strings.Repeat("筋", 3000)}, ReturnOver: true, MaxTokens: 100}
	p := build(t, runesOf(2000), r)
	if !p.Overflow || p.Tokens <= p.Limit || !hasWarning(p, story.OverLimit) || p.Blocks[1].Kind != story.KindReference {
		t.Errorf("overflow %t, %d of %d tokens, blocks %v", p.Overflow, p.Tokens, p.Limit, p.Blocks)
	}
	checkBlocks(t, p)
}

// TestOverflowNamesWhatHelps: the story is named only where it has as much to lose as must go.
func TestOverflowNamesWhatHelps(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		window int
		note   string
		want   string
	}{{550, "", ""}, {550, strings.Repeat("静かに", 200), ""}, {600, strings.Repeat("静かに", 200), "story"}} {
		_, err := builder(runesOf(tt.window)).Build(t.Context(), story.Request{Work: story.Work{Note: tt.note}, Body: body40(20), MaxTokens: 500})
		over := (*llm.OverflowError)(nil)
		if !errors.As(err, &over) || over.Field != tt.want || over.MaxTokens != 500 {
			t.Errorf("window %d, a note of %d bytes: %v, field %q, want %q", tt.window, len(tt.note), err, over.Field, tt.want)
		}
	}
}

// TestOverflowOfTheTextNamesItsField: a text that is kept whatever the window has room for is mended where that is said.
func TestOverflowOfTheTextNamesItsField(t *testing.T) {
	t.Parallel()
	ruby := "|" + strings.Repeat("字", 64) + "《" + strings.Repeat("じ", 64) + "》" // never cut inside
	for name, tt := range map[string]struct {
		request story.Request
		want    string
	}{
		"trimmed":             {story.Request{Body: body40(100), Fit: story.FitCharTrim, TrimTo: 3000}, "max_main_text_chars"},
		"shorter than that":   {story.Request{Body: body40(100), Fit: story.FitCharTrim}, "max_main_text_chars"},
		"begun":               {story.Request{Body: strings.Repeat("あ", 3000), Fit: story.FitCharTrim}, "max_main_text_chars"},
		"the story is larger": {story.Request{Body: body40(100), Work: story.Work{Plot: body40(100)}, Fit: story.FitCharTrim, TrimTo: 1000}, "story"},
		"both are too large":  {story.Request{Body: body40(100), Work: story.Work{Plot: body40(100)}, Fit: story.FitCharTrim, TrimTo: 2000}, "story"},
		"nothing to cut":      {story.Request{Body: ruby, MaxTokens: 1900}, "body"},
	} {
		_, err := builder(runesOf(2000)).Build(t.Context(), tt.request)
		over := (*llm.OverflowError)(nil)
		if !errors.As(err, &over) || over.Field != tt.want || strings.Contains(over.Wish, "FIT_LINES") != (tt.want == "max_main_text_chars") ||
			strings.Contains(over.Wish, "together with max_main_text_chars") != (name == "both are too large") {
			t.Errorf("%s: %v with %+v, want the field %s", name, err, over, tt.want)
		}
	}
}
