package story_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// block is that of a kind in a prompt.
func block(p story.Prompt, kind story.Kind) story.Block {
	for _, b := range p.Blocks {
		if b.Kind == kind {
			return b
		}
	}
	return story.Block{}
}

// TestWhereTheyStand: memory and summary stand before the older text, whatever the order, and before the text of a begun novel.
func TestWhereTheyStand(t *testing.T) {
	t.Parallel()
	const memory, summary = "\n【覚えておくこと】\n```\n雨の町\n```", "\n【これまでの要約】\n```\n千草は\n旅に出た。\n```"
	work := story.Work{Title: "題", Summary: " 千草は\n旅に出た。\n", Memory: "雨の町"}
	bare := story.Work{Summary: work.Summary, Memory: work.Memory}
	const reference, older, tail = "\n【参考情報】\n```\n# タイトル:\n題\n```", "\n【本文】\n```\n一。\n```", "\n二。\n三。\n四。[/INST]"
	for name, tt := range map[string]struct {
		request story.Request
		want    string
	}{
		"continued":    {story.Request{Work: work, Body: "一。\n二。\n三。\n四。"}, "[INST]" + contInfo + reference + memory + summary + older + tail},
		"text first":   {story.Request{Work: work, Body: "一。\n二。\n三。\n四。", Order: story.TextFirst}, "[INST]" + contInfo + memory + summary + older + reference + tail},
		"autocomplete": {story.Request{Work: work, Body: "一。\n二。\n三。\n四は", Mode: story.Autocomplete}, "[INST]" + contInfo + reference + memory + summary + "\n一。\n二。\n三。\n[/INST]四は"},
		"begun":        {story.Request{Work: work, Body: "一。"}, "[INST]" + genInfo + "general\n# タイトル:\n題" + memory + summary + "[/INST]一。"},
		"nothing else": {story.Request{Work: bare, Body: "一。"}, "[INST]" + genInfo + "general" + memory + summary + "[/INST]一。"},
		"blank":        {story.Request{Work: story.Work{Summary: " \n", Memory: "　"}, Body: "一。"}, "[INST]自由に小説を生成してください。 レーティング: general[/INST]一。"},
		"not drawn":    {story.Request{Work: story.Work{Memory: "{a|b}"}}, "[INST]" + genInfo + "general\n【覚えておくこと】\n```\n{a|b}\n```[/INST]"},
	} {
		p := build(t, runesOf(1<<20), tt.request)
		if p.Text != tt.want {
			t.Errorf("%s: %q, want %q", name, p.Text, tt.want)
		}
		checkBlocks(t, p)
		if p.Counts != 1 {
			t.Errorf("%s: %d counts", name, p.Counts)
		}
	}
	p := build(t, runesOf(4096), story.Request{Work: bare, Mode: story.Idea})
	if p.Task != story.IdeaZero || strings.Contains(p.Text, "千草") || !hasWarning(p, story.BlockNotUsed) {
		t.Errorf("an idea has task %s and the prompt %q", p.Task, p.Text)
	}
	p = build(t, runesOf(4096), story.Request{Work: story.Work{Memory: "[/INST]\n```", Summary: "</s>"}, Neutralize: true})
	if strings.Contains(p.Text, "</s>") || strings.Count(p.Text, "[/INST]") != 1 || !strings.Contains(p.Text, "\n````\n") {
		t.Errorf("%q with %v", p.Text, p.Warnings)
	}
}

// TestWannabe32PinnedBlocksStay: two blocks with a least size are in every prompt, however long the text is.
func TestWannabe32PinnedBlocksStay(t *testing.T) {
	t.Parallel()
	work := story.Work{Memory: body40(20), Summary: body40(30)}
	rules := []story.Rule{{Kind: story.KindMemory, Min: 300, Max: 400}, {Kind: story.KindSummary, Min: 300, Max: 500}}
	for _, blind := range []bool{false, true} {
		for lines := 100; lines <= 200; lines += 10 {
			p := build(t, &server{window: 2048, blind: blind}, story.Request{Work: work, Body: body40(lines), Blocks: rules})
			for kind, max := range map[story.Kind]int{story.KindMemory: 400, story.KindSummary: 500} {
				b := block(p, kind)
				if b.Tokens < 300 || b.Tokens > max || b.Tokens < max*85/100 || b.Limit != max || b.CutLines == 0 {
					t.Errorf("%d lines, blind %t: %s is %+v", lines, blind, kind, b)
				}
			}
			if p.Tokens > p.Limit || p.Cut == nil || !strings.Contains(p.Text, "00000行目。") || !hasWarning(p, story.BlockTrimmed) {
				t.Errorf("%d lines: %d of %d tokens, cut %+v", lines, p.Tokens, p.Limit, p.Cut)
			}
			checkBlocks(t, p)
		}
	}
}

