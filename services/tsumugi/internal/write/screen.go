package write

import (
	"fmt"
	"strings"
	"unicode"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// screen shows the answers of a round one after the other, although they may come side by side: the first that has not
// ended is shown as it comes, the others wait behind it.
type screen struct {
	*session
	// shown is the answer that is shown, from 0; begun says that its head is there, and upto how much of its text.
	shown int
	begun bool
	upto  int
	// ends are what to say at the end of each answer.
	ends []string
	// heads are what to say before each.
	heads []string
}

// take takes an event into the round and shows what can be shown.
func (c *screen) take(r *round, e *agentv1.GenerateNodeEvent) {
	n := int(e.GetIndex())
	for len(r.answers) <= n {
		r.answers = append(r.answers, &answer{})
		c.heads, c.ends = append(c.heads, ""), append(c.ends, "")
	}
	a := r.answers[n]
	switch e := e.Event.(type) {
	case *agentv1.GenerateNodeEvent_Opened:
		a.generation, a.branch = e.Opened.Generation, e.Opened.Branch
		c.heads[n] = head(n, r.shape, e.Opened)
		if b := e.Opened.Build; b != nil {
			c.state = b.State
		}
	case *agentv1.GenerateNodeEvent_Text:
		a.text += e.Text.Text
	case *agentv1.GenerateNodeEvent_Stored:
		a.take(e.Stored)
		c.ends[n] = told(e.Stored)
	case *agentv1.GenerateNodeEvent_Failed:
		a.node, a.ended = e.Failed.Node, true
		c.ends[n] = e.Failed.Message
	}
	c.show(r)
}

// take takes the stored node.
func (a *answer) take(s *agentv1.Stored) {
	a.node, a.whole, a.ended = s.Node.Name, true, true
	a.text = s.Node.Texts[len(s.Node.Texts)-1].Content
}

// show goes on with what is shown.
func (c *screen) show(r *round) {
	for c.shown < len(r.answers) {
		a := r.answers[c.shown]
		if !c.begun && a.generation != "" {
			fmt.Fprint(c.Out, c.heads[c.shown])
			if before := c.before(r); before != "" {
				fmt.Fprintf(c.Out, "…%s", visible(before))
			}
			c.begun = true
		}
		if c.begun {
			fmt.Fprint(c.Out, visible(a.text[c.upto:]))
			c.upto = len(a.text)
		}
		if !a.ended {
			return
		}
		c.close(c.ends[c.shown])
	}
}

// before is the line that the answer goes on from.
func (c *screen) before(r *round) string {
	if r.shape.repeat > 0 && c.shown > 0 {
		return "" // it has just been shown
	}
	return c.tail
}

// close ends the answer that is shown.
func (c *screen) close(end string) {
	if c.begun {
		fmt.Fprintln(c.Out)
	}
	if end != "" {
		c.say("%s", end)
	}
	c.shown, c.begun, c.upto = c.shown+1, false, 0
}

// finish ends what is still shown when the stream has ended.
func (c *screen) finish(r *round) {
	for c.shown < len(r.answers) {
		r.answers[c.shown].ended = true
		c.show(r)
	}
}

// head says before an answer where the model's memory begins, and what was drawn.
func head(n int, want shape, o *agentv1.Opened) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, "── %s\n", visible(fmt.Sprintf(format, args...)))
	}
	b.WriteByte('\n')
	switch {
	case o.Branch != "":
		line("[%d/%d] %s", n+1, o.Answers, o.Branch)
	case o.Answers > 0:
		line("[%d/%d]", n+1, o.Answers)
	}
	if (n > 0 && want.repeat == 0) || o.Build == nil {
		return b.String() // as the first one
	}
	if c := o.Build.Cut; c != nil {
		line("記憶はここから memory begins at: 「%s」", c.FirstKept)
		line("その前 before it, unseen: %d 行 lines, %d 字 characters", c.Lines, c.Characters)
	} else {
		line("記憶 memory: 全文 the whole text")
	}
	if b := o.Build; b.CountsUsed > 0 {
		line("数えた回数 counts: %d、送った字 characters sent: %d", b.CountsUsed, b.CharactersSent)
	}
	if o.Branch == "" && n == 0 {
		for _, p := range o.Build.Picks {
			line("抽選 drawn: %s → %s", p.Field, p.Text)
		}
	}
	for _, w := range o.Build.Warnings {
		line("注意 note: %s", w.Message)
	}
	return b.String()
}

// told says how an answer was made.
func told(s *agentv1.Stored) string {
	g := s.Node.GetGeneration()
	made := fmt.Sprintf("%d tokens (%s)", g.GetAnswerTokens(), g.GetFinishReason())
	if s.Node.Texts[len(s.Node.Texts)-1].Content == "" {
		made = "空の答え an empty answer: the model ended the text here, " + made
	}
	if s.PromptTokensRead == nil {
		return made + "、プロンプトの読み方は不明 the server does not tell what it read"
	}
	return fmt.Sprintf("%s、プロンプト prompt: 読み直し %d read again、キャッシュ %d cached", made, s.GetPromptTokensRead(), s.GetPromptTokensCached())
}

// visible keeps a text from telling the terminal anything: a control character is shown as its picture.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || !unicode.IsControl(r):
			return r
		case r < 0x20:
			return 0x2400 + r
		default:
			return '␦'
		}
	}, text)
}
