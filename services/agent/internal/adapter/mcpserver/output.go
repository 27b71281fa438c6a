package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// maxItems is how many parts of a result are looked at.
const maxItems = 1000

// result is that of a call, as far as it is told to a model.
type result struct {
	Content    []json.RawMessage `json:"content"`
	Structured json.RawMessage   `json:"structuredContent"`
	IsError    bool              `json:"isError"`
	Type       string            `json:"resultType"`
}

// item is a part of a result.
type item struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MIME     string `json:"mimeType"`
	URI      string `json:"uri"`
	Resource *struct {
		URI  string  `json:"uri"`
		MIME string  `json:"mimeType"`
		Text *string `json:"text"`
		Blob string  `json:"blob"`
	} `json:"resource"`
}

// output is a result as text, of little more than limit bytes: what is longer, the router cuts, and says so. What is no text is left out
// with a sentence; nothing is fetched (field/review-agent.md S19). A result that cannot be read leaves open what has happened.
func output(raw json.RawMessage, limit int) (router.Output, error) {
	var r result
	if err := json.Unmarshal(raw, &r); err != nil {
		return router.Output{}, fmt.Errorf("the answer of the server cannot be read: %w", plain(err))
	}
	if r.Type == "input_required" {
		return router.Output{Failed: true, Text: []byte("The server asks for something before it goes on, and nobody answers it. It has not completed the call.")}, nil
	}
	t := text{limit: limit}
	for i, raw := range r.Content {
		if i == maxItems {
			t.add(fmt.Sprintf("[%d more parts are left out.]", len(r.Content)-i))
			break
		}
		t.add(part(raw))
	}
	if !null(r.Structured) && !r.tells(r.Structured) {
		t.add(string(r.Structured))
	}
	return router.Output{Text: t.Bytes(), Failed: r.IsError}, nil
}

// tells says whether some text is the same JSON, as servers are told to have it.
func (r result) tells(structured json.RawMessage) bool {
	want, err := canon.JSON(structured)
	if err != nil {
		return false
	}
	for _, raw := range r.Content[:min(len(r.Content), maxItems)] {
		var i item
		if json.Unmarshal(raw, &i) != nil || i.Type != "text" {
			continue
		}
		if got, err := canon.JSON([]byte(i.Text)); err == nil && bytes.Equal(got, want) {
			return true
		}
	}
	return false
}

// part is one item as text.
func part(raw json.RawMessage) string {
	var i item
	if err := json.Unmarshal(raw, &i); err != nil {
		return "[A part that cannot be read is left out.]"
	}
	switch {
	case i.Type == "text":
		return i.Text
	case i.Type == "resource" && i.Resource != nil && i.Resource.Text != nil:
		return *i.Resource.Text
	case i.Type == "resource" && i.Resource != nil:
		return left("A resource", i.Resource.URI, i.Resource.MIME, len(i.Resource.Blob))
	case i.Type == "resource_link":
		return left("A link to a resource, which was not fetched,", i.URI, i.MIME, 0)
	case i.Type == "image":
		return left("An image", "", i.MIME, len(i.Data))
	case i.Type == "audio":
		return left("A sound", "", i.MIME, len(i.Data))
	}
	return left("A part of the kind "+word(i.Type), "", "", 0)
}

// left says what was left out; size is that of base64.
func left(what, uri, mime string, size int) string {
	var about []string
	for _, s := range []string{uri, mime} {
		if s != "" {
			about = append(about, word(s))
		}
	}
	if size > 0 {
		about = append(about, fmt.Sprintf("about %d bytes", size/4*3))
	}
	if len(about) > 0 {
		what += " (" + strings.Join(about, ", ") + ")"
	}
	return "[" + what + " is left out.]"
}

func word(s string) string { return tool.PlainLine(s, tool.MaxTitle) }

func null(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// text is parts, one below the other, of which no more is kept than shows that it is too long.
type text struct {
	bytes.Buffer
	limit int
}

func (t *text) add(s string) {
	if t.Len() > 0 {
		s = "\n" + s
	}
	if room := t.limit + 1 - t.Len(); len(s) > room {
		s = s[:max(room, 0)]
	}
	t.WriteString(s)
}
