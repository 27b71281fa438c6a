package layers

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
)

// writer writes the sections of a state, of which items may have been cut.
type writer struct {
	State
	texts template.Texts
	cut   counts
}

// counts is how many of each kind of item were cut.
type counts struct{ evidence, summaries, exchanges, questions, plan int }

// mainRow is the section of the layer Main, contextRow that of the nodes.
const (
	mainRow    = "main"
	contextRow = "context"
)

// sections gives what the rows of an agent say.
func (w *writer) sections() map[string]sysprompt.Given {
	all := map[string]sysprompt.Given{
		"base":             w.base(),
		"long_term_memory": w.memory(),
		"session":          w.session(),
		"specialized":      w.specialized(),
		"summaries":        w.summaries(),
		"session_counters": w.counters(),
		mainRow:            w.main(),
	}
	if w.NoDialogPolicy {
		all["dialog_policy"] = sysprompt.Given{LeftOut: sysprompt.NotSent}
	} else {
		long := strconv.Itoa(cmp.Or(w.LongReply, defaultLongReply))
		all["dialog_policy"] = sysprompt.Given{Text: w.texts.Fill("dialog_policy", map[string]string{"long_reply_chars": long})}
	}
	return all
}

// blocks joins texts with a blank line between them, each a part.
type blocks struct {
	text  strings.Builder
	parts []sysprompt.Part
}

func (b *blocks) add(id, text string) {
	if text == "" {
		return
	}
	if b.text.Len() > 0 {
		b.text.WriteString("\n\n")
	}
	b.parts = append(b.parts, sysprompt.Part{ID: id, Start: b.text.Len(), End: b.text.Len() + len(text)})
	b.text.WriteString(text)
}

func (b *blocks) given() sysprompt.Given {
	return sysprompt.Given{Text: b.text.String(), Parts: b.parts}
}

// base are the four blocks of the base, of which one with an empty list is gone.
func (w *writer) base() sysprompt.Given {
	var b blocks
	lines := w.Base.lists()
	for block := range strings.SplitSeq(w.texts.Text("base"), "\n\n") {
		values := map[string]string{}
		id, gone := "", false
		for _, l := range lines {
			if !strings.Contains(block, "{"+l.name+"}") {
				continue
			}
			id = cmp.Or(id, l.name)
			if l.own == nil {
				values[l.name] = w.texts.Text("base." + l.name)
				gone = gone || values[l.name] == ""
				continue
			}
			var list []string
			for _, line := range *l.own {
				if line = passage.Line(line); line != "" {
					list = append(list, "- "+line)
				}
			}
			values[l.name], gone = strings.Join(list, "\n"), gone || len(list) == 0
		}
		if !gone {
			b.add(id, template.FillText(block, values))
		}
	}
	return b.given()
}

// memory prints the lines whose value is there.
func (w *writer) memory() sysprompt.Given {
	m := w.Memory
	if m == nil {
		return sysprompt.Given{LeftOut: sysprompt.NotSent}
	}
	values := map[string]string{}
	for name, n := range map[string]*int{"total_files": m.Files, "successful_operations": m.Operations} {
		if n != nil {
			values[name] = strconv.Itoa(*n)
		}
	}
	for name, list := range map[string][]string{"learned_patterns": m.Patterns, "user_settings": m.Wishes} {
		if text := items(list); text != "" {
			values[name] = text
		}
	}
	if len(values) == 0 {
		return sysprompt.Given{LeftOut: sysprompt.NotSent}
	}
	return sysprompt.Given{Text: w.texts.Lines("long_term_memory", values)}
}

func (w *writer) session() sysprompt.Given {
	id := passage.Name(w.SessionID)
	if id == "" {
		return sysprompt.Given{LeftOut: sysprompt.NotSent}
	}
	return sysprompt.Given{Text: w.texts.Fill("session", map[string]string{"session_id": id})}
}

func (w *writer) specialized() sysprompt.Given {
	if w.Pattern == BaseMain || w.Pattern == "" || !steps[w.Step] {
		return sysprompt.Given{LeftOut: sysprompt.ByPattern}
	}
	return sysprompt.Given{Text: w.texts.Text("specialized." + w.Step)}
}

func (w *writer) summaries() sysprompt.Given {
	if len(w.Summaries)+w.cut.summaries == 0 {
		return sysprompt.Given{LeftOut: sysprompt.NotSent}
	}
	var lines []string
	if n := w.cut.summaries; n > 0 {
		lines = append(lines, "- "+w.gone(n))
	}
	for _, s := range w.Summaries {
		lines = append(lines, "- "+passage.Cap(w.summary(s), maxSummary))
	}
	return sysprompt.Given{Text: w.texts.Fill("summaries", map[string]string{
		"summary_count": strconv.Itoa(lastSummaries), "recent_conversation_summary": strings.Join(lines, "\n"),
	})}
}

