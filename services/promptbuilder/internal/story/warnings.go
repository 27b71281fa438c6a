package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// Code is a stable word for what a warning is about; docs/story-prompt.md lists them.
type Code string

// The codes.
const (
	TextLeftOut     Code = "TEXT_LEFT_OUT"
	MalformedGroup  Code = "MALFORMED_GROUP"
	PickNotTaken    Code = "PICK_NOT_TAKEN"
	ControlText     Code = "CONTROL_TEXT"
	FenceInText     Code = "FENCE_IN_TEXT"
	NoteNotUsed     Code = "NOTE_NOT_USED"
	BodyNotUsed     Code = "BODY_NOT_USED"
	SpaceLeftOut    Code = "SPACE_LEFT_OUT"
	LineEndsChanged Code = "LINE_ENDS_CHANGED"
	CutAtSentence   Code = "CUT_AT_SENTENCE"
	CutAtClause     Code = "CUT_AT_CLAUSE"
	CutAtCharacter  Code = "CUT_AT_CHARACTER"
	TailCut         Code = "TAIL_CUT"
	LittleTextLeft  Code = "LITTLE_TEXT_LEFT"
	TokensEstimated Code = "TOKENS_ESTIMATED"
	OverLimit       Code = "OVER_LIMIT"
	BlockTrimmed    Code = "BLOCK_TRIMMED"
	BlockNotUsed    Code = "BLOCK_NOT_USED"
	LittleRoom      Code = "LITTLE_ROOM_FOR_TEXT"
	FieldNotUsed    Code = "FIELD_NOT_USED"
	StateNotFound   Code = "STATE_NOT_FOUND"
	BOSTwice        Code = "BOS_TWICE"
)

// Warning is something that a careful reader should know.
type Warning struct {
	Code Code
	// Field of the request that it concerns.
	Field string
	// Message is one sentence for people.
	Message string
}

// Little text is left when less than half of it is kept, and that is less than 2,500 characters (field/wannabe.md 1.5).
const (
	littlePercent    = 50
	littleCharacters = 2500
)

// warnings are what the prompt does not show: kept is what of the body stands after the cut.
func (l layout) warnings(r Request, p Prompt, f fit.Result, kept string) []Warning {
	all := slices.Clone(r.Unused)
	add := func(is bool, code Code, field, format string, args ...any) {
		if is {
			all = append(all, Warning{code, field, fmt.Sprintf(format, args...)})
		}
	}
	continues := l.task.continues()
	add(!continues && strip(r.Work.Note) != "", NoteNotUsed, "story.note",
		"the author's note is not in the prompt: it is used when a body of %d lines or more that are not blank is continued", continueFrom)
	add(r.Mode == Idea && strip(r.Body) != "", BodyNotUsed, "body", "the body is not in the prompt of an idea")
	add(r.Mode == Idea && strip(r.Work.Summary) != "", BlockNotUsed, "summary", "the summary is not in the prompt of an idea")
	add(r.Mode == Idea && strip(r.Work.Memory) != "", BlockNotUsed, "memory", "the memory is not in the prompt of an idea")
	add(l.spaceLost, SpaceLeftOut, "body", "blank lines or spaces at the end of the body are not in the prompt")
	add(continues && strings.ContainsAny(kept, textline.Ends[len("\n"):]), LineEndsChanged, "body",
		"ends of line other than LF are LF in the prompt")
	add(r.State != "" && r.Mode != Idea && r.cutsLines() && l.lineOf(r.State) < 0, StateNotFound, "state",
		"the line that it names is not in the text any more, or stands too far from its end for the window; the cut is a new one")
	pieces := f.Size.Pieces
	add(p.Wrapping.BOS != "" && len(pieces) > 0 && pieces[0] == 0, BOSTwice, "wrapping.bos",
		"the model server puts a token in front of the prompt by itself, so that BOS stands there twice; leave wrapping.bos out")
	add(f.Place == fit.Sentence, CutAtSentence, "body", "the text is cut inside a line, at the start of a sentence")
	add(f.Place == fit.Clause, CutAtClause, "body", "the text is cut inside a sentence, at the start of a clause")
	add(f.Place == fit.Character && r.cutsLines(), CutAtCharacter, "body", "the text is cut in the middle of a clause")
	add(f.Place == fit.Character && r.Fit == FitCharTrim, CutAtCharacter, "body", "the text is cut inside a line, where max_main_text_chars says")
	add(continues && f.Offset > l.tail && r.cutsLines(), TailCut, "body", "the last lines alone are larger than the window leaves: their head is cut too")
	add(continues && f.Offset > l.tail && r.Fit == FitCharTrim, TailCut, "body", "max_main_text_chars is less than the last lines have: their head is cut too")
	if c := p.Cut; c != nil {
		add(c.KeptCharacters < littleCharacters && c.KeptCharacters*100 < (c.KeptCharacters+c.Characters)*littlePercent, LittleTextLeft, "body",
			"only %d of %d characters of the body are left", c.KeptCharacters, c.KeptCharacters+c.Characters)
	}
	add(p.Overflow, OverLimit, "fit", "the prompt has %d tokens and the limit is %d; it is given as it is, as asked", p.Tokens, p.Limit)
	return all
}

