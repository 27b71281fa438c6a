package layers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

// Cut is an item that was left out for want of room.
type Cut struct {
	// Item is evidence, reference, summary, ancestors, exchange, open_question or plan; Budget base, main, specialized or total.
	Item, Budget  string
	Before, After int
}

// Layer is how large a layer is; Budget is 0 where it is not checked.
type Layer struct {
	Name           string
	Tokens, Budget int
}

// Prompt is the prompt of a turn.
type Prompt struct {
	System sysprompt.Prompt
	Cuts   []Cut
	Layers []Layer
}

// OverflowError says that what is never cut is over a budget, or that the most items were cut that may be. Sections are the tokens
// of each.
type OverflowError struct {
	Layer         string
	Tokens, Limit int
	Sections      map[string]int
	// More says that more could have been cut.
	More bool
	// Fixed is what no step cuts: all that is left, or where more could have been cut at least the sections of the layer that no step
	// shortens and, in total, user and reserved_tokens. Largest is which of these has the most tokens, and Most how many; empty where there
	// is none.
	Largest     string
	Fixed, Most int
}

func (e *OverflowError) fixed(name string, tokens int) {
	if e.More {
		e.Fixed += tokens
	}
	if tokens > e.Most {
		e.Largest, e.Most = name, tokens
	}
}

// Error says what would be right.
func (e *OverflowError) Error() string {
	done, right := "after everything was cut that may be", ""
	switch {
	case e.More && e.Fixed <= e.Limit:
		done, right = fmt.Sprintf("after %d items were cut, which is the most", maxRounds), ": send fewer items"
	case e.More:
		done, right = fmt.Sprintf("after %d items were cut", maxRounds), fmt.Sprintf(": what is never cut has at least %d, of which %s has %d", e.Fixed, e.Largest, e.Most)
	case e.Most < e.Tokens:
		right = fmt.Sprintf(": the largest part, %s, has %d", e.Largest, e.Most)
	}
	return fmt.Sprintf("the layer %s has %d tokens %s, and its budget is %d%s", e.Layer, e.Tokens, done, e.Limit, right)
}

// Builder makes prompts of turns. Safe for concurrent use.
type Builder struct{ system *sysprompt.Builder }

// NewBuilder makes a Builder.
func NewBuilder(system *sysprompt.Builder) *Builder { return &Builder{system} }

// maxRounds bounds how often something is cut.
const maxRounds = 128

// Prepare puts the defaults into a request, and finds what is wrong with it. Fields are those of BuildAgentRequest.
func (b *Builder) Prepare(r Request) (Request, []sysprompt.Violation) {
	r.System.Agent = true
	system, found := b.system.Prepare(r.System)
	r.System = system
	var wrong []sysprompt.Violation
	for _, v := range found {
		wrong = append(wrong, sysprompt.Violation{Field: "system." + v.Field, Description: v.Description})
	}
	for _, v := range CheckState(r.State) {
		wrong = append(wrong, sysprompt.Violation{Field: "agent." + v.Field, Description: v.Description})
	}
	if len(r.User) > 4*maxText {
		wrong = append(wrong, sysprompt.Violation{Field: "user", Description: fmt.Sprintf("must have at most %d bytes, and has %d", 4*maxText, len(r.User))})
	}
	if len(wrong) > 0 {
		return r, wrong
	}
	w := r.writer()
	if n := passage.Characters.Size(sysprompt.IdentityLine(r.System) + "\n\n" + w.base().Text); n > maxBase {
		wrong = append(wrong, sysprompt.Violation{Field: "agent.base", Description: fmt.Sprintf("identity and base must have at most %d characters together, and have %d", maxBase, n)})
	}
	return r, wrong
}

// writer takes the items that are printed at all.
func (r Request) writer() *writer {
	locale, _ := template.Locale(r.System.Locale) // Checked.
	w := &writer{State: r.State, texts: template.New(locale, r.System.Texts)}
	w.Summaries, w.Exchanges, w.Evidence = last(w.Summaries, lastSummaries), last(w.Exchanges, lastExchanges), last(w.Evidence, lastEvidence)
	return w
}