// TestLowestPriorityGivesWay: where not all fits, blocks are trimmed in turn, each down to its least, and then the prompt is
// too large.
func TestLowestPriorityGivesWay(t *testing.T) {
	t.Parallel()
	work := story.Work{Plot: strings.Repeat("筋。", 100), Memory: body40(10), Summary: body40(10)}
	request := func(first, second int) story.Request {
		return story.Request{Work: work, Body: body40(50), MaxTokens: 10, Blocks: []story.Rule{
			{Kind: story.KindMemory, Min: 100, Priority: &first}, {Kind: story.KindSummary, Min: 100, Priority: &second},
		}}
	}
	whole := block(build(t, runesOf(1<<20), request(1, 2)), story.KindMemory).Tokens
	for _, first := range []int{1, 3} {
		low, high := story.KindMemory, story.KindSummary
		if first == 3 {
			low, high = high, low
		}
		p := build(t, runesOf(1100), request(first, 2))
		if b := block(p, high); b.Tokens != block(build(t, runesOf(1<<20), request(1, 2)), high).Tokens || b.Limit != 0 {
			t.Errorf("%s has the higher priority and is %+v", high, b)
		}
		if b := block(p, low); b.Tokens < 100 || b.Tokens >= whole || b.CutCharacters == 0 || b.Limit == 0 || p.Tokens > p.Limit {
			t.Errorf("%s is %+v; %d of %d tokens", low, b, p.Tokens, p.Limit)
		}
		tail := block(p, story.KindTail)
		if tail.Characters < 120 || hasWarning(p, story.TailCut) {
			t.Errorf("the last lines gave way before a block that could: %+v", tail)
		}
		p = build(t, runesOf(820), request(first, 2))
		if a, b := block(p, low), block(p, high); a.Tokens < 100 || a.Tokens > 108 || b.Tokens <= 108 || b.Limit == 0 {
			t.Errorf("%s is %+v and %s %+v", low, a, high, b)
		}
		_, err := builder(runesOf(480)).Build(t.Context(), request(first, 2))
		var over *llm.OverflowError
		if !errors.As(err, &over) || len(over.Blocks) < 4 {
			t.Errorf("both at their least, and yet too large: %v", err)
		}
	}
}

// TestTheLargestIsNamed in the error about a prompt that is too large.
func TestTheLargestIsNamed(t *testing.T) {
	t.Parallel()
	pinned := []story.Rule{{Kind: story.KindMemory, Trim: story.TrimNone}, {Kind: story.KindSummary, Min: 900}}
	for want, work := range map[string]story.Work{
		"memory": {Memory: body40(30), Plot: body40(10)}, "summary": {Summary: body40(30), Memory: body40(3)}, "story": {Plot: body40(20), Note: body40(20), Memory: body40(3)},
	} {
		_, err := builder(runesOf(1000)).Build(t.Context(), story.Request{Work: work, Body: body40(9), Blocks: pinned, MaxTokens: 10})
		var over *llm.OverflowError
		if !errors.As(err, &over) || over.Field != want {
			t.Errorf("%s is the largest: %+v of %v", want, over, err)
		}
	}
}

// TestRoomForTheText: a rule for the body makes the others give way, as far as the text has so much.
func TestRoomForTheText(t *testing.T) {
	t.Parallel()
	for _, lines := range []int{5, 100} {
		r := story.Request{Work: story.Work{Memory: body40(40)}, Body: body40(lines), MaxTokens: 10}
		room := func(p story.Prompt) int {
			return block(p, story.KindBody).Tokens + block(p, story.KindTail).Tokens + block(p, story.KindSuffix).Tokens
		}
		without := build(t, runesOf(2010), r)
		r.Blocks = []story.Rule{{Kind: story.KindBody, Min: 900}}
		with := build(t, runesOf(2010), r)
		if lines == 5 && with.Text != without.Text {
			t.Errorf("a short text makes a block give way: %v", with.Blocks)
		}
		if lines == 100 && (room(with) < 900 || room(without) >= 900) {
			t.Errorf("the text has %d tokens, and %d with 900 asked for it", room(without), room(with))
		}
	}
}

