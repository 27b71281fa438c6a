package llmtest

import "github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"

const (
	bosPiece = "<bos>"
	bosID    = 2
	words    = 262144
)

// tokens gives the tokens of a text, with BOS where the model wants one and it was asked for.
func (o Options) tokens(text string, special bool) []string {
	pieces := o.Cut(text)
	if o.BOS && special {
		pieces = append([]string{bosPiece}, pieces...)
	}
	return pieces
}

// number is the id of a token: the same for the same piece of the same model.
func (o Options) number(piece string) int {
	if piece == bosPiece {
		return bosID
	}
	return servertest.Number(o.Model, piece, words-10)
}
