package nodecontext_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
)

// A line is read as far as it can be printed: the beginning where that is long enough, else the summary, else all.
func TestHowMuchOfALineIsRead(t *testing.T) {
	t.Parallel()
	blanks := strings.Repeat(" \n", 300)
	for name, c := range map[string]struct {
		prompt, answer, summary string
		stale                   bool
		read                    []nodecontext.Much
		wantPrompt, wantAnswer  string
		wantSummary             int
	}{
		"a short summary":                  {summary: "s", wantSummary: 1, prompt: "p"},
		"a long summary":                   {summary: strings.Repeat("夜", 300), read: []nodecontext.Much{nodecontext.WholeSummary}, wantSummary: 210},
		"no summary":                       {prompt: " a \n\tb ", answer: "c", wantPrompt: "a b", wantAnswer: "c"},
		"a stale summary":                  {prompt: "p", summary: "old", stale: true, wantPrompt: "p", wantSummary: 3},
		"a long text":                      {prompt: "p", answer: strings.Repeat("夜", 5000), wantPrompt: "p", wantAnswer: strings.Repeat("夜", 110)},
		"a long prompt":                    {prompt: strings.Repeat("夜", 5000), answer: "c", wantPrompt: strings.Repeat("夜", 110)},
		"a text that begins with blanks":   {prompt: blanks + "p", answer: "c", read: []nodecontext.Much{nodecontext.Everything}, wantPrompt: "p", wantAnswer: "c"},
		"a text of blanks":                 {prompt: blanks, answer: blanks, read: []nodecontext.Much{nodecontext.Everything}},
		"a summary of blanks":              {prompt: "p", summary: blanks, read: []nodecontext.Much{nodecontext.WholeSummary, nodecontext.Everything}, wantPrompt: "p"},
		"a summary that begins with them":  {summary: blanks + "s", read: []nodecontext.Much{nodecontext.WholeSummary}, wantSummary: 1},
		"a text of characters not printed": {prompt: strings.Repeat("\u200b\x01", 300) + "p", read: []nodecontext.Much{nodecontext.Everything}, wantPrompt: "p"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore()
			s.put(1, c.prompt, c.answer, c.summary)
			n := s.nodes[id(1)]
			n.Stale = c.stale || c.summary == ""
			s.nodes[id(1)] = n
			s.put(2, "", "", "", 1)
			s.read = map[nodecontext.Much][]uuid.UUID{}
			got, _ := s.build(t, nodecontext.Request{Parents: ids(2)})
			var read []nodecontext.Much
			for _, much := range []nodecontext.Much{nodecontext.Beginnings, nodecontext.WholeSummary, nodecontext.Everything} {
				if slices.Contains(s.read[much], id(1)) {
					read = append(read, much)
				}
			}
			e := got.Nodes[0]
			if !slices.Equal(read, c.read) || e.Prompt != c.wantPrompt || e.Answer != c.wantAnswer || utf8.RuneCountInString(e.Summary) != c.wantSummary {
				t.Errorf("read %v; %q %q %q", read, e.Prompt, e.Answer, e.Summary)
			}
		})
	}
}

// What is told of a node without a summary makes the same line as all of its texts, whatever they are.
func TestALineIsThatOfTheWholeNode(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"夜", "a", " ", "\n", "\r", "\t", "\u2028", "\u200b", "\u200d", "\x02", "か\u3099", strings.Repeat(" ", 150), strings.Repeat("港", 90)})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "") })
	rapid.Check(t, func(r *rapid.T) {
		s := newStore()
		s.put(1, text.Draw(r, "prompt"), text.Draw(r, "answer"), "")
		n := s.nodes[id(1)]
		n.Texts = append(n.Texts, nodecontext.Text{Role: "tool", Content: text.Draw(r, "tool")})
		s.nodes[id(1)] = n
		s.put(2, "", "", "", 1)
		got, _ := s.build(t, nodecontext.Request{Parents: ids(2)})
		e := got.Nodes[0]
		whole := shown(n.Texts[0].Content + "\n\n" + n.Texts[2].Content + " " + n.Texts[1].Content)
		if told := shown(e.Prompt + " " + e.Answer); told != whole {
			r.Errorf("told %q, whole %q", told, whole)
		}
		if size := utf8.RuneCountInString(e.Prompt + e.Answer); size > 220 {
			r.Errorf("%d characters are told", size)
		}
	})
}

// shown is what a line shows of a text (field/systemprompt-rules.md 0), with a mark where it is cut.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		switch r {
		case '\u200b', '\x02':
			return -1
		case '\u2028':
			return ' '
		}
		return r
	}, text)
	line := []rune(strings.Join(strings.Fields(text), " "))
	if len(line) > 100 {
		return string(line[:99]) + "…"
	}
	return string(line)
}