// TestTheTextHasItsShare: without a rule, memory and summary do not take the whole window.
func TestTheTextHasItsShare(t *testing.T) {
	t.Parallel()
	r := story.Request{Work: story.Work{Memory: body40(100), Summary: body40(100)}, Body: body40(100), MaxTokens: 10}
	for _, percent := range []int{0, 60} {
		r.TextPercent = percent
		p := build(t, runesOf(2010), r)
		text := block(p, story.KindBody).Tokens + block(p, story.KindTail).Tokens + block(p, story.KindSuffix).Tokens
		if want := 2000 * max(25, percent) / 100; text < want || text > want+100 || hasWarning(p, story.LittleRoom) {
			t.Errorf("the text has %d tokens of 2000, want %d; blocks %v", text, want, p.Blocks)
		}
	}
}

// TestLittleRoom: blocks that leave the text less than a share are told, and only then.
func TestLittleRoom(t *testing.T) {
	t.Parallel()
	r := story.Request{Work: story.Work{Plot: strings.Repeat("筋", 1500)}, Body: body40(100), MaxTokens: 10}
	for _, tt := range []struct {
		window, percent int
		want            bool
	}{{2010, 0, true}, {2010, 15, false}, {2500, 0, false}, {2500, 60, true}, {1 << 20, 100, false}} {
		r.TextPercent = tt.percent
		if p := build(t, runesOf(tt.window), r); hasWarning(p, story.LittleRoom) != tt.want {
			t.Errorf("window %d, %d %%: warnings %v", tt.window, tt.percent, p.Warnings)
		}
	}
}

// TestReferenceAndNoteGiveWayWhenAsked: names of fields without a value are left out with it.
func TestReferenceAndNoteGiveWayWhenAsked(t *testing.T) {
	t.Parallel()
	r := story.Request{
		Work: story.Work{Title: "題", Plot: body40(20), Setting: "町", Note: body40(20)}, Body: body40(20),
		Blocks: []story.Rule{{Kind: story.KindReference, Max: 70}, {Kind: story.KindNote, Max: 100, Trim: story.TrimTop}},
	}
	p := build(t, runesOf(4096), r)
	if !strings.Contains(p.Text, "\n```\n# タイトル:\n題\n\n# 設定:\n町\n```\n") || block(p, story.KindReference).Limit != 70 {
		t.Errorf("%.300q", p.Text)
	}
	if !strings.Contains(p.Text, "】\n```\n00019行目。") || block(p, story.KindNote).CutLines != 19 {
		t.Errorf("note %+v", block(p, story.KindNote))
	}
	r.Blocks[0].Max = 3
	p = build(t, runesOf(4096), r)
	last := p.Blocks[len(p.Blocks)-1]
	if strings.Contains(p.Text, "参考情報】") || last.Kind != story.KindReference || last.Tokens != 0 || last.Limit != 3 || last.CutCharacters < 800 {
		t.Errorf("a block with no room is %+v in %.100q", last, p.Text)
	}
	r.Fit = story.FitNone
	if p := build(t, runesOf(4096), r); strings.Contains(p.Text, "参考情報】") {
		t.Error("without fitting, a block is over its own bound")
	}
}

