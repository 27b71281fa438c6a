package tokenizer

import (
	"slices"
	"strings"
)

// addedToken is a token that is cut out of a text before all else.
type addedToken struct {
	text string
	id   int32
	// control tokens are found only where Options.Control says so.
	control bool
	// left and right: the blanks beside it belong to it.
	left, right bool
}

// added finds added tokens: at a place the longest one, of places the first.
type added struct {
	list []addedToken
	// starts are the tokens by their first byte, longest first.
	starts [256][]addedToken
}

func (a *added) prepare() {
	slices.SortFunc(a.list, func(x, y addedToken) int {
		if len(x.text) != len(y.text) {
			return len(y.text) - len(x.text)
		}
		return strings.Compare(x.text, y.text)
	})
	for _, t := range a.list {
		a.starts[t.text[0]] = append(a.starts[t.text[0]], t)
	}
}

// match gives the added token that text begins with; nil where there is none.
func (a *added) match(text string, control bool) *addedToken {
	list := a.starts[text[0]]
	for i := range list {
		if (control || !list[i].control) && strings.HasPrefix(text, list[i].text) {
			return &list[i]
		}
	}
	return nil
}

// next gives the first place from at on where an added token may begin, len(text) where there is none.
func (a *added) next(text string, at int) int {
	for at < len(text) && a.starts[text[at]] == nil {
		at++
	}
	return at
}
