package session

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// TestThePage: the picture of the table, and the lists of what is checked and of what is taken away, are in the documentation as they are here.
// -update writes them.
func TestThePage(t *testing.T) {
	t.Parallel()
	page := filepath.Join(testkit.Root(t), "docs", "agent-states.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, content := range map[string]string{"table": picture(), "properties": listed(), "rules": takenAway()} {
		begin, end := "<!-- begin of the "+name+" -->\n", "<!-- end of the "+name+" -->\n"
		before, rest, ok := strings.Cut(want, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("the page has no place for the %s", name)
		}
		want = before + begin + content + end + after
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil { //nolint:gosec // documentation
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("run this test with -update: %s", diff)
	}
}

// property is what must hold in each state, or over each step.
type property struct{ id, says string }

// properties are all that are checked (field/agent_model.py, PROPS).
var properties = []property{
	{"I1", "the step is AWAITING_APPROVAL exactly while an approval is pending"},
	{"I2", "at most one move of the model an utterance"},
	{"I3", "a call starts with what was shown, and as policy says now"},
	{"I4", "a call has its effect once at most"},
	{"I6", "a session that has ended changes by a new task alone, and a work that is being stopped takes no answer"},
	{"I7", "what expired, was denied, lapsed or was never approved does not start"},
	{"I8", "nothing outside the folder changes"},
	{"T1", "each change of step is a row of the table, each change of lifecycle one that there is"},
	{"T2", "the way out of AWAITING_APPROVAL goes by the outcomes, not by their order"},
	{"T3", "calls start in EXECUTION alone"},
	{"T4", "each row of the table fires"},
	{"T5", "two processes never act on a folder at once"},
	{"O1", "an approval gets one outcome"},
	{"O2", "an approval that waits has a clock that ends it"},
	{"O3", "what is approved will run, waits visibly, or is voided"},
	{"O4", "a decision that was acknowledged is in the record"},
	{"O5", "what is recorded as not done is not done later"},
	{"O6", "a write replaces nothing that its approver did not see"},
	{"O7", "each call has its result before the model is asked again"},
	{"O8", "an approved result is not carried into other work"},
	{"L1", "where nothing moves, a session waits visibly for a person or a clock, or has ended"},
	{"L2", "nothing repeats for ever without a person"},
	{"L3", "a cancel ends by itself"},
	{"L4", "DONE stays in reach"},
	{"L5", "a message that was queued before a cancel starts nothing after it"},
	{"U1", "a request acts on what its sender saw alone"},
}

// listed are the properties as a table.
func listed() string {
	var b strings.Builder
	b.WriteString("| | |\n|---|---|\n")
	for _, p := range properties {
		fmt.Fprintf(&b, "| %s | %s |\n", p.id, p.says)
	}
	return b.String()
}

// takenAway are the rules as a table.
func takenAway() string {
	var b strings.Builder
	b.WriteString("| rule | without it breaks |\n|---|---|\n")
	all := slices.Clone(mutants)
	slices.SortStableFunc(all, func(a, b mutant) int { return strings.Compare(a.number(), b.number()) })
	for _, m := range all {
		where := ""
		if m.around != "" {
			where = " (around the machine)"
		}
		fmt.Fprintf(&b, "| %s%s | %s |\n", m.name, where, strings.Join(m.properties, " or "))
	}
	return b.String()
}

// number is that of the rule.
func (m mutant) number() string {
	number, _, _ := strings.Cut(m.name, " ")
	return number
}

// picture is the table as a diagram and as rows.
func picture() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> PLANNING\n")
	edges := map[[2]Step][]string{}
	var order [][2]Step
	for _, r := range Table {
		e := [2]Step{r.From, r.To}
		if edges[e] == nil {
			order = append(order, e)
		}
		edges[e] = append(edges[e], string(r.Trigger))
	}
	for _, e := range order {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", e[0], e[1], strings.Join(edges[e], ", "))
	}
	b.WriteString("```\n\n| from | by | to | only if | status after |\n|---|---|---|---|---|\n")
	for _, r := range Table {
		var states []string
		for _, s := range r.Status {
			states = append(states, string(s))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.From, r.Trigger, r.To, r.Guard, strings.Join(states, ", "))
	}
	return b.String()
}

// TestEveryRuleIsTakenAway: those of the model that the rules were checked with are all here, and each is noticed by a property that there is.
func TestEveryRuleIsTakenAway(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range mutants {
		names = append(names, m.number())
		for _, p := range m.properties {
			if !slices.ContainsFunc(properties, func(known property) bool { return known.id == p }) {
				t.Errorf("%s: there is no property %s", m.name, p)
			}
		}
	}
	slices.Sort(names)
	want := "C25 C26 C27 C28 C29 C30 C31 C32 C33 C34 C35 C36 C37 C38 C39 C40 C41 C42 C43 C44 C45 C46 C47 C48 C49 C50 C51 C52 C53 C54 C55 C56 C57 C58 C59 C77 S1 S2"
	if got := strings.Join(slices.Compact(names), " "); got != want {
		t.Errorf("taken away are %s", got)
	}
}
