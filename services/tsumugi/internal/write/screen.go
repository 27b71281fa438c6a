package write

import (
	"fmt"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// screen shows the answers of a round one after the other, although they may come side by side: the first that has not
// ended is shown as it comes, the others wait behind it.
type screen struct {
	*session
	// shown is the answer that is shown, from 0; begun says that its head is there, and upto how much of its text.
	shown int
	begun bool
	upto  int
	// built: a prompt was told; told: it was also shown.
	built, told bool
}

// take takes an event into the round, shows what can be shown, and says which answer the event is about.
func (c *screen) take(r *round, e *agentv1.GenerateNodeEvent) int {
	n := int(e.GetIndex())
	for len(r.answers) <= n {
		r.answers = append(r.answers, &answer{})
	}
	a := r.answers[n]
	switch e := e.Event.(type) {
	case *agentv1.GenerateNodeEvent_Opened:
		r.total = max(1, int(e.Opened.Answers))
		a.opened = e.Opened
		c.prompt(r, e.Opened.Build)
	case *agentv1.GenerateNodeEvent_Text:
		a.text += e.Text.Text
	case *agentv1.GenerateNodeEvent_Stored:
		if !a.known {
			a.take(e.Stored)
		}
	case *agentv1.GenerateNodeEvent_Failed:
		a.node, a.ended, a.tail = e.Failed.Node, true, r.label(n)+e.Failed.Message
		a.cancelled = e.Failed.Reason == reasonCancelled
	}
	c.show(r)
	return n
}

// reasonCancelled is that of an answer which somebody ended on purpose.
const reasonCancelled = "GENERATION_CANCELLED"

// take takes the stored node. One that is told again may be of an answer that was cancelled.
func (a *answer) take(s *agentv1.Stored) {
	finish := s.Node.GetGeneration().GetFinishReason()
	a.node, a.whole, a.ended = s.Node.Name, finish == "stop" || finish == "length", true
	a.cancelled = finish == "cancelled"
	a.text = s.Node.Texts[len(s.Node.Texts)-1].Content
	a.tail, a.cost = told(s), costOf(s)
}

// prompt takes what is told of a prompt. That of variants is one and the same.
func (c *screen) prompt(r *round, b *promptbuilderv1.BuildStoryResponse) {
	if b == nil {
		return
	}
	if !c.built || r.shape.variants == 0 {
		c.total.prompt(b)
	}
	c.state, c.built = b.State, true
}

// show goes on with what is shown.
func (c *screen) show(r *round) {
	for c.shown < len(r.answers) {
		if a := r.answers[c.shown]; a.known && a.whole {
			c.say("%s保存済みです stored already: %s", r.name(c.shown), a.node)
			c.shown++
		} else if a.known {
			c.say("%s途中で止めた答えです stored as far as it was stopped: %s 「%s」", r.name(c.shown), a.node, lastLine(a.text))
			c.shown++
		} else if !c.one(r, a) {
			return
		}
	}
}

// one goes on with one answer, and says whether it has ended.
func (c *screen) one(r *round, a *answer) bool {
	if !c.begun && a.opened != nil {
		fmt.Fprint(c.Out, head(r, c.shown, a.opened, !c.told))
		c.told = c.told || a.opened.Build != nil
		if before := lastLine(c.tail + r.before(a)); before != "" {
			fmt.Fprintf(c.Out, "…%s", client.Visible(before))
		}
		c.begun = true
	}
	if c.begun {
		fmt.Fprint(c.Out, client.Visible(a.text[c.upto:]))
		c.upto = len(a.text)
	}
	if !a.ended {
		return false
	}
	if c.begun {
		fmt.Fprintln(c.Out)
	}
	if a.tail != "" {
		c.say("%s", a.tail)
	}
	c.shown, c.begun, c.upto = c.shown+1, false, 0
	return true
}

// finish ends what is still shown when the stream has ended. What has neither an end nor a node broke off.
func (c *screen) finish(r *round) {
	for c.shown < len(r.answers) {
		a := r.answers[c.shown]
		if a.known || a.opened == nil && a.tail == "" {
			c.shown++
			continue
		}
		if !a.ended && a.node == "" && (a.text != "" || !r.stopping) {
			a.tail = r.label(c.shown) + "broke off 途中で切れました"
		}
		a.ended = true
		c.one(r, a)
	}
}

// head says before an answer where the model's memory begins, and what was drawn. Of answers side by side only the first
// one tells it, and the others what their own prompts cost.
func head(r *round, n int, o *agentv1.Opened, first bool) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&b, "── %s\n", client.Visible(fmt.Sprintf(format, args...)))
	}
	b.WriteByte('\n')
	if o.Answers > 0 {
		line("%s", strings.TrimSpace(r.name(n)))
	}
	cost := finding(o.Build)
	if !first && r.shape.every && cost != "" {
		line("%s", cost)
	}
	if o.Build == nil || (!first && r.shape.repeat == 0) {
		return b.String()
	}
	if c := o.Build.Cut; c != nil {
		line("記憶はここから memory begins at: 「%s」", begin(c.FirstKept))
		line("その前 before it, unseen: %d 行 lines, %d 字 characters", c.Lines, c.Characters)
	} else {
		line("記憶 memory: 全文 the whole text")
	}
	if cost != "" {
		line("%s", cost)
	}
	if o.Branch == "" && first {
		for _, p := range o.Build.Picks {
			line("抽選 drawn: %s → %s", p.Field, p.Text)
		}
	}
	for _, w := range o.Build.Warnings {
		line("注意 note: %s", w.Message)
	}
	return b.String()
}

// begin is enough of a line to find it: what fills two lines of a terminal of 40 columns.
func begin(line string) string { return client.Cut(line, 40) }

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
