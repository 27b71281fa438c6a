package gate

import (
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// MaxSaid bounds what a model says, in code points: what is longer is cut, and the cut is shown.
const MaxSaid = 1000

// Author is whose words a line is.
type Author string

// The authors. What is computed comes from the call and the files; what the model says is a claim.
const (
	ByModel  Author = "MODEL"
	Computed Author = "COMPUTED"
)

// Line is a text with its author.
type Line struct {
	By Author `json:"by"`
	// Text is plain text; what is computed has it in English, and in Japanese as Ja.
	Text string `json:"text"`
	Ja   string `json:"ja,omitempty"`
	// Cut says that the model said more.
	Cut bool `json:"cut,omitempty"`
}

// In gives the text for a locale: Japanese for `ja`, where there is one.
func (l Line) In(locale string) string {
	if locale == "ja" && l.Ja != "" {
		return l.Ja
	}
	return l.Text
}

// Points are the five things that a person goes by (seed 001, 8.3): intent and rationale are claims of the model, all else is computed. Alternatives there
// are for what takes something away: the envelope of an answer has no place for those of the model.
type Points struct {
	Intent       Line     `json:"intent"`
	Rationale    Line     `json:"rationale"`
	Impact       []Line   `json:"impact"`
	Diff         DiffStat `json:"diff"`
	Alternatives []Line   `json:"alternatives,omitempty"`
}

// DiffStat is the size of what the Content shows whole.
type DiffStat struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
	Bytes   int `json:"bytes"`
}

// Said is what the model says about what it asks for. Nothing of it is believed.
type Said struct{ Intent, Rationale string }

// said gives words of the model as plain text, bounded, with everything that cannot be seen written out (S24).
func said(text string) Line {
	text, cut := tool.Plain(strings.TrimSpace(text), MaxSaid)
	return Line{By: ByModel, Text: text, Cut: cut}
}

func computed(en, ja string) Line { return Line{By: Computed, Text: en, Ja: ja} }

// points puts the words of the model beside what was computed.
func (s Said) points(impact, alternatives []Line, d DiffStat) Points {
	return Points{Intent: said(s.Intent), Rationale: said(s.Rationale), Impact: impact, Diff: d, Alternatives: alternatives}
}

// stat counts the lines of a unified diff. Its head ends where the first hunk begins: a line of text may begin as a head does.
func stat(diff string) DiffStat {
	d := DiffStat{Bytes: len(diff)}
	hunk := false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
			hunk = true
		case hunk && line[0] == '+':
			d.Added++
		case hunk && line[0] == '-':
			d.Removed++
		}
	}
	return d
}
