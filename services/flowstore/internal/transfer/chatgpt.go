package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// gptConversation is a conversation of ChatGPT's export (field/flowstore.md 2.1).
type gptConversation struct {
	Title          string     `json:"title"`
	CreateTime     moment     `json:"create_time"`
	UpdateTime     moment     `json:"update_time"`
	Mapping        gptMapping `json:"mapping"`
	CurrentNode    string     `json:"current_node"`
	ConversationID string     `json:"conversation_id"`
	ID             string     `json:"id"`
	DefaultModel   string     `json:"default_model_slug"`
}

type gptNode struct {
	key      string
	Message  *gptMessage `json:"message"`
	Parent   string      `json:"parent"`
	Children []string    `json:"children"`
}

type gptMessage struct {
	Author struct {
		Role string `json:"role"`
	} `json:"author"`
	CreateTime moment     `json:"create_time"`
	Content    gptContent `json:"content"`
	Recipient  string     `json:"recipient"`
	Channel    string     `json:"channel"`
	Metadata   struct {
		Model  string `json:"model_slug"`
		Hidden bool   `json:"is_visually_hidden_from_conversation"`
	} `json:"metadata"`
}

type gptContent struct {
	Type     string            `json:"content_type"`
	Parts    []json.RawMessage `json:"parts"`
	Text     string            `json:"text"`
	Thoughts []struct {
		Summary string `json:"summary"`
		Content string `json:"content"`
	} `json:"thoughts"`
}

// gptMapping are the nodes in the order of the file.
type gptMapping []gptNode

// UnmarshalJSON reads an object; a key that stands there twice is an error: encoding/json would take the last without a word.
func (m *gptMapping) UnmarshalJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return errors.New("`mapping` must be an object")
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		n := gptNode{key: fmt.Sprint(key)}
		if seen[n.key] {
			return fmt.Errorf("the message %.80q stands there twice", n.key)
		}
		seen[n.key] = true
		if len(seen) > MaxMessages {
			return fmt.Errorf("it has more than %d messages", MaxMessages)
		}
		if err := dec.Decode(&n); err != nil {
			return err
		}
		*m = append(*m, n)
	}
	return nil
}

// moment is a time: seconds since 1970, or text. What is null, nothing, 0 or no time is zero.
type moment struct {
	at time.Time
	// odd says that something stands there, which is no time.
	odd bool
}

// UnmarshalJSON never fails: a message is worth more than its time.
func (m *moment) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil && at.Year() >= 1 {
		_, offset := at.Zone()
		m.at = at.Truncate(time.Microsecond).In(time.FixedZone("", offset))
		if offset == 0 {
			m.at = m.at.UTC()
		}
		return nil
	}
	const end = 253402300800 // the year 10000
	s, err := strconv.ParseFloat(text, 64)
	if err == nil && s > 0 && s < end {
		m.at = time.UnixMicro(int64(math.Round(s * 1e6))).UTC()
		return nil
	}
	m.odd = text != "null" && text != "" && (err != nil || s != 0)
	return nil
}

// when gives a time, and counts one that is none.
func (c *conversation) when(m moment) time.Time {
	if m.odd {
		c.left["time that cannot be read"]++
	}
	return m.at
}

func readChatGPT(raw []byte) (conversation, error) {
	var in gptConversation
	if err := json.Unmarshal(raw, &in); err != nil {
		return conversation{}, fmt.Errorf("it cannot be read: %w", err)
	}
	c := conversation{
		kind: ChatGPT, id: in.ConversationID, title: in.Title, model: in.DefaultModel, current: in.CurrentNode, left: map[string]int{},
	}
	c.created, c.updated = c.when(in.CreateTime), c.when(in.UpdateTime)
	if c.id == "" {
		c.id = in.ID
	}
	for _, n := range in.Mapping.ordered() {
		m := message{id: n.key, parent: n.Parent}
		if n.Message != nil {
			m.at, m.model, m.channel = c.when(n.Message.CreateTime), n.Message.Metadata.Model, n.Message.Channel
			if kind := m.take(n.Message, c.left); kind != "" {
				c.left[kind]++
				m.role = ""
			}
		}
		c.messages = append(c.messages, m)
	}
	return c, nil
}

// ordered gives the nodes so that siblings stand as their parent lists them; those that no parent lists stay in the order of the
// file, behind.
func (m gptMapping) ordered() []gptNode {
	rank := make(map[string]int, len(m))
	for _, n := range m {
		for i, child := range n.Children {
			if _, known := rank[child]; !known {
				rank[child] = i
			}
		}
	}
	place := func(n gptNode) int {
		if at, listed := rank[n.key]; listed {
			return at
		}
		return math.MaxInt
	}
	out := slices.Clone(m)
	slices.SortStableFunc(out, func(a, b gptNode) int {
		switch x, y := place(a), place(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return out
}

// take reads what a message says, and gives what it is where no node holds it.
func (m *message) take(in *gptMessage, left map[string]int) string {
	c := in.Content
	switch role := in.Author.Role; {
	case c.Type == "thoughts":
		m.note = c.thoughts()
		return ""
	case role == "system", role == "tool":
		return role
	case role != "user" && role != "assistant":
		return "message of another role"
	case in.Metadata.Hidden:
		return "hidden"
	case in.Recipient != "" && in.Recipient != "all":
		return "call of a tool"
	case c.Type == "reasoning_recap", c.Type == "user_editable_context", c.Type == "model_editable_context":
		return c.Type
	}
	m.text, m.role = c.text(left), in.Author.Role
	if m.text == "" && (m.role == "assistant" || len(c.Parts) == 0 || string(c.Parts[0]) == `""`) {
		return "empty message"
	}
	return ""
}

func (c gptContent) thoughts() string {
	var all []string
	for _, t := range c.Thoughts {
		switch {
		case t.Content != "":
			all = append(all, t.Content)
		case t.Summary != "":
			all = append(all, t.Summary)
		}
	}
	return strings.Join(all, between)
}

// text gives the parts that are text, and counts the others.
func (c gptContent) text(left map[string]int) string {
	if c.Parts == nil {
		return c.Text
	}
	var all []string
	for _, raw := range c.Parts {
		var part any
		if json.Unmarshal(raw, &part) != nil {
			continue // it is JSON: it was read once
		}
		switch part := part.(type) {
		case string:
			all = append(all, part)
		case map[string]any:
			kind, text := partOf(part)
			if kind != "" {
				left[kind]++
				continue
			}
			all = append(all, text)
		default:
			left["other part"]++
		}
	}
	return strings.Join(all, "\n")
}

// partOf reads a part that is an object: what a voice said is text, the rest is named.
func partOf(part map[string]any) (kind, text string) {
	named, _ := part["content_type"].(string)
	switch {
	case named == "audio_transcription":
		text, _ = part["text"].(string)
		return "", text
	case strings.HasPrefix(named, "image"):
		return "image", ""
	case strings.HasPrefix(named, "audio"), strings.HasPrefix(named, "real_time"):
		return "sound or film", ""
	}
	return "other part", ""
}
