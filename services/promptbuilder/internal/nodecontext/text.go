package nodecontext

import (
	"strconv"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// Part is a part of the text, in bytes of it: flow, refs or current.
type Part struct {
	ID         string
	Start, End int
}

// block is a numbered part.
type block struct {
	id, heading string
	lines       []string
}

// blocks are the parts that have anything to say, in the order of the layout.
func (d *Draft) blocks() []block {
	flow, refs, current := block{"flow", "context.flow", d.leftOut()}, block{id: "refs", heading: "context.refs"}, block{id: "current", heading: "context.current"}
	for _, i := range d.lines {
		flow.lines = append(flow.lines, d.printed(i))
	}
	for _, i := range d.parents {
		flow.lines = append(flow.lines, d.printed(i))
	}
	for _, i := range d.refs {
		refs.lines = append(refs.lines, d.printed(i))
	}
	if d.current != "" {
		current.lines = []string{d.current}
	}
	if d.request.Seed {
		return []block{current, flow, refs}
	}
	return []block{flow, refs, current}
}

// printed is a node as it stands in the text.
func (d *Draft) printed(i *item) string {
	if i.text[i.Form] == "" {
		i.text[i.Form] = d.print(i)
	}
	return i.text[i.Form]
}

func (d *Draft) print(i *item) string {
	switch {
	case i.Reference:
		return d.refLine(i)
	case i.Form == Line && d.request.Seed:
		return d.line(i.node, i.Summary)
	case i.Form == Line:
		return d.idLine(i)
	case d.request.Seed:
		return d.full(i)
	}
	return passage.Frame("node", `id="`+passage.Attr(i.TextID)+`"`, d.full(i))
}

// hinted says that the model can ask for a node: one is named by its id.
func (d *Draft) hinted() bool {
	if d.request.NoDetails {
		return false
	}
	if d.request.Seed {
		return len(d.refs) > 0
	}
	return len(d.lines)+len(d.parents)+len(d.refs) > 0
}

// Text makes the text as far as it was trimmed, with its parts. Without any part it is empty.
func (d *Draft) Text() (text string, parts []Part) {
	hint := ""
	if d.hinted() {
		hint = d.texts.Text("context.hint")
	}
	var b strings.Builder
	write := func(between, text string) {
		if b.Len() > 0 && text != "" {
			b.WriteString(between)
		}
		b.WriteString(text)
	}
	n := 0
	for _, block := range d.blocks() {
		if len(block.lines) == 0 {
			continue
		}
		if n == 0 {
			write("", d.texts.Text("context.head"))
			if !d.request.Seed {
				write("\n", hint)
			}
		}
		n++
		text := strconv.Itoa(n) + ". " + d.texts.Text(block.heading) + "\n" + strings.Join(block.lines, "\n")
		write("\n\n", text)
		parts = append(parts, Part{block.id, b.Len() - len(text), b.Len()})
	}
	if n > 0 && d.request.Seed {
		write("\n\n", hint)
	}
	return b.String(), parts
}