func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// turn is a prompt in the making.
type turn struct {
	Request
	*writer
	draft   *sysprompt.Draft
	counter tokens.Counter
}

// Build makes the prompt of a request in which Prepare found nothing wrong. Errors: *OverflowError, *sysprompt.TooLargeError,
// *nodecontext.OverflowError, and of the counter.
func (b *Builder) Build(ctx context.Context, r Request) (Prompt, error) {
	counter, err := b.system.Counter(ctx, r.System.Backend, r.System.Counter)
	if err != nil {
		return Prompt{}, err
	}
	draft, err := b.system.Draft(ctx, r.System, counter)
	if err != nil {
		return Prompt{}, err
	}
	t := turn{Request: r, writer: r.writer(), draft: draft, counter: counter}
	p, err := t.fit(ctx)
	if err != nil {
		return Prompt{}, err
	}
	p.System, err = t.draft.Report(ctx, p.System, counter)
	for _, d := range r.told() {
		if prints(p.System, d.Section) {
			p.System.Diagnostics = append(p.System.Diagnostics, d)
		}
	}
	return p, err
}

// fit cuts until every layer is within its budget.
func (t *turn) fit(ctx context.Context) (Prompt, error) {
	var p Prompt
	for round := 0; ; round++ {
		p.System = t.draft.Compose(t.sections())
		sizes, err := t.sizes(ctx, p.System)
		if err != nil {
			return Prompt{}, err
		}
		if n := len(p.Cuts); n > 0 {
			p.Cuts[n-1].After = tokensOf(sizes, p.Cuts[n-1].Budget)
		}
		p.Layers = sizes
		over := overs(sizes)
		if len(over) == 0 {
			return p, nil
		}
		item, budget := t.cutOne(p.System, over)
		if item == "" || round == maxRounds {
			return Prompt{}, t.overflow(ctx, p.System, sizes, over, item != "")
		}
		p.Cuts = append(p.Cuts, Cut{Item: item, Budget: budget, Before: tokensOf(sizes, budget)})
	}
}

type row struct {
	layer string
	ids   []string
}

// rows are the sections of each layer (field/systemprompt-rules.md 3.3).
var rows = []row{
	{"base", []string{"identity", "base", "long_term_memory", "session", "summaries", "session_counters"}},
	{"main", []string{mainRow}},
	{"specialized", []string{"specialized"}},
}

// sizes counts the layers that have a budget, and all.
func (t *turn) sizes(ctx context.Context, p sysprompt.Prompt) ([]Layer, error) {
	budgets := map[string]int{"base": t.Budgets.Base, "main": t.Budgets.Main, "specialized": t.Budgets.Specialized}
	var all []Layer
	for _, row := range rows {
		var texts []string
		for _, id := range row.ids {
			for _, s := range p.Sections {
				if s.ID == id {
					texts = append(texts, p.Text[s.Start:s.End])
				}
			}
		}
		n, err := t.counter.Count(ctx, strings.Join(texts, "\n\n"))
		if err != nil {
			return nil, err
		}
		all = append(all, Layer{row.layer, n, budgets[row.layer]})
	}
	total := Layer{Name: "total", Budget: t.Budgets.Total}
	if total.Budget > 0 {
		text, err := p.Count(ctx, t.counter)
		if err != nil {
			return nil, err
		}
		user, err := t.counter.Count(ctx, t.User)
		if err != nil {
			return nil, err
		}
		total.Tokens = text + user + t.Reserved
	}
	return append(all, total), nil
}

func tokensOf(layers []Layer, name string) int {
	for _, l := range layers {
		if l.Name == name {
			return l.Tokens
		}
	}
	return 0
}

