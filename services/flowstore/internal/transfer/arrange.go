package transfer

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// maxID is the longest id of a conversation or message, in bytes; those in use are UUIDs.
const maxID = 1 << 10

// conversation is one of any format.
type conversation struct {
	kind             Format
	id, title, model string
	created, updated time.Time
	// messages in the order of the file; of siblings the first is the first branch.
	messages []message
	// current is the id of the message at which the reader stood.
	current string
	// left counts what no message holds.
	left map[string]int
}

// message is one message.
type message struct {
	id, parent string
	// role is user or assistant; empty for a message that no node holds.
	role string
	// pasted are texts that came with it and stand before it.
	pasted                     []string
	text, model, channel, note string
	at                         time.Time
}

// tree is a conversation on its way to nodes. Slices are by the position of the message; positions are -1 for none.
type tree struct {
	conversation
	// up is the nearest message above that a node holds.
	up []int
	// gap says that messages between up and this one were left out.
	gap []bool
	// answered and continued say that an assistant's, or another, message is right below; last is the last below.
	answered, continued []bool
	last                []int
	// notes are the thoughts on the way to the next answer.
	notes []string
	// length is how long the answer is up to here, prompt the user's message that it answers.
	length, prompt []int
	// index is that of the node which ends here.
	index []int
}

// arrange makes nodes of messages by the pairing rule of field/flowstore.md 2.1: a node holds a prompt and an answer; k answers to
// one prompt are k nodes beside each other; an answer without a prompt, and a prompt without an answer, are nodes with one
// text. Assistant's messages behind each other are one answer.
func arrange(c conversation) (*Bundle, error) {
	if c.id == "" && len(c.messages) > 0 {
		c.id = c.messages[0].id
	}
	order, parents, err := c.order()
	if err != nil {
		return nil, err
	}
	n := len(c.messages)
	t := &tree{
		conversation: c, up: make([]int, n), gap: make([]bool, n), answered: make([]bool, n), continued: make([]bool, n),
		last: make([]int, n), notes: make([]string, n), length: make([]int, n), prompt: make([]int, n), index: make([]int, n),
	}
	for i := range n {
		t.last[i], t.prompt[i] = -1, -1
	}
	for _, i := range order {
		t.place(i, parents[i])
	}
	if err := t.measure(order); err != nil {
		return nil, err
	}
	b := &Bundle{Left: c.left, Flow: &flow.Flow{
		ID: newID(c.kind, c.id, ""), Name: title(c, c.left), Created: c.created, Updated: c.updated, Next: 1,
	}}
	for _, i := range order {
		if t.ends(i) {
			t.add(b, i)
		}
	}
	for _, n := range b.Nodes {
		if wrong := n.Check(); len(wrong) > 0 {
			return nil, fmt.Errorf("%s of a node of it %s", wrong[0].Field, wrong[0].Message)
		}
	}
	b.Flow.Current = t.current()
	made, err := assemble(*b.Flow)
	b.Flow = &made
	return b, err
}

// order gives the messages so that each comes behind its parent, and their parents by position.
func (c conversation) order() (order, parents []int, err error) {
	if len(c.messages) > MaxMessages {
		return nil, nil, fmt.Errorf("it has %d messages; the limit is %d", len(c.messages), MaxMessages)
	}
	at := make(map[string]int, len(c.messages))
	if len(c.id) > maxID {
		return nil, nil, fmt.Errorf("its id has %d bytes; the limit is %d", len(c.id), maxID)
	}
	for i, m := range c.messages {
		if len(m.id) > maxID {
			return nil, nil, fmt.Errorf("the id of a message has %d bytes; the limit is %d", len(m.id), maxID)
		}
		if _, twice := at[m.id]; twice {
			return nil, nil, fmt.Errorf("the message %.80q stands there twice", m.id)
		}
		at[m.id] = i
	}
	parents = make([]int, len(c.messages))
	children := make([][]int, len(c.messages))
	var stack []int
	for i, m := range c.messages {
		p, known := at[m.parent]
		if !known || m.parent == "" {
			p = -1
			stack = append(stack, i)
		} else {
			children[p] = append(children[p], i)
		}
		parents[i] = p
	}
	slices.Reverse(stack)
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		order = append(order, i)
		below := children[i]
		for k := len(below) - 1; k >= 0; k-- {
			stack = append(stack, below[k])
		}
	}
	if len(order) < len(c.messages) {
		return nil, nil, errors.New("its messages go round in a circle: " + c.circle(parents, order))
	}
	return order, parents, nil
}

// circle names a message of a circle.
func (c conversation) circle(parents, reached []int) string {
	seen := make([]bool, len(parents))
	for _, i := range reached {
		seen[i] = true
	}
	i := 0
	for seen[i] {
		i++
	}
	for !seen[i] { // up from what is below a circle into it
		seen[i] = true
		i = parents[i]
	}
	return fmt.Sprintf("%.80q is above itself", c.messages[i].id)
}

// place finds out where a message stands among those that nodes hold. Its parent is placed already.
func (t *tree) place(i, parent int) {
	m := &t.messages[i]
	above, note, at := -1, "", t.created
	if parent >= 0 {
		p := t.messages[parent]
		above, note, at = parent, t.notes[parent], p.at
		if p.role == "" {
			above, t.gap[i] = t.up[parent], true
		}
	}
	if m.at.IsZero() {
		m.at = at
	}
	t.up[i], t.notes[i] = above, note
	switch m.role {
	case "":
		t.notes[i] = joined(note, m.note)
		return
	case "assistant":
		m.note, t.notes[i] = joined(note, m.note), ""
	}
	if above < 0 {
		return
	}
	t.last[above] = i
	if m.role == "assistant" {
		t.answered[above] = true
	} else {
		t.continued[above] = true
	}
}