// TestBoundsHold for counters with token borders and without, and with borders that move when something is cut: no block is over its bound as the answer
// tells, none under its least for want of room, no prompt over the limit, and never more than the most counts.
func TestBoundsHold(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{"彼は歩いた。", "「待て！」\n", "雨、風", "\n", "Hello, world. ", "|漢字《かんじ》", "　", "👨‍👩‍👧"})
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(pieces, 0, rapid.SampledFrom([]int{3, 30, 200}).Draw(t, "n")).Draw(t, "text"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		rule := func(kind story.Kind) story.Rule {
			low := rapid.IntRange(0, 100).Draw(t, "min")
			return story.Rule{Kind: kind, Min: low, Max: low + rapid.IntRange(1, 200).Draw(t, "max"), Trim: rapid.SampledFrom([]story.Trim{"", story.TrimTop, story.TrimBottom}).Draw(t, "side")}
		}
		r := story.Request{
			Work: story.Work{Summary: text.Draw(t, "summary"), Memory: text.Draw(t, "memory"), Plot: text.Draw(t, "plot"), Note: "注"}, Body: text.Draw(t, "body"),
			Blocks: []story.Rule{rule(story.KindSummary), rule(story.KindMemory)}, MaxTokens: 10,
		}
		if rapid.Bool().Draw(t, "reference too") {
			r.Blocks = append(r.Blocks, rule(story.KindReference))
		}
		s := &server{window: rapid.SampledFrom([]int{150, 400, 1000, 4000}).Draw(t, "window"), blind: rapid.Bool().Draw(t, "blind")}
		s.most = rapid.SampledFrom([]int{0, 3, 7}).Draw(t, "characters of a token")
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
		if p.Tokens > p.Limit || p.Tokens != s.asks(p.Text) || p.Counts > fit.MaxCounts {
			t.Fatalf("%d of %d tokens in %d counts", p.Tokens, p.Limit, p.Counts)
		}
		for _, rule := range r.Blocks {
			b := block(p, rule.Kind)
			if b.Tokens > rule.Max || b.CutCharacters > 0 && b.Limit < rule.Max && b.Tokens < rule.Min && !s.blind {
				t.Fatalf("%+v under the rule %+v", b, rule)
			}
		}
		checkBlocks(t, p)
		checkLeft(t, r.Work.Summary, block(p, story.KindSummary), p.Text, "【これまでの要約】")
		checkLeft(t, r.Work.Memory, block(p, story.KindMemory), p.Text, "【覚えておくこと】")
	})
}

// checkLeft: what is left of a block is its beginning or its end, and the answer says how much is not.
func checkLeft(t *rapid.T, whole string, b story.Block, prompt, header string) {
	whole = strings.TrimSpace(whole)
	_, after, _ := strings.Cut(prompt, header+"\n```\n")
	left, _, _ := strings.Cut(after, "\n```")
	if !strings.HasPrefix(whole, left) && !strings.HasSuffix(whole, left) {
		t.Fatalf("%q is left of %q", left, whole)
	}
	if n := utf8.RuneCountInString(whole) - utf8.RuneCountInString(left); n != b.CutCharacters || strings.Count(whole, "\n")-strings.Count(left, "\n") != b.CutLines {
		t.Fatalf("%d characters are left out, and it says %+v", n, b)
	}
}

// TestOneMoreCount: all blocks together cost one count more.
func TestOneMoreCount(t *testing.T) {
	t.Parallel()
	body := body40(400)
	plain := build(t, runesOf(4096), story.Request{Body: body})
	p := build(t, runesOf(4096), story.Request{
		Body: body, Work: story.Work{Summary: body40(40), Memory: body40(40), Plot: body40(40)},
		Blocks: []story.Rule{{Kind: story.KindSummary, Max: 200}, {Kind: story.KindMemory, Max: 200}, {Kind: story.KindReference, Max: 200}},
	})
	if p.Counts > plain.Counts+1 {
		t.Errorf("%d counts for three trimmed blocks, %d without", p.Counts, plain.Counts)
	}
	for _, b := range p.Blocks {
		if b.Limit > 0 && (b.Tokens > 200 || b.Tokens < 160) {
			t.Errorf("%+v", b)
		}
	}
}

func TestWrongBlocks(t *testing.T) {
	t.Parallel()
	high := story.MaxPriority + 1
	var got []string
	for _, v := range (story.Request{
		TextPercent: 101, NoteDepth: num(1001), Work: story.Work{Summary: strings.Repeat("a", story.MaxText+1), Memory: "b"},
		Blocks: []story.Rule{
			{Kind: story.KindTail}, {Kind: story.KindMemory, Min: 5, Max: 4, Priority: &high}, {Kind: story.KindMemory, Min: -1, Max: -1, Trim: "left"},
			{Kind: story.KindNote, Max: 1, Trim: story.TrimNone}, {Kind: story.KindBody, Max: 1},
		},
	}).Check() {
		got = append(got, fmt.Sprintf("%s %s", v.Field, v.Description))
	}
	for i, want := range []string{
		"note_depth must be from 1 to 1000", "summary is 65537 bytes long", "text_percent must be from 1 to 100",
		"blocks[0].kind must be one of body, summary, memory, note, reference, and is", "blocks[1].max_tokens is 4, less than min_tokens", "blocks[1].priority must be from 0 to 100",
		"blocks[2].kind is the same as in blocks[1]", "blocks[2].min_tokens must be 0 or", "blocks[2].max_tokens must be 0 for", "blocks[2].trim must be one of none, top, bottom",
		"blocks[3].max_tokens is given, and trim says", "blocks[4].kind takes min_tokens alone",
	} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Fatalf("violation %d of %q, want %q", i, got, want)
		}
	}
}

