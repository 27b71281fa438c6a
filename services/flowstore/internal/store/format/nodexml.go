package format

import (
	"encoding/xml"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// What a node file holds, as encoding/xml reads it. Numbers stay text, so that a wrong one is told by its name.
type (
	xmlNode struct {
		XMLName   xml.Name `xml:"node"`
		ID        string   `xml:"id,attr"`
		Timestamp string   `xml:"timestamp,attr"`
		Contents  struct {
			Items []xmlText `xml:",any"`
		} `xml:"contents"`
		Metadata struct {
			Model      xmlElement     `xml:"model"`
			Generation *xmlGeneration `xml:"generation"`
			Summary    xmlSummary     `xml:"summary"`
			Tags       xmlTags        `xml:"tags"`
			Score      xmlElement     `xml:"score"`
			Note       xmlElement     `xml:"note"`
		} `xml:"metadata"`
	}
	// xmlElement is any element with text.
	xmlElement struct {
		XMLName xml.Name
		Esc     string       `xml:"esc,attr"`
		Text    string       `xml:",chardata"`
		Inner   []xmlElement `xml:",any"`
	}
	xmlText struct {
		XMLName xml.Name
		xmlElement
		Role     string `xml:"role,attr"`
		Count    string `xml:"count,attr"`
		Duration string `xml:"duration,attr"`
		Rate     string `xml:"rate,attr"`
	}
	xmlSummary struct {
		XMLName xml.Name
		xmlElement
		Updated   string `xml:"updated,attr"`
		LastBuilt string `xml:"last_built,attr"`
		Source    string `xml:"source,attr"`
	}
	xmlTags struct {
		// Attribute is how the original wrote a node's last tag (field/flowstore.md row 5).
		Attribute string       `xml:"tag,attr"`
		Tags      []xmlElement `xml:"tag"`
	}
	xmlGeneration struct {
		Esc      string       `xml:"esc,attr"`
		Task     string       `xml:"task,attr"`
		Finish   string       `xml:"finish,attr"`
		Fault    string       `xml:"fault,attr"`
		Branch   string       `xml:"branch,attr"`
		Backend  xmlBackend   `xml:"backend"`
		Prompt   xmlPart      `xml:"prompt"`
		Answer   xmlPart      `xml:"answer"`
		Error    xmlElement   `xml:"error"`
		Picks    xmlPicks     `xml:"picks"`
		Sampling *xmlSampling `xml:"sampling"`
		Request  xmlPart      `xml:"request"`
	}
	xmlBackend struct {
		Esc       string `xml:"esc,attr"`
		Name      string `xml:"name,attr"`
		Kind      string `xml:"kind,attr"`
		Address   string `xml:"address,attr"`
		Model     string `xml:"model,attr"`
		Window    string `xml:"window,attr"`
		Tokenizer string `xml:"tokenizer,attr"`
	}
	xmlPicks struct {
		Seed  string       `xml:"seed,attr"`
		Picks []xmlElement `xml:"pick"`
	}
	xmlPart struct {
		Esc     string `xml:"esc,attr"`
		Tokens  string `xml:"tokens,attr"`
		Cached  string `xml:"cached,attr"`
		Seconds string `xml:"seconds,attr"`
		Digest  string `xml:"digest,attr"`
	}
)

// verbatim gives a value of an element, an attribute or the text, as it was before it was escaped.
func (r *reading) verbatim(esc, text string) string {
	switch esc {
	case "":
		return text
	case "u":
		return unescape(text)
	}
	r.fail(unreadable("esc=%q is not known; it is esc=\"u\" or absent", cut(esc)))
	return ""
}

// inline reads the text of an element.
func (r *reading) inline(e xmlElement) string {
	if len(e.Inner) > 0 {
		r.fail(unreadable("there is an element <%s> within a text; write &lt; for a bracket, or use a CDATA section", e.Inner[0].XMLName.Local))
	}
	return r.verbatim(e.Esc, e.Text)
}

func (r *reading) inlines(elements []xmlElement) []string {
	var list []string
	for _, e := range elements {
		list = append(list, r.inline(e))
	}
	return list
}

// section reads a text without its padding lines. A text without them, written by hand, is taken as it stands
// (field/flowstore.md row 7).
func (r *reading) section(e xmlElement) string {
	text := e.Text
	if len(text) >= 2 && strings.HasPrefix(text, "\n") && strings.HasSuffix(text, "\n") {
		e.Text = text[1 : len(text)-1]
	}
	return r.inline(e)
}

// texts are `<text>`, or `<content>` as the original calls it (field/flowstore.md row 4).
func (r *reading) texts(items []xmlText) []node.Text {
	var texts []node.Text
	for _, t := range items {
		if name := t.XMLName.Local; name != "text" && name != "content" {
			continue
		}
		texts = append(texts, node.Text{
			Role:     r.verbatim(t.Esc, t.Role),
			Content:  r.section(t.xmlElement),
			Count:    r.number("count", t.Count),
			Duration: r.decimal("duration", t.Duration),
			Rate:     r.decimal("rate", t.Rate),
		})
	}
	return texts
}

func (r *reading) tags(t xmlTags) []string {
	tags := r.inlines(t.Tags)
	if t.Attribute != "" {
		tags = append(tags, t.Attribute)
	}
	return tags
}

// score reads one that a reader gave.
func (r *reading) score(e xmlElement) *float64 {
	text := strings.TrimSpace(r.inline(e))
	if text == "" {
		return nil
	}
	score := r.decimal("score", text)
	return &score
}

// summary without a text is one that is still to be made, whatever the file says, and one that was made from other texts than the
// node has is stale: somebody edited them in the file (field/flowstore.md row 24).
func (r *reading) summary(s xmlSummary, n node.Node) node.Summary {
	summary := node.Summary{Text: r.section(s.xmlElement), Source: r.verbatim(s.Esc, s.Source)}
	summary.Stale = s.Updated != "false" || summary.Text == "" || summary.Source != "" && summary.Source != n.Source()
	if s.LastBuilt != "" {
		summary.Built = r.time("last_built", s.LastBuilt)
	}
	return summary
}

func (r *reading) generation(g *xmlGeneration) *node.Generation {
	if g == nil {
		return nil
	}
	b := &g.Backend
	return &node.Generation{
		Backend:       r.verbatim(b.Esc, b.Name),
		Kind:          r.verbatim(b.Esc, b.Kind),
		Address:       r.verbatim(b.Esc, b.Address),
		Model:         r.verbatim(b.Esc, b.Model),
		Window:        r.number("window", b.Window),
		Tokenizer:     r.verbatim(b.Esc, b.Tokenizer),
		Task:          r.verbatim(g.Esc, g.Task),
		Finish:        r.verbatim(g.Esc, g.Finish),
		Fault:         r.verbatim(g.Esc, g.Fault),
		Branch:        r.verbatim(g.Esc, g.Branch),
		PromptDigest:  r.verbatim(g.Prompt.Esc, g.Prompt.Digest),
		PromptTokens:  r.number("tokens", g.Prompt.Tokens),
		CachedTokens:  r.number("cached", g.Prompt.Cached),
		PromptSeconds: r.decimal("seconds", g.Prompt.Seconds),
		AnswerTokens:  r.number("tokens", g.Answer.Tokens),
		AnswerSeconds: r.decimal("seconds", g.Answer.Seconds),
		Error:         r.inline(g.Error),
		PickSeed:      r.unsigned("seed", g.Picks.Seed),
		Picks:         r.inlines(g.Picks.Picks),
		Sampling:      r.sampling(g.Sampling),
		RequestDigest: r.verbatim(g.Request.Esc, g.Request.Digest),
	}
}
