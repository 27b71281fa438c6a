package transfer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// claudeConversation is a conversation of Claude's own export, or as browsers take it from its server: then with a model and
// the place of the reader (field/flowstore.md 2.1).
type claudeConversation struct {
	UUID      string          `json:"uuid"`
	Name      string          `json:"name"`
	Model     string          `json:"model"`
	CreatedAt moment          `json:"created_at"`
	UpdatedAt moment          `json:"updated_at"`
	Leaf      string          `json:"current_leaf_message_uuid"`
	Messages  []claudeMessage `json:"chat_messages"`
}

type claudeMessage struct {
	UUID        string        `json:"uuid"`
	Parent      *string       `json:"parent_message_uuid"`
	Sender      string        `json:"sender"`
	Text        string        `json:"text"`
	Content     []claudeBlock `json:"content"`
	CreatedAt   moment        `json:"created_at"`
	Attachments []struct {
		Extracted string `json:"extracted_content"`
	} `json:"attachments"`
	Files []json.RawMessage `json:"files"`
}

type claudeBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Thinking string `json:"thinking"`
}

func readClaude(raw []byte) (conversation, error) {
	var in claudeConversation
	if err := json.Unmarshal(raw, &in); err != nil {
		return conversation{}, fmt.Errorf("it cannot be read: %w", err)
	}
	if len(in.Messages) > MaxMessages {
		return conversation{}, fmt.Errorf("it has %d messages; the limit is %d", len(in.Messages), MaxMessages)
	}
	c := conversation{
		kind: Claude, id: in.UUID, title: in.Name, model: in.Model, current: in.Leaf, left: map[string]int{},
	}
	c.created, c.updated = c.when(in.CreatedAt), c.when(in.UpdatedAt)
	tree := false
	for i := range in.Messages {
		if in.Messages[i].UUID == "" {
			in.Messages[i].UUID = "#" + strconv.Itoa(i)
		}
		tree = tree || in.Messages[i].Parent != nil
	}
	for i, from := range in.Messages {
		m := message{id: from.UUID, at: c.when(from.CreatedAt)}
		switch {
		case from.Parent != nil:
			m.parent = *from.Parent
		case !tree && i > 0:
			m.parent = in.Messages[i-1].UUID
		}
		m.read(from, c.left)
		c.messages = append(c.messages, m)
	}
	return c, nil
}

// read reads what a message says, and counts what no node holds of it.
func (m *message) read(in claudeMessage, left map[string]int) {
	m.text = in.Text
	if text := m.blocks(in.Content, left); text != "" {
		m.text = text
	}
	for _, a := range in.Attachments {
		if a.Extracted == "" {
			left["attachment"]++
		} else {
			m.pasted = append(m.pasted, a.Extracted)
		}
	}
	if n := len(in.Files); n > 0 {
		left["file"] += n
	}
	switch in.Sender {
	case "human":
		m.role = "user"
	case "assistant":
		m.role = "assistant"
	default:
		left["message of another role"]++
	}
	if m.text == "" && m.role != "" && len(m.pasted)+len(in.Files) == 0 {
		left["empty message"]++
		m.role = ""
	}
}

// blocks joins the blocks of text: those that something stands between with a blank line, the others are one text.
func (m *message) blocks(blocks []claudeBlock, left map[string]int) string {
	var text strings.Builder
	gap := false
	for _, b := range blocks {
		switch b.Type {
		case "text":
			if gap && text.Len() > 0 && b.Text != "" {
				text.WriteString(between)
			}
			gap = false
			text.WriteString(b.Text)
			continue
		case "thinking":
			m.note = joined(m.note, b.Thinking)
		case "tool_use":
			left["call of a tool"]++
		case "tool_result":
			left["tool"]++
		default:
			left["other part"]++
		}
		gap = true
	}
	return text.String()
}
