package story

import (
	"slices"
	"sort"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// The marks of the format (seed 000, 2.1 and 2.6.2).
const (
	referenceHeader  = "【参考情報】"
	bodyHeader       = "【本文】"
	noteHeader       = "【この先の展開についての指示・メモ】"
	legacyNoteHeader = "【オーサーズノート】"
	fence            = "```"
	// Those of the blocks that seed 000 does not have, in words that it does not use for another.
	summaryHeader = "【これまでの要約】"
	memoryHeader  = "【覚えておくこと】"
	// tailLines stand bare at the end, blank ones among them counted.
	tailLines = 3
)

// part is a stretch of the prompt. It begins with the end of line that parts it from what stands before.
type part struct {
	kind Kind
	fit.Part
}

func fixed(kind Kind, text string) part { return part{kind, fit.Part{Text: text, Fixed: true}} }

// layout is a prompt before it is fitted. What may lose its head are the older text, the tail and the suffix.
type layout struct {
	task  Task
	parts []part
	frame
	// pins are the blocks that are not cut with the text.
	pins []pin
	// closing ends the input and begins what the model continues.
	closing string
	// body are the lines of the body, shown those of them that are in the prompt, starts where in the text that may be
	// cut these begin, and tail where in it the tail does.
	body, shown []line
	starts      []int
	tail        int
	// skipped is the head of the body that was not looked at: none of it has a place in the prompt.
	skipped string
	// spaceLost says that blank lines or spaces at the end of the body are not in the prompt.
	spaceLost bool
}

// arrange lays a request out whose draws are made, with its blocks as the frame has them. Of the body the first bytes, as many as
// skip says, are not looked at but for the task.
func arrange(r Request, f frame, skip int) layout {
	if r.Mode == Idea {
		r.Work.DialogueLevel = nil // no part of an idea (seed 000, 2.4)
		r.Work.Summary, r.Work.Memory = "", ""
	}
	l := layout{task: taskOf(r.Mode, r.Body, r.Work), frame: f}
	l.skipped, r.Body = r.Body[:skip], r.Body[skip:]
	lines := splitLines(r.Body)
	l.body = lines
	w := r.Wrapping.resolve()
	l.closing = w.AfterInput + w.BeforeSuffix
	l.add(fixed(KindInstruction, w.BOS+w.BeforeInstruction+l.task.instruction(r.Work.Rating)))
	// Each block of the input brings the line feed before it, and so the last one of BeforeInput.
	between := fixed(KindInstruction, strings.TrimSuffix(w.BeforeInput, "\n"))
	if l.task.continues() && r.Mode == Autocomplete {
		l.add(between)
		l.toComplete(r)
		return l
	}
	if l.task.continues() {
		l.add(between)
		l.toContinue(r)
		return l
	}
	blocks := append([]part{l.pinned(KindReference, "\n", r.Work.metadata(), "")}, l.remembered(r)...)
	if slices.ContainsFunc(blocks, func(p part) bool { return p.Text != "" }) {
		l.add(between)
	}
	for _, block := range blocks {
		l.add(block)
	}
	l.add(fixed(KindSuffix, l.closing))
	if r.Mode == Idea {
		return l
	}
	l.add(part{KindSuffix, fit.Part{Text: r.Body}})
	l.shown = lines
	for _, line := range lines {
		l.starts = append(l.starts, line.start)
	}
	return l
}

// toContinue lays the blocks, the tail and the suffix of a text that is continued (seed 000, 2.6.2).
func (l *layout) toContinue(r Request) {
	s := split(r.Body, l.body, r.tailLines, r.Wrapping.Name == RawWrapping && !r.Compat)
	l.spaceLost = s.spaceLost
	older, tail := l.body[:s.tail], l.body[s.tail:s.end]
	metadata := l.block(KindReference, referenceHeader, r.Work.metadata())
	l.before(r, metadata)
	l.show(KindBody, fit.Part{Open: "\n" + bodyHeader + "\n" + l.fence + "\n", Text: join(older), Close: "\n" + l.fence}, older)
	if r.Order == TextFirst {
		l.add(metadata)
	}
	l.add(l.block(KindNote, r.noteHeading(), strip(r.Work.Note)))
	l.tail = len(join(older))
	l.show(KindTail, fit.Part{Open: "\n", Text: join(tail)}, tail)
	l.add(fixed(KindSuffix, l.closing))
	l.show(KindSuffix, fit.Part{Text: s.suffix.text}, []line{s.suffix})
}

// toComplete lays a text whose last line goes on right where it ends: nothing is stripped, and lines keep their ends
// (field/wannabe.md 1.4; the reference vectors keep the order of the blocks here too).
func (l *layout) toComplete(r Request) {
	border := strings.LastIndexByte(r.Body, '\n') + 1
	n := sort.Search(len(l.body), func(i int) bool { return l.body[i].start >= border })
	tail := max(0, n-r.tailLines(border < len(r.Body)))
	tailAt := border
	if tail < n {
		tailAt = l.body[tail].start
	}
	metadata := l.block(KindReference, referenceHeader, r.Work.metadata())
	l.before(r, metadata)
	l.keep(KindBody, fit.Part{Open: "\n" + bodyHeader + "\n" + l.fence + "\n", Text: r.Body[:tailAt], Close: "\n" + l.fence}, l.body[:tail], 0)
	if r.Order == TextFirst {
		l.add(metadata)
	}
	l.add(l.block(KindNote, r.noteHeading(), strip(r.Work.Note)))
	l.tail = tailAt
	text, left := r.Body[tailAt:border], 0
	if r.Wrapping.Name == RawWrapping && text != "" {
		text, left = strings.TrimSuffix(text, "\n"), 1 // what closes the input is this line feed
	}
	l.keep(KindTail, fit.Part{Open: "\n", Text: text}, l.body[tail:n], 0)
	l.add(fixed(KindSuffix, l.closing))
	l.keep(KindSuffix, fit.Part{Text: r.Body[border:]}, l.body[n:], left)
}

// keep adds a part whose text may be cut and stands as it does in the body, so many bytes of which are left out before it.
func (l *layout) keep(kind Kind, p fit.Part, lines []line, left int) {
	l.add(part{kind, p})
	for _, line := range lines {
		l.shown, l.starts = append(l.shown, line), append(l.starts, line.start-left)
	}
}

// tailLines are how many lines stand bare at the end, before a suffix or without one.
func (r Request) tailLines(suffix bool) int {
	switch depth := r.noteDepth(); {
	case depth == 0 || strip(r.Work.Note) == "":
		return tailLines
	case suffix:
		return depth - 1
	default:
		return depth
	}
}

// noteHeading is what stands over the author's note.
func (r Request) noteHeading() string {
	if r.NoteHeader == NoteHeaderLegacy {
		return legacyNoteHeader
	}
	return noteHeader
}

// before adds the blocks that stand before the older text. Memory and summary are always among them, since they change more
// seldom than the text grows, and a server keeps what it has read up to the first change.
func (l *layout) before(r Request, metadata part) {
	if r.Order != TextFirst {
		l.add(metadata)
	}
	for _, block := range l.remembered(r) {
		l.add(block)
	}
}

// remembered are the blocks of memory and summary.
func (l *layout) remembered(r Request) []part {
	return []part{
		l.block(KindMemory, memoryHeader, strip(r.Work.Memory)), l.block(KindSummary, summaryHeader, strip(r.Work.Summary)),
	}
}

// block fences a text under its header; nothing for nothing.
func (l *layout) block(kind Kind, header, text string) part {
	return l.pinned(kind, "\n"+header+"\n"+l.fence+"\n", text, "\n"+l.fence)
}

// pinned is a block that is not cut with the text, or what is kept of it; nothing for nothing.
func (l *layout) pinned(kind Kind, before, text, after string) part {
	if left, trimmed := l.kept[kind]; trimmed {
		text = left.text
	}
	if text == "" {
		return part{}
	}
	l.pins = append(l.pins, pin{kind, text, len(before)})
	return fixed(kind, before+text+after)
}

// add puts a part behind the others, unless it is nothing.
func (l *layout) add(p part) {
	if p.Text != "" {
		l.parts = append(l.parts, p)
	}
}

// show adds a part whose text may be cut, and which is these lines under each other.
func (l *layout) show(kind Kind, p fit.Part, lines []line) {
	begin := 0
	for _, other := range l.parts {
		if !other.Fixed {
			begin += len(other.Text)
		}
	}
	l.add(part{kind, p})
	for _, line := range lines {
		l.shown, l.starts = append(l.shown, line), append(l.starts, begin)
		begin += len(line.text) + 1
	}
}

// prompt is the layout as package fit sees it. A cut may also lie before the tail where that begins with blank lines.
func (l layout) prompt() fit.Prompt {
	var p fit.Prompt
	for _, part := range l.parts {
		p.Parts = append(p.Parts, part.Part)
	}
	for i, line := range l.shown {
		if line.content() || l.starts[i] == l.tail {
			p.Lines = append(p.Lines, l.starts[i])
			p.Places = append(p.Places, len(l.skipped)+line.start)
		}
	}
	return p
}

// inBody is where in the body a cut of the text lies.
func (l layout) inBody(offset int) int {
	i := sort.SearchInts(l.starts, offset+1) - 1
	return l.shown[i].start + offset - l.starts[i]
}

// inText is where in the text that may be cut a place of the body lies, or what of the prompt comes next after it.
func (l layout) inText(at int) int {
	i := sort.Search(len(l.shown), func(i int) bool { return l.shown[i].start > at }) - 1
	switch {
	case i < 0:
		return 0
	case at < l.shown[i].start+len(l.shown[i].text):
		return l.starts[i] + at - l.shown[i].start
	case i+1 < len(l.starts):
		return l.starts[i+1]
	}
	return l.starts[i]
}

// stretch is what of the prompt belongs to one block.
type stretch struct {
	kind Kind
	text string
}

// stretches are the blocks of the prompt with the text cut at an offset.
func (l layout) stretches(offset int) []stretch {
	var all []stretch
	for _, p := range l.parts {
		text := fit.Prompt{Parts: []fit.Part{p.Part}}.From(offset)
		if !p.Fixed {
			offset = max(0, offset-len(p.Text))
		}
		if n := len(all); n > 0 && all[n-1].kind == p.kind {
			all[n-1].text += text
			continue
		}
		if text != "" {
			all = append(all, stretch{p.kind, text})
		}
	}
	return all
}

// begun is how many characters of the answer stand at the end of the prompt already.
func (l layout) begun(all []stretch) int {
	last := all[len(all)-1]
	if last.kind != KindSuffix {
		return 0
	}
	return characters(strings.TrimPrefix(last.text, l.closing))
}

// cutOf describes a cut of the body at an offset of what was looked at.
func (l layout) cutOf(body string, at int) *Cut {
	i := sort.Search(len(l.body), func(i int) bool { return l.body[i].start > at }) - 1
	border := len(l.skipped) + at
	lines, skipped := countLines(l.skipped)
	c := &Cut{
		Lines: lines + i, Characters: skipped + characters(body[len(l.skipped):border]), KeptCharacters: characters(body[border:]),
	}
	first := line{l.body[i].text[at-l.body[i].start:], at}
	for !first.content() && i < len(l.body)-1 {
		i++
		first = l.body[i]
	}
	c.FirstKept = head(first.text, firstKept)
	return c
}

// firstKept is how many characters of a line Cut.FirstKept shows.
const firstKept = 80

// head is at most the first n characters of a text.
func head(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
