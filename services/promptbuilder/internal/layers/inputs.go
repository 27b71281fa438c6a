package layers

import (
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// input is a value of a state that a section prints; field is its name in the request.
type input struct{ section, field, text string }

// inputs gathers what is printed of a state.
type inputs struct {
	*writer
	all []input
}

// add takes values of a field, unless the caller's text has no place for them.
func (i *inputs) add(section, id, placeholder, field string, values ...string) {
	if !i.shows(id, placeholder) {
		return
	}
	for _, text := range values {
		i.all = append(i.all, input{section, field, text})
	}
}

// list takes a field that is a list.
func (i *inputs) list(section, id, placeholder, field string, list []string) {
	for n, text := range list {
		i.add(section, id, placeholder, fmt.Sprintf("%s[%d]", field, n), text)
	}
}

// cleaned tells of the values of a request that are printed, from which something was taken that is no text (field/systemprompt-rules.md 0).
func (t *teller) cleaned(r Request, w *writer) {
	in := &inputs{writer: w}
	in.base()
	in.main(len(r.State.Evidence)-len(w.Evidence), len(r.State.Exchanges)-len(w.Exchanges))
	from := len(r.State.Summaries) - len(w.Summaries)
	for n, s := range w.Summaries {
		in.add("summaries", "summaries", "recent_conversation_summary", fmt.Sprintf("summaries[%d].text", from+n), s.Text)
	}
	for _, i := range in.all {
		if changes := passage.Body(i.text).Changes(); changes != "" {
			t.tell("text_cleaned", i.section, "agent.%s: %s", i.field, changes)
		}
	}
}

// base takes what the layer Base prints, but for the summaries.
func (i *inputs) base() {
	for _, l := range i.Base.lists() {
		if l.own != nil {
			i.list("base", "base", l.name, "base."+l.name+".lines", *l.own)
		}
	}
	if m := i.Memory; m != nil {
		i.list("long_term_memory", "long_term_memory", "learned_patterns", "memory.learned_patterns", m.Patterns)
		i.list("long_term_memory", "long_term_memory", "user_settings", "memory.user_settings", m.Wishes)
	}
	i.add("session", "session", "session_id", "session_id", i.SessionID)
	i.add("session_counters", "session_counters", "last_updated", "last_updated", i.LastUpdated)
}

// main takes what the layer Main prints. The first entries of evidence and turns that are printed are those of such numbers.
func (i *inputs) main(evidence, exchange int) {
	if i.Pattern != BaseSpecialized {
		i.add(mainRow, "main.state", "current_step", "step", i.Step)
		i.add(mainRow, "main.state", "current_status", "status", i.Status)
		i.add(mainRow, "main.state", "ongoing_task", "ongoing_task", i.OngoingTask)
	}
	i.add(mainRow, "main.five", "goal", "goal", i.Goal)
	i.add(mainRow, "main.five", "why_now", "why_now", i.WhyNow)
	i.list(mainRow, "main.five", "constraints", "constraints", i.Constraints)
	i.list(mainRow, "main.five", "plan_brief", "plan_brief", i.PlanBrief)
	i.list(mainRow, "main.five", "open_questions", "open_questions", i.OpenQuestions)
	for n, p := range i.Pending {
		for _, f := range [][2]string{{"id", p.ID}, {"kind", p.Kind}, {"tool", p.Tool}, {"intent", p.Intent}} {
			i.add(mainRow, "main.pending", "pending_approvals", fmt.Sprintf("pending[%d].%s", n, f[0]), f[1])
		}
	}
	if i.Pattern == BaseSpecialized {
		return
	}
	for n, e := range i.Evidence {
		for _, f := range [][2]string{{"source", e.Source}, {"text", e.Text}} {
			i.add(mainRow, "main.evidence", "evidence", fmt.Sprintf("evidence[%d].%s", evidence+n, f[0]), f[1])
		}
	}
	for n, e := range i.Exchanges {
		field := fmt.Sprintf("exchanges[%d].", exchange+n)
		if i.shows("main.recent", "recent_conversation_flow") {
			i.add(mainRow, "exchange", "user", field+"user", e.User)
			i.add(mainRow, "exchange", "assistant", field+"assistant", e.Assistant)
		}
	}
}
