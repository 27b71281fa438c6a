package story

import (
	"cmp"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// slack is how many tokens a trimmed block stays under its bound: the borders of tokens move a little where it is cut.
const slack = 2

// spare is how many counts are kept for a prompt with blocks that turn out to be larger than they were expected to be.
const spare = 3

// frame is how blocks stand in a prompt, beside what the request says.
type frame struct {
	// fence stands around them.
	fence string
	// kept is what is left of those that are trimmed.
	kept map[Kind]remnant
	// spent are the counts that were spent, or are kept back, of fit.MaxCounts.
	spent fit.Result
}

// remnant is what is left of a pinned block that was trimmed.
type remnant struct {
	text string
	// atEnd: it is the end of the block, and not its beginning.
	atEnd bool
	// bound is what the block could have, in tokens: in the window, and not by its max_tokens, where window says so.
	bound  int
	window bool
}

// pin is a pinned block of a layout: its text, and how many bytes stand before it.
type pin struct {
	kind   Kind
	text   string
	before int
}

// trimming is how the pinned blocks of a request are trimmed.
type trimming struct {
	rules []Rule
	// text is what is left to the text, in tokens, as far as it has as much.
	text int
	// window says that blocks are trimmed for want of room there too.
	window bool
	limit  int
	// whole are the texts of the blocks before anything was trimmed.
	whole map[Kind]string
	kept  map[Kind]remnant
	// measured are the tokens of the blocks, where the counter does not tell borders: better than their share of the prompt.
	measured map[Kind]int
}

// newTrimming is nil for a request in which no block can give way.
func newTrimming(r Request, limit int) *trimming {
	if len(r.Blocks) == 0 && r.Work.Summary == "" && r.Work.Memory == "" {
		return nil
	}
	t := &trimming{
		rules: r.rules(), window: r.cutsLines(), limit: limit,
		whole: map[Kind]string{}, kept: map[Kind]remnant{},
	}
	if t.text = limit * cmp.Or(r.TextPercent, defaultTextPercent) / 100; r.rule(KindBody).bounds() {
		t.text = r.rule(KindBody).Min
	}
	return t
}

// cutBlocks trims the pinned blocks of a request and cuts its text. Where nothing can be too large nothing more is counted
// than cut counts; else the blocks are counted once, all together with the end of the text.
func (c cutter) cutBlocks(ctx context.Context) (layout, fit.Result, *trimming, error) {
	t := newTrimming(c.request, c.limit)
	if t == nil {
		l, fitted, err := c.cut(ctx)
		return l, fitted, nil, err
	}
	l := arrange(c.request, c.frame, c.head())
	for _, p := range l.pins {
		t.whole[p.kind] = p.text
	}
	back := 0
	if at := l.least(c.reach); t.doubtful(l, at) {
		m, err := fit.Measure(ctx, c.counter, l.prompt(), c.limit, at)
		if err != nil {
			return l, m, t, err
		}
		t.trim(l, m)
		c.kept, c.spent = t.kept, m
		if m.Size.Pieces != nil {
			back = spare
		}
	}
	for ; ; back = 0 {
		c.spent.Counts += back
		l, fitted, err := c.cut(ctx)
		fitted.Counts -= back
		if err != nil || !t.wrong(l, fitted) {
			return l, fitted, t, err
		}
		if fitted.Counts > fit.MaxCounts-spare {
			fitted.Over = true // what is over a bound is never given for good
			return l, fitted, t, err
		}
		if !t.trim(l, fitted) {
			return l, fitted, t, err
		}
		c.kept, c.spent = t.kept, fitted
	}
}

// least is where the text is cut for the measure of the blocks: before its last lines, and not more than reach bytes before
// its end.
func (l layout) least(reach int) int {
	text := l.prompt().Text()
	at := max(l.tail, len(text)-reach)
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// doubtful says that a block could be over a bound. No token is less than a byte.
func (t *trimming) doubtful(l layout, at int) bool {
	for _, s := range l.stretches(at) {
		for _, rule := range t.rules {
			if rule.Kind == s.kind && rule.Max > 0 && len(s.text) > rule.Max-slack {
				return true
			}
		}
	}
	return t.window && len(l.prompt().From(at))+t.text > t.limit
}

// wrong says that a prompt that was cut is over a bound which trimming could keep.
func (t *trimming) wrong(l layout, fitted fit.Result) bool {
	if fitted.Over && t.window {
		return true
	}
	if fitted.Size.Pieces == nil {
		return false // only shares are known, and those were kept to
	}
	s := newScale(l.stretches(fitted.Offset), fitted.Size)
	for _, rule := range t.rules {
		if rule.Max > 0 && s.of(rule.Kind) > rule.Max {
			return true
		}
	}
	return false
}

// trim trims the blocks of a prompt that was counted, each to its own bound and all to the window, and says whether it
// trimmed any.
func (t *trimming) trim(l layout, m fit.Result) bool {
	s := newScale(l.stretches(m.Offset), m.Size)
	trimmed := false
	excess := m.Size.Tokens - t.limit + t.reserve(l, m, s)
	for _, rule := range t.rules {
		if n := s.of(rule.Kind); rule.Max > 0 && n > rule.Max {
			excess -= n - t.cut(l, s, rule, min(rule.Min, rule.Max-slack), remnant{bound: rule.Max})
			trimmed = true
		}
	}
	for _, rule := range t.rules {
		now := t.sizeOf(l, s, rule.Kind)
		if !t.window || excess <= 0 || rule.Kind == KindBody || rule.Trim == TrimNone || now <= rule.Min {
			continue
		}
		if left := t.cut(l, s, rule, rule.Min, remnant{bound: max(rule.Min+slack, now-excess), window: true}); left < now {
			excess -= now - left
			trimmed = true
		}
	}
	if m.Size.Pieces == nil {
		t.measured = map[Kind]int{}
		for _, p := range l.pins {
			t.measured[p.kind] = t.sizeOf(l, s, p.kind)
		}
	}
	return trimmed
}

// reserve is how many tokens more than it has in a prompt that was measured the text should have, or how many less it can
// do with: its last lines are worth half of the limit at most.
func (t *trimming) reserve(l layout, m fit.Result, s scale) int {
	has := s.of(KindBody) + s.of(KindTail) + s.of(KindSuffix)
	want := min(has, t.limit/2)
	if t.text > want {
		// How large the rest of the text is, is not known: as dense as what was measured.
		more := (len(l.skipped) + m.Offset) * max(has, 1) / max(1, len(l.prompt().Text())-m.Offset)
		want = min(t.text, max(want, has+more))
	}
	return want - has
}

// cut trims a block from its whole text to slack less than its bound and at least low, and gives how many tokens it is
// expected to have left.
func (t *trimming) cut(l layout, s scale, rule Rule, low int, left remnant) int {
	for _, p := range l.pins {
		if p.kind != rule.Kind {
			continue
		}
		left.atEnd = rule.Trim == TrimTop
		bare := p.kind == KindReference && !left.atEnd // a name of a field without a value goes too, and takes no room
		size := func(from, to int) int {
			if bare && to < len(p.text) {
				to = from + len(cutFieldName(p.text[from:to]))
			}
			return s.without(p, from, to)
		}
		from, to := fit.Trim(p.text, left.atEnd, low, left.bound-slack, size)
		if size(from, to) > rule.Max && rule.Max > 0 {
			from, to = fit.Trim(p.text, left.atEnd, 0, left.bound-slack, size)
		}
		if bare && to < len(p.text) {
			to = from + len(cutFieldName(p.text[from:to]))
		}
		left.text = p.text[from:to]
		if left.text != p.text {
			t.kept[p.kind] = left
		}
		return size(from, to)
	}
	return 0
}

// sizeOf is how many tokens a block is expected to have as it is trimmed so far.
func (t *trimming) sizeOf(l layout, s scale, kind Kind) int {
	left, trimmed := t.kept[kind]
	for _, p := range l.pins {
		switch {
		case p.kind != kind || !trimmed:
		case left.atEnd:
			return s.without(p, len(p.text)-len(left.text), len(p.text))
		default:
			return s.without(p, 0, len(left.text))
		}
	}
	return s.of(kind)
}

// cutFieldName is a trimmed text without the name of a story field at its end of which nothing is left.
func cutFieldName(text string) string {
	for {
		at := strings.LastIndexByte(text, '\n') + 1
		if last := text[at:]; !strings.HasPrefix(last, "# ") || !strings.HasSuffix(last, ":") {
			return text
		}
		text = strings.TrimRight(text[:at], "\n")
	}
}

// tell puts into the blocks of a prompt what was trimmed of them.
func (t *trimming) tell(blocks []Block) []Block {
	if t == nil {
		return blocks
	}
	for _, p := range pinnedKinds {
		left, trimmed := t.kept[p.kind]
		if !trimmed {
			continue
		}
		i := 0
		for i < len(blocks) && blocks[i].Kind != p.kind {
			i++
		}
		if i == len(blocks) {
			blocks = append(blocks, Block{Kind: p.kind})
		}
		all := t.whole[p.kind]
		if left.window && left.text == "" {
			left.bound = 0 // it is gone for want of any
		}
		blocks[i].Limit, blocks[i].CutCharacters = left.bound, characters(all)-characters(left.text)
		blocks[i].CutLines = strings.Count(all, "\n") - strings.Count(left.text, "\n")
	}
	return t.share(blocks)
}

// share gives blocks whose tokens are not known but were measured alone what was measured, at the cost of the largest other.
func (t *trimming) share(blocks []Block) []Block {
	rest := -1
	for i, b := range blocks {
		if !isPinned(b.Kind) && (rest < 0 || b.Tokens > blocks[rest].Tokens) {
			rest = i
		}
	}
	for i := range blocks {
		n, known := t.measured[blocks[i].Kind]
		if more := n - blocks[i].Tokens; known && blocks[i].Characters > 0 && blocks[rest].Tokens >= more {
			blocks[i].Tokens, blocks[rest].Tokens = n, blocks[rest].Tokens-more
		}
	}
	return blocks
}