// warning is the first with a code.
func warning(p story.Prompt, code story.Code) story.Warning {
	for _, w := range p.Warnings {
		if w.Code == code {
			return w
		}
	}
	return story.Warning{}
}

// TestAFieldNameTakesNoRoom: a value of which characters have room is not left out with the name over it.
func TestAFieldNameTakesNoRoom(t *testing.T) {
	t.Parallel()
	for _, blind := range []bool{false, true} {
		r := story.Request{
			Work: story.Work{Title: "題", Setting: strings.Repeat("町", 240)}, Body: body40(20), Blocks: []story.Rule{{Kind: story.KindReference, Max: 60}},
		}
		p := build(t, &server{window: 4096, blind: blind}, r)
		if b, w := block(p, story.KindReference), warning(p, story.BlockTrimmed); b.Tokens < 50 || b.Tokens > 60 || w.Field != "story.setting" {
			t.Errorf("blind %t: %+v, warning %+v in %.200q", blind, b, w, p.Text)
		}
	}
}

// TestTheTrimmedFieldIsNamed: of the story fields the one in which the cut lies.
func TestTheTrimmedFieldIsNamed(t *testing.T) {
	t.Parallel()
	work := story.Work{Title: "題", Synopsis: body40(3), Plot: body40(3), Note: body40(9), Memory: body40(9)}
	for _, tt := range []struct {
		rule story.Rule
		want string
	}{
		{story.Rule{Kind: story.KindReference, Max: 30}, "story.synopsis"},
		{story.Rule{Kind: story.KindReference, Max: 160}, "story.plot"},
		{story.Rule{Kind: story.KindReference, Max: 160, Trim: story.TrimTop}, "story.synopsis"},
		{story.Rule{Kind: story.KindReference, Max: 3}, "story"},
		{story.Rule{Kind: story.KindNote, Max: 100}, "story.note"},
		{story.Rule{Kind: story.KindMemory, Max: 100}, "memory"},
	} {
		p := build(t, runesOf(4096), story.Request{Work: work, Body: body40(20), Blocks: []story.Rule{tt.rule}})
		if w := warning(p, story.BlockTrimmed); w.Field != tt.want {
			t.Errorf("%+v: %+v, want the field %s", tt.rule, w, tt.want)
		}
	}
}

// TestWhatIsGoneCouldHaveNothing: a block that is gone for want of room is not told to have had some.
func TestWhatIsGoneCouldHaveNothing(t *testing.T) {
	t.Parallel()
	r := story.Request{Work: story.Work{Plot: strings.Repeat("筋", 500), Memory: body40(9)}, Body: body40(20), MaxTokens: 10}
	p := build(t, runesOf(720), r)
	if b, w := block(p, story.KindMemory), warning(p, story.BlockTrimmed); b.Tokens != 0 || b.Limit != 0 || !strings.Contains(w.Message, "nothing of it is left") {
		t.Errorf("%+v told as %+v", b, w)
	}
	if w := warning(p, story.LittleRoom); w.Field != "story" {
		t.Errorf("the story takes the room, and %+v is told", w)
	}
	r = story.Request{Work: story.Work{Title: "題", Memory: body40(20)}, Body: body40(20), MaxTokens: 10, Blocks: []story.Rule{{Kind: story.KindMemory, Min: 600}}}
	if w := warning(build(t, runesOf(900), r), story.LittleRoom); w.Field != "memory" {
		t.Errorf("the memory takes the room, and %+v is told", w)
	}
}

// TestTheInstructionIsNoBlockBesideTheText: nothing that could give way takes room from a text that is to have all.
func TestTheInstructionIsNoBlockBesideTheText(t *testing.T) {
	t.Parallel()
	p := build(t, runesOf(2010), story.Request{Body: body40(100), TextPercent: 100, MaxTokens: 10})
	if p.Cut == nil || hasWarning(p, story.LittleRoom) {
		t.Errorf("cut %+v, warnings %v", p.Cut, p.Warnings)
	}
}
