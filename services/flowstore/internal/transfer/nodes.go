package transfer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// between stands between two answers that are joined where something was left out between them, or the channel is another.
// Otherwise the second one goes on in the middle of a sentence.
const between = "\n\n"

// ends says that a node ends at a message: nothing answers it, or something other than an answer goes on from it.
func (t *tree) ends(i int) bool {
	return t.messages[i].role != "" && (!t.answered[i] || t.continued[i])
}

// measure finds out what each answer belongs to and how long it is, before any is put together: joined answers that others
// go on from stand in many nodes.
func (t *tree) measure(order []int) error {
	all := 0
	for _, i := range order {
		m, above := t.messages[i], t.up[i]
		if m.role == "" {
			continue
		}
		t.length[i] = len(m.text)
		if m.role == "assistant" && above >= 0 {
			if t.messages[above].role == "assistant" {
				t.prompt[i] = t.prompt[above]
				t.length[i] += t.length[above] + len(t.separator(i))
			} else {
				t.prompt[i] = above
			}
		}
		if t.length[i] > node.MaxText {
			return fmt.Errorf("the text of message %.80q is %d bytes long; the limit is %d bytes (%d MiB): make two messages of it in the file",
				m.id, t.length[i], node.MaxText, node.MaxText>>20)
		}
		if !t.ends(i) {
			continue
		}
		all += t.length[i] + pastedBytes(m)
		if p := t.prompt[i]; p >= 0 {
			all += len(t.messages[p].text) + pastedBytes(t.messages[p])
		}
		if all > MaxTexts {
			return fmt.Errorf("its nodes hold more than %d MiB of text", MaxTexts>>20)
		}
	}
	return nil
}

func pastedBytes(m message) (bytes int) {
	for _, text := range m.pasted {
		bytes += len(text)
	}
	return bytes
}

// separator stands before an answer that is joined to the one above it.
func (t *tree) separator(i int) string {
	if t.gap[i] || t.messages[i].channel != t.messages[t.up[i]].channel {
		return between
	}
	return ""
}

// add makes the node that ends at a message.
func (t *tree) add(b *Bundle, i int) {
	m := t.messages[i]
	n := node.Node{ID: newID(t.kind, t.id, m.id), Created: m.at, Model: t.model, Summary: node.Summary{Stale: true}}
	first := i // the first message of the exchange
	if m.role == "assistant" {
		if first = t.prompt[i]; first >= 0 {
			n.Texts = said(t.messages[first])
		}
		answer, top := t.answer(i, &n)
		n.Texts = append(n.Texts, node.Text{Role: "assistant", Content: answer})
		if first < 0 {
			first = top
		}
	} else {
		n.Texts, n.Model = said(m), ""
	}
	f := b.Flow
	t.index[i] = f.Next
	f.Members = append(f.Members, flow.Member{Index: f.Next, Node: n.ID})
	if above := t.up[first]; above >= 0 {
		f.Edges = append(f.Edges, flow.Edge{From: t.index[above], To: f.Next})
	}
	f.Next++
	b.Nodes = append(b.Nodes, n)
}

// said gives what a user said.
func said(m message) (texts []node.Text) {
	for _, text := range append(slices.Clip(m.pasted), m.text) {
		texts = append(texts, node.Text{Role: "user", Content: text})
	}
	return texts
}

// answer puts together the answer that ends at a message, gives the node its model and thoughts, and says where it begins.
func (t *tree) answer(i int, n *node.Node) (text string, top int) {
	var parts, notes []string
	model, size := "", 0
	for ; ; i = t.up[i] {
		m := t.messages[i]
		parts = append(parts, m.text)
		if m.note != "" && size <= node.MaxNote {
			notes, size = append(notes, m.note), size+len(m.note)
		}
		if model == "" {
			model = m.model
		}
		if above := t.up[i]; above < 0 || t.messages[above].role != "assistant" {
			break
		}
		parts = append(parts, t.separator(i))
	}
	slices.Reverse(parts)
	slices.Reverse(notes)
	if model != "" {
		n.Model = model
	}
	if n.Note = strings.Join(notes, between); len(n.Note) > node.MaxNote {
		n.Note = strings.ToValidUTF8(n.Note[:node.MaxNote], "")
		t.left["the end of thoughts over 64 KiB"]++
	}
	return strings.Join(parts, ""), i
}

// current gives the index of the node at which the reader stood; 0 where there is no node. From a message in the middle of a
// node, or one that no node holds, it is the last one that goes on from there; without a message, the last leaf.
func (t *tree) current() int {
	at := -1
	for i, m := range t.messages {
		if m.id == t.conversation.current {
			if at = i; m.role == "" {
				at = t.up[i]
			}
			break
		}
		if m.role != "" {
			at = i // the last one, where none is named
		}
	}
	named := slices.ContainsFunc(t.messages, func(m message) bool { return m.id == t.conversation.current })
	for at >= 0 && (!t.ends(at) || !named && t.last[at] >= 0) {
		at = t.last[at]
	}
	if at < 0 {
		return 0
	}
	return t.index[at]
}

// joined joins thoughts, until there are more than a note takes.
func joined(before, more string) string {
	switch {
	case before == "":
		return more
	case more == "" || len(before) > node.MaxNote:
		return before
	}
	return before + between + more
}
