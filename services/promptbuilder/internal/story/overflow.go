package story

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// tooLarge says what the least prompt is made of, and where the request can make room: in the field with the most tokens to
// lose, together with the others where that alone is not enough.
func (p *Prompt) tooLarge(r Request) error {
	e := &llm.OverflowError{Limit: p.Limit, Tokens: p.Tokens, MaxTokens: p.MaxTokens}
	text := "body"
	if r.Fit == FitCharTrim {
		text = "max_main_text_chars"
	}
	tokens := map[string]int{}
	for _, b := range p.Blocks {
		field, _, _ := strings.Cut(fieldOf(b.Kind), ".") // the note is one of the story's
		if field == "" {
			tokens[text] += p.ofText(b)
		}
		tokens[field] += b.Tokens
		e.Blocks = append(e.Blocks, llm.BlockSize{Kind: string(b.Kind), Tokens: b.Tokens})
	}
	delete(tokens, "") // instruction and marks
	if e.MakeRoom(tokens); e.Field == text && e.Wish == "" && r.Fit == FitCharTrim {
		e.Wish = p.trimLess(r, p.Tokens-p.Limit, tokens[text])
	}
	return e
}

// trimLess is by how much fewer characters must be kept of a text of so many tokens.
func (p *Prompt) trimLess(r Request, over, tokens int) string {
	kept := min(characters(r.Body), cmp.Or(r.TrimTo, DefaultTrim))
	return fmt.Sprintf("must be smaller, by about %d of the %d characters that are kept; or fit must be FIT_LINES, which cuts as much as the window asks for",
		(kept*over+tokens-1)/tokens, kept)
}

// ofText is how many tokens of a block are the writer's text: the suffix has the closing marks too.
func (p *Prompt) ofText(b Block) int {
	switch b.Kind {
	case KindBody, KindTail:
		return b.Tokens
	case KindSuffix:
		return b.Tokens * p.Suffix / max(1, b.Characters)
	}
	return 0
}