// overs are the layers over their budgets.
func overs(layers []Layer) map[string]bool {
	over := map[string]bool{}
	for _, l := range layers {
		if l.Budget > 0 && l.Tokens > l.Budget {
			over[l.Name] = true
		}
	}
	return over
}

// cutOne cuts the first item whose layer is over, or of any layer where the total is; item is empty where there is none. What p does
// not print has no item to give: to cut it makes nothing shorter.
func (t *turn) cutOne(p sysprompt.Prompt, over map[string]bool) (item, budget string) {
	for _, step := range []struct {
		item, layer, section string
		shown                bool
		take                 func() bool
	}{
		{"evidence", "main", mainRow, t.showsEvidence(), func() bool { return takeFirst(&t.Evidence, 0, &t.cut.evidence) }},
		{"reference", "", contextRow, t.draft.Nodes != nil, func() bool { return t.draft.Nodes.TakeRef() }},
		{"summary", "base", "summaries", t.showsSummaries(), func() bool { return takeFirst(&t.Summaries, 0, &t.cut.summaries) }},
		{"ancestors", "", contextRow, t.draft.Nodes != nil, func() bool { return t.draft.Nodes.TakeAncestors() > 0 }},
		{"exchange", "main", mainRow, t.showsExchanges(), func() bool { return takeFirst(&t.Exchanges, 1, &t.cut.exchanges) }},
		{"open_question", "main", mainRow, t.shows("main.five", "open_questions"), func() bool { return takeLast(&t.OpenQuestions, &t.cut.questions) }},
		{"plan", "main", mainRow, t.shows("main.five", "plan_brief"), func() bool { return takeLast(&t.PlanBrief, &t.cut.plan) }},
	} {
		budget := ""
		switch {
		case !step.shown || !prints(p, step.section):
		case over[step.layer]:
			budget = step.layer
		case over["total"]:
			budget = "total"
		}
		if budget != "" && step.take() {
			return step.item, budget
		}
	}
	return "", ""
}

// prints says that a section is in the text.
func prints(p sysprompt.Prompt, section string) bool {
	return slices.ContainsFunc(p.Sections, func(s sysprompt.Section) bool { return s.ID == section })
}

// takeFirst takes the oldest item away, but leaves so many.
func takeFirst[T any](list *[]T, stay int, cut *int) bool {
	if len(*list) <= stay {
		return false
	}
	*list = (*list)[1:]
	*cut++
	return true
}

func takeLast[T any](list *[]T, cut *int) bool {
	n := len(*list)
	if n == 0 {
		return false
	}
	*list = (*list)[:n-1]
	*cut++
	return true
}

// overflow names the first layer that is over, with the tokens of every section.
func (t *turn) overflow(ctx context.Context, p sysprompt.Prompt, layers []Layer, over map[string]bool, more bool) error {
	e := &OverflowError{Sections: map[string]int{}, More: more}
	for _, l := range layers {
		if over[l.Name] {
			e.Layer, e.Tokens, e.Limit = l.Name, l.Tokens, l.Budget
			break
		}
	}
	if !more {
		e.Fixed = e.Tokens
	}
	for _, s := range p.Sections {
		n, err := t.counter.Count(ctx, p.Text[s.Start:s.End])
		if err != nil {
			return err
		}
		e.Sections[s.ID] = n
		if layerHas(e.Layer, s.ID) && (!more || !slices.Contains(trimmed, s.ID)) {
			e.fixed(s.ID, n)
		}
	}
	if e.Layer != "total" {
		return e
	}
	user, err := t.counter.Count(ctx, t.User)
	e.fixed("user", user)
	e.fixed("reserved_tokens", t.Reserved)
	return cmp.Or(err, error(e))
}

// trimmed are the sections of which the steps cut items.
var trimmed = []string{"summaries", contextRow, mainRow}

func layerHas(layer, section string) bool {
	if layer == "total" {
		return true
	}
	return slices.ContainsFunc(rows, func(r row) bool { return r.layer == layer && slices.Contains(r.ids, section) })
}
