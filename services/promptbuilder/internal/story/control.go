package story

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// controls finds text that a model server reads as a control token, or a model as the form of a prompt: the marks of the
// known wrappings, whatever the family of the model, and BOS, EOS and the like (cases/wannabe.md 34).
type controls struct {
	// marks are those that are looked for as they are, the longer one first.
	marks []string
	// first are the characters with which a control token begins; few texts hold any.
	first []string
}

// controls looks for the marks of a custom wrapping too: those with two characters or more beside the blanks around them,
// since one character alone is text.
func (r *Request) controls() controls {
	c := controls{marks: slices.Clone(tokenMarks), first: []string{"<", "[", "#"}}
	if r.Wrapping.Name != CustomWrapping {
		return c
	}
	for _, m := range []string{r.Wrapping.BOS, r.Wrapping.BeforeInstruction, r.Wrapping.BeforeInput, r.Wrapping.AfterInput, r.Wrapping.BeforeSuffix} {
		if m = strip(m); utf8.RuneCountInString(m) < 2 {
			continue
		}
		_, size := utf8.DecodeRuneInString(m)
		c.marks, c.first = append(c.marks, m), append(c.first, m[:size])
	}
	slices.SortFunc(c.marks, func(a, b string) int { return len(b) - len(a) })
	return c
}

// at is how many bytes of a control token a text begins with; 0 where it begins with none.
func (c controls) at(text string) int {
	for _, m := range c.marks {
		if strings.HasPrefix(text, m) {
			return len(m)
		}
	}
	var ends string // a second opening says that the first has no end; so every byte is looked at once
	switch text[0] {
	case '<':
		ends = "<>"
	case '[':
		ends = "[]"
	default:
		return 0
	}
	end := 1 + strings.IndexAny(text[1:min(len(text), maxToken)], ends)
	if end == 0 || text[end] == ends[0] || !isToken(text[:end+1]) {
		return 0
	}
	return end + 1
}

// in are where control tokens stand in a text, from and to, in bytes. They are looked for only where one may begin, since a
// novel is long and has few of these characters; each is looked for by itself, since that is many times as fast.
func (c controls) in(text string) (found [][]int) {
	next := make([]int, len(c.first)) // where each of them stands next
	for at := 0; ; {
		nearest := len(text)
		for i, first := range c.first {
			if next[i] < at || at == 0 {
				next[i] = len(text)
				if n := strings.Index(text[at:], first); n >= 0 {
					next[i] = at + n
				}
			}
			nearest = min(nearest, next[i])
		}
		if at = nearest; at == len(text) {
			return found
		}
		if size := c.at(text[at:]); size > 0 {
			found = append(found, []int{at, at + size})
			at += size
			continue
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
}

// fencesIn are where lines begin like the fence around a block, and would end it: from and to of the fence, in bytes.
func fencesIn(text string) (found [][]int) {
	if !strings.Contains(text, fence) {
		return nil
	}
	for start, line := range textline.All(text) {
		from := len(line) - len(strings.TrimLeft(line, " \t"))
		size := len(line[from:]) - len(strings.TrimLeft(line[from:], "`"))
		if size >= len(fence) {
			found = append(found, []int{start + from, start + from + size})
		}
	}
	return found
}

// guard looks for control tokens and fences in the texts of a request, and notes where they are. Where Neutralize asks for
// it, a control token gets the full-width form of its first character, so that it is text, and the fence around blocks,
// which it gives, becomes longer than any inside them.
func (r *Request) guard(d *draws) (blockFence string) {
	blockFence = fence
	always := []*string{&r.Work.Summary, &r.Work.Memory}
	fenced := taskOf(r.Mode, r.Body, r.Work).continues()
	c := r.controls()
	for _, f := range r.guarded() {
		if found := c.in(*f.text); found != nil {
			told, said := places(*f.text, found), "they stand there as a server reads them"
			if r.Neutralize {
				var left int
				*f.text, left = neutral(*f.text, found)
				said = fmt.Sprintf("%d of them have the full-width form of a character in the prompt", len(found)-left)
			}
			d.warn(ControlText, f.name, "stretches that look like control tokens: %d; %s: %s", len(found), said, told)
		}
		if !fenced && !slices.Contains(always, f.text) {
			continue
		}
		found := fencesIn(*f.text)
		if found == nil {
			continue
		}
		said := "a fence of its block ends there"
		if r.Neutralize {
			for _, at := range found {
				blockFence = max(blockFence, (*f.text)[at[0]:at[1]]+"`")
			}
			said = "the fences around blocks are longer"
		}
		d.warn(FenceInText, f.name, "lines that begin like a fence: %d; %s: %s", len(found), said, places(*f.text, found))
	}
	return blockFence
}

// maxPlaces is how many different tokens or fences a warning names.
const maxPlaces = 20

// places names each different stretch of those that were found, and where the first of each stands.
func places(text string, found [][]int) string {
	position := textline.NewPosition(text)
	named := map[string]bool{}
	var told []string
	for _, at := range found {
		stretch := text[at[0]:at[1]]
		if named[stretch] {
			continue
		}
		if named[stretch] = true; len(told) < maxPlaces {
			line, column := position.Of(at[0])
			told = append(told, fmt.Sprintf("%.60q at line %d, column %d", stretch, line, column))
		}
	}
	if more := len(named) - len(told); more > 0 {
		return fmt.Sprintf("%s, and %d more", strings.Join(told, ", "), more)
	}
	return strings.Join(told, ", ")
}

// guarded are the fields whose text reaches the prompt as it is.
func (r *Request) guarded() []field {
	all := append(r.drawn(), field{"summary", &r.Work.Summary}, field{"memory", &r.Work.Memory})
	if r.Work.DialogueLevel != nil {
		level := *r.Work.DialogueLevel
		r.Work.DialogueLevel = &level
		all = append(all, field{"story.dialogue_level", &level})
	}
	return all
}

// neutral puts the full-width form in the place of the first character of each token that has one, which is that of ASCII.
// The text has as many characters as before. left are the tokens that have none.
func neutral(text string, found [][]int) (changed string, left int) {
	var out strings.Builder
	from := 0
	for _, at := range found {
		i := at[0] + max(0, strings.IndexFunc(text[at[0]:at[1]], isWidened))
		if !isWidened(rune(text[i])) {
			left++
			continue
		}
		out.WriteString(text[from:i])
		out.WriteRune(rune(text[i]) + widen)
		from = i + 1
	}
	out.WriteString(text[from:])
	return out.String(), left
}

// widen is how far the full-width forms of Unicode (U+FF01 to U+FF5E) stand behind those of ASCII.
const widen = 0xff01 - '!'

func isWidened(r rune) bool { return r >= '!' && r <= '~' }
