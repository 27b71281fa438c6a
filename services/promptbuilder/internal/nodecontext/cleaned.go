package nodecontext

import (
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// Change is what was done to a text before it was printed (field/systemprompt-rules.md 0): Part is that of the context, Node whose text
// it is, empty for the prompt, and What a sentence.
type Change struct{ Part, Node, What string }

// cleaned is a node whose texts are clean, with what was done to them.
type cleaned struct {
	Node
	prompt, answer, summary, tags string
}

// clean cleans the texts of a node once: they may have megabytes.
func clean(n Node) cleaned {
	prompt, answer := passage.Body(n.Prompt), passage.Body(n.Answer)
	c := cleaned{n, prompt.Changes(), answer.Changes(), passage.Body(n.Summary).Changes(), passage.Body(strings.Join(n.Tags, " ")).Changes()}
	c.Prompt, c.Answer, c.Summary = prompt.Text, answer.Text, passage.Line(n.Summary)
	return c
}

// changed tells what was done to the texts that are printed: those of the node, or the summary that stands for them.
func (i *item) changed() string {
	type text struct{ name, changes string }
	texts := []text{{"prompt", i.node.prompt}, {"answer", i.node.answer}}
	switch {
	case i.Form == LeftOut || i.Form == Repeated:
		return ""
	case i.Form == Line && i.Summary == Fresh:
		texts = []text{{"summary", i.node.summary}}
	}
	if i.Reference {
		texts = append(texts, text{"tags", i.node.tags})
	}
	var all []string
	for _, t := range texts {
		if t.changes != "" {
			all = append(all, t.name+": "+t.changes)
		}
	}
	return strings.Join(all, "; ")
}
