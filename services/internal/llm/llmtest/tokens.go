package llmtest

import (
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
)

const (
	bosPiece = "<bos>"
	bosID    = 2
	words    = 262144
)

// tokens gives the tokens of a text, with BOS where the model wants one and it was asked for.
func (o Options) tokens(text string, special bool) (pieces []string, ids []int) {
	if o.Vocabulary != nil {
		return o.real(text, tokenizer.Options{Around: special, Control: true})
	}
	if o.BOS && special {
		pieces = append(pieces, bosPiece)
	}
	pieces = append(pieces, o.Cut(text)...)
	for _, p := range pieces {
		ids = append(ids, o.number(p))
	}
	return pieces, ids
}

func (o Options) real(text string, how tokenizer.Options) (pieces []string, ids []int) {
	numbers := o.Vocabulary.Append(nil, text, how)
	for i, n := range o.Vocabulary.Lengths(text, how) {
		pieces, ids = append(pieces, text[:n]), append(ids, int(numbers[i]))
		text = text[n:]
	}
	return pieces, ids
}

// number is the id of a token: the same for the same piece of the same model.
func (o Options) number(piece string) int {
	if piece == bosPiece {
		return bosID
	}
	return servertest.Number(o.Model, piece, words-10)
}
