package layers

import (
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// teller gathers what a reply tells of items that are not printed as they were sent.
type teller struct{ all []sysprompt.Diagnostic }

func (t *teller) tell(code, section, format string, args ...any) {
	t.all = append(t.all, sysprompt.Diagnostic{Code: code, Section: section, Message: fmt.Sprintf(format, args...)})
}

// older tells of a list whose last entries alone are printed, and gives where these begin.
func (t *teller) older(section, field string, n, most int) (from int) {
	if n > most {
		t.tell("item_left_out", section, "agent.%s has %d entries, of which the last %d are printed", field, n, most)
	}
	return max(0, n-most)
}

// size tells of an entry that is printed in part.
func (t *teller) size(section, field string, i, n, most int) {
	if n > most {
		t.tell("item_shortened", section, "agent.%s[%d] has %d characters, of which at most %d are printed", field, i, n, most)
	}
}

// told tells of the items of a request that are printed in part, or not at all, for the limits of 3.2, and cleaned. What a budget takes away is
// in Cuts.
func (r Request) told() []sysprompt.Diagnostic {
	t, w := &teller{}, r.writer()
	if w.showsSummaries() {
		t.summaries(r.State.Summaries, w)
	}
	for i, p := range w.Pending {
		t.size(mainRow, "pending", i, passage.Characters.Size(passage.Line(p.Intent)), maxIntent)
	}
	if w.showsEvidence() {
		t.evidence(r.State.Evidence, w)
	}
	if w.showsExchanges() {
		t.exchanges(r.State.Exchanges, w)
	}
	t.cleaned(r, w)
	return t.all
}

func (t *teller) summaries(sent []Summary, w *writer) {
	from := t.older("summaries", "summaries", len(sent), lastSummaries)
	for i, s := range w.Summaries {
		t.size("summaries", "summaries", from+i, passage.Characters.Size(w.summary(s)), maxSummary)
	}
}

func (t *teller) evidence(sent []Evidence, w *writer) {
	from := t.older(mainRow, "evidence", len(sent), lastEvidence)
	for i, e := range w.Evidence {
		t.size(mainRow, "evidence", from+i, passage.Characters.Size(passage.Body(e.Text).Text), maxEvidence)
	}
}

func (t *teller) exchanges(sent []Exchange, w *writer) {
	from, size := t.older(mainRow, "exchanges", len(sent), lastExchanges), passage.Characters.Size
	for i, e := range w.Exchanges {
		t.size(mainRow, "exchanges", from+i, size(passage.Line(e.User))+size(passage.Line(e.Assistant)), maxExchange)
	}
}