// defaultTextPercent is the share of the limit, in percent, that the text should have to itself.
const defaultTextPercent = 25

// warnings say which blocks were trimmed and why, and that the blocks leave little to the text.
func (t *trimming) warnings(r Request, p Prompt) []Warning {
	var all []Warning
	pinned, largest, instruction, short := 0, Block{}, 0, p.Cut != nil
	for _, b := range p.Blocks {
		switch {
		case b.Kind == KindInstruction:
			instruction += b.Tokens
		case isPinned(b.Kind):
			pinned += b.Tokens
			largest = slices.MaxFunc([]Block{b, largest}, func(a, b Block) int { return a.Tokens - b.Tokens })
		}
		if b.CutCharacters > 0 {
			short = true
			all = append(all, Warning{BlockTrimmed, t.fieldOfCut(r, b.Kind), t.trimmed(b)})
		}
	}
	// Nobody can give the text what the instruction has.
	room, want := p.Limit-instruction-pinned, min(p.Limit*cmp.Or(r.TextPercent, defaultTextPercent)/100, p.Limit-instruction)
	if short && pinned > 0 && room < want && !p.Overflow {
		all = append(all, Warning{LittleRoom, fieldOf(largest.Kind), fmt.Sprintf(
			"the blocks beside the text leave it %d of %d tokens; text_percent asks for %d", max(0, room), p.Limit, want)})
	}
	return all
}

// trimmed says how much of a block is left, and why no more is.
func (t *trimming) trimmed(b Block) string {
	out := fmt.Sprintf("%d characters of the block %s are not in the prompt", b.CutCharacters, b.Kind)
	gone := t.kept[b.Kind].text == ""
	switch window := t.kept[b.Kind].window; {
	case gone && window:
		return out + ": nothing of it is left, so that the rest fits the window"
	case gone:
		return fmt.Sprintf("%s: its max_tokens, %d, has no room for a character of it", out, b.Limit)
	case window:
		return fmt.Sprintf("%s: it could have %d tokens, so that the blocks fit the window, and has %d", out, b.Limit, b.Tokens)
	}
	return fmt.Sprintf("%s: it could have %d tokens, as its max_tokens says, and has %d", out, b.Limit, b.Tokens)
}

// fieldOfCut is the field of the request in which the cut of a block lies.
func (t *trimming) fieldOfCut(r Request, kind Kind) string {
	left := t.kept[kind]
	if kind != KindReference || left.text == "" {
		return fieldOf(kind)
	}
	whole := t.whole[kind]
	if left.atEnd {
		return r.Work.fieldAt(len(whole) - len(left.text) - 1)
	}
	return r.Work.fieldAt(len(whole) - len(strings.TrimLeft(whole[len(left.text):], "\n")))
}
