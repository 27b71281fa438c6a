package node

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// FinishSplit is the finish reason of an answer of which SplitNode kept the first part.
const FinishSplit = "split"

// NothingCutError says that the first part of a node would be all of it.
type NothingCutError struct{ Characters int }

func (e *NothingCutError) Error() string {
	return fmt.Sprintf("nothing stands behind character %d of the last text; the first part would be the whole node", e.Characters)
}

// FirstPart gives a new node that holds the texts before one, and of that the first characters (code points). Figures of the text
// that is cut are not known any more, and neither are those of the answer; what is said of the whole, a score, a note, a
// summary, stays behind, and so does the Generation where no answer is left. *OutsideError, *NothingCutError.
func (n Node) FirstPart(text, characters int) (Node, error) {
	if text < 0 || text >= len(n.Texts) {
		return Node{}, &OutsideError{At: text, Most: len(n.Texts) - 1}
	}
	cut := n.Texts[text]
	switch most := utf8.RuneCountInString(cut.Content); {
	case characters < 0 || characters > most:
		return Node{}, &OutsideError{InText: true, At: characters, Most: most}
	case characters == most && text == len(n.Texts)-1:
		return Node{}, &NothingCutError{most}
	case characters < most:
		cut = Text{Role: cut.Role, Content: cut.Content[:bytesOf(cut.Content, characters)]}
	}
	part := Node{Model: n.Model, Tags: n.Tags, Summary: Summary{Stale: true}}
	part.Texts = append(slices.Clone(n.Texts[:text]), cut)
	if n.Generation != nil && slices.ContainsFunc(part.Texts, func(t Text) bool { return t.Role == "assistant" }) {
		g := *n.Generation
		g.Finish, g.Fault, g.Error, g.AnswerTokens, g.AnswerSeconds = FinishSplit, "", "", 0, 0
		// It is no answer to the request that made the whole.
		g.Branch, g.RequestDigest = "", ""
		part.Generation = &g
	}
	return part, nil
}