// summary is a summary as it is before it is cut.
func (w *writer) summary(s Summary) string {
	if s.Opening {
		return w.texts.Text("opening") + passage.Line(s.Text)
	}
	return passage.Line(s.Text)
}

func (w *writer) counters() sysprompt.Given {
	if !w.ShowCounters {
		return sysprompt.Given{LeftOut: sysprompt.NotSent}
	}
	return sysprompt.Given{Text: w.texts.Fill("session_counters", map[string]string{
		"total_conversations": strconv.Itoa(w.Conversations), "last_updated": w.orNone(passage.Line(w.LastUpdated)),
	})}
}

// main is the working memory, the five items, and what follows from them.
func (w *writer) main() sysprompt.Given {
	var b blocks
	if w.Pattern != BaseSpecialized {
		b.add("main.state", w.texts.Fill("main.state", map[string]string{
			"current_step": w.orNone(passage.Line(w.Step)), "current_status": w.orNone(passage.Line(w.Status)), "ongoing_task": w.orNone(passage.Line(w.OngoingTask)),
		}))
	}
	b.add("main.five", w.texts.Fill("main.five", map[string]string{
		"goal": w.orNone(passage.Line(w.Goal)), "why_now": w.orNone(passage.Line(w.WhyNow)), "constraints": w.orNone(items(w.Constraints)),
		"plan_brief": w.cutList(w.PlanBrief, w.cut.plan), "open_questions": w.cutList(w.OpenQuestions, w.cut.questions),
	}))
	b.add("main.pending", w.pending())
	if w.Pattern == BaseSpecialized {
		return b.given()
	}
	b.add("main.evidence", w.evidence())
	b.add("main.recent", w.texts.Fill("main.recent", map[string]string{"recent_conversation_flow": w.recent()}))
	b.add("main.output", w.texts.Text("main.output"))
	return b.given()
}

// Of the texts of Main, the pattern base_specialized prints the five items and the approvals alone.

func (w *writer) showsEvidence() bool {
	return w.Pattern != BaseSpecialized && w.shows("main.evidence", "evidence")
}

func (w *writer) showsExchanges() bool {
	return w.Pattern != BaseSpecialized && w.shows("main.recent", "recent_conversation_flow")
}

func (w *writer) showsSummaries() bool { return w.shows("summaries", "recent_conversation_summary") }

// shows says that a text has the place of a value: the caller's own may leave it out.
func (w *writer) shows(id, placeholder string) bool {
	return strings.Contains(w.texts.Text(id), "{"+placeholder+"}")
}

func (w *writer) orNone(text string) string { return cmp.Or(text, w.texts.Text("none")) }

// gone says how many items were cut.
func (w *writer) gone(n int) string {
	return w.texts.Fill("cut", map[string]string{"n": strconv.Itoa(n)})
}

// cutList is a list in one line, with how many of its last items are gone.
func (w *writer) cutList(list []string, cut int) string {
	text := items(list)
	if cut == 0 {
		return w.orNone(text)
	}
	return strings.TrimPrefix(text+" "+w.gone(cut), " ")
}

func (w *writer) pending() string {
	var lines []string
	for _, p := range w.Pending {
		what := passage.Line(p.Kind)
		if tool := passage.Line(p.Tool); tool != "" {
			what += " " + tool
		}
		if intent := passage.Cap(passage.Line(p.Intent), maxIntent); intent != "" {
			what += ": " + intent
		}
		lines = append(lines, "- "+passage.Line(p.ID)+": "+what)
	}
	if lines == nil {
		return ""
	}
	return w.texts.Fill("main.pending", map[string]string{"pending_approvals": strings.Join(lines, "\n")})
}

func (w *writer) evidence() string {
	var lines []string
	if n := w.cut.evidence; n > 0 {
		lines = append(lines, w.gone(n))
	}
	for _, e := range w.Evidence {
		text, _ := passage.Characters.CutHead(passage.Body(e.Text).Text, maxEvidence)
		lines = append(lines, passage.Frame("evidence", `source="`+passage.Attr(passage.Name(e.Source))+`"`, text))
	}
	if lines == nil {
		return ""
	}
	return w.texts.Fill("main.evidence", map[string]string{"evidence": strings.Join(lines, "\n")})
}

// recent are the last turns, each cut so that both texts have what the other leaves, and at least half.
func (w *writer) recent() string {
	var lines []string
	if n := w.cut.exchanges; n > 0 {
		lines = append(lines, w.gone(n))
	}
	for _, e := range w.Exchanges {
		user, assistant := passage.Line(e.User), passage.Line(e.Assistant)
		if u, a := passage.Characters.Size(user), passage.Characters.Size(assistant); u+a > maxExchange {
			user, assistant = passage.Cap(user, max(leastHalf, maxExchange-a)), passage.Cap(assistant, max(leastHalf, maxExchange-u))
		}
		lines = append(lines, w.texts.Fill("exchange", map[string]string{"user": user, "assistant": assistant}))
	}
	return w.orNone(strings.Join(lines, "\n"))
}
