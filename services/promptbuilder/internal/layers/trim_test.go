package layers

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// brimful is full with evidence, and a context of so many references and ancestors.
func brimful(refs, ancestors int) Request {
	r := full()
	r.State.Evidence = []Evidence{{"old", chars(200)}, {"new", chars(200)}}
	nodes := nodecontext.Request{NoCurrent: true, TrimStep: 2, MaxTokens: 1_000_000}
	for i := range refs + ancestors + 1 {
		n := nodecontext.Node{ID: fmt.Sprintf("0196b2c4-1111-7aaa-8bbb-%012x", i), Prompt: "p", Answer: "a", Summary: chars(150)}
		nodes.Nodes = append(nodes.Nodes, n)
		if i < refs {
			nodes.Refs = append(nodes.Refs, n.ID)
		} else {
			nodes.Path = append(nodes.Path, n.ID)
		}
	}
	r.System.Context = &nodes
	r.State.Budgets = Budgets{}
	return r
}

// set is a budget of one layer alone, or of the whole.
func set(layer string, tokens int) (b Budgets) {
	*map[string]*int{"base": &b.Base, "main": &b.Main, "specialized": &b.Specialized, "total": &b.Total}[layer] = tokens
	return b
}

// size is what a layer has when nothing is cut.
func size(t testing.TB, r Request, layer string) int {
	t.Helper()
	r.State.Budgets = set(layer, 1_000_000)
	return tokensOf(built(t, r).Layers, layer)
}

// tester is what a test and a property have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// stays are what is in every prompt of full: constraints, approvals, the form of the output, and the newest turn.
func stays(t tester, text string) {
	t.Helper()
	for _, part := range []string{"制約: (1) " + chars(maxItem) + " (2) " + chars(maxItem) + "\n", "a-1: TOOL_CALL write: " + chars(maxIntent) + "\n", "\n  \"state_delta\": ", "ユーザー: " + chars(49) + "…\n応答: "} {
		if !strings.Contains(text, part) {
			t.Fatalf("%q went", part)
		}
	}
}

// The trim order, for each budget that may be exceeded: what goes in which order, and that the rest stays whatever the budget is, until
// the error says which layer has no room (field/systemprompt-rules.md 3.3).
func TestTrimOrder(t *testing.T) {
	t.Parallel()
	for layer, want := range map[string][]string{
		"base":        {"summary", "summary", "summary", "summary", "summary"},
		"main":        {"evidence", "evidence", "exchange", "exchange", "open_question", "open_question", "plan", "plan", "plan"},
		"specialized": nil,
		"total": {
			"evidence", "evidence", "reference", "reference", "summary", "summary", "summary", "summary", "summary", "ancestors", "ancestors", "exchange", "exchange",
			"open_question", "open_question", "plan", "plan", "plan",
		},
	} {
		t.Run(layer, func(t *testing.T) {
			t.Parallel()
			r := brimful(2, 3)
			longest := 0
			for tokens := size(t, r, layer); ; tokens -= 61 {
				r.State.Budgets = set(layer, max(1, tokens))
				p, err := build(t, r)
				var over *OverflowError
				if errors.As(err, &over) {
					if over.Layer != layer || over.Limit != max(1, tokens) || over.Tokens <= over.Limit || over.Sections["main"] == 0 || !strings.Contains(err.Error(), layer) {
						t.Errorf("%+v", over)
					}
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				var items []string
				for _, c := range p.Cuts {
					items = append(items, c.Item)
					if c.Budget != layer || c.After >= c.Before {
						t.Errorf("%+v", c)
					}
				}
				if len(items) > len(want) || !slices.Equal(want[:len(items)], items) {
					t.Fatal(cmp.Diff(want, items))
				}
				longest = max(longest, len(items))
				stays(t, p.System.Text)
			}
			if longest != len(want) {
				t.Errorf("only %d of %d items ever went", longest, len(want))
			}
		})
	}
}

// Each step by itself: where one kind alone has items, these go, in their order, and their number stands in their place.
func TestEachStepOfTheTrimOrder(t *testing.T) {
	t.Parallel()
	const first, second, newest = "一番目、", "二番目、", "三番目、"
	long := func(begin string) string { return begin + chars(90) }
	for name, c := range map[string]struct {
		state  State
		layers []string
		// goes goes first, then the other one; marks are what stands there then.
		goes  string
		marks [2]string
	}{
		"evidence": {
			State{Evidence: []Evidence{{"s", long(first)}, {"s", long(second)}}}, []string{"main", "total"}, first,
			[2]string{"# 証拠（ツール結果・参照）\n（1件省略）\n<evidence source=\"s\">\n" + second, "# 証拠（ツール結果・参照）\n（2件省略）\n\n"},
		},
		"summary": {
			State{Summaries: []Summary{{Text: long(first)}, {Text: long(second)}}}, []string{"base", "total"}, first,
			[2]string{"件）:\n- （1件省略）\n- " + second, "件）:\n- （2件省略）\n\n"},
		},
		"exchange": {
			State{Exchanges: []Exchange{{first, long("")}, {second, long("")}, {newest, long("")}}}, []string{"main", "total"}, first,
			[2]string{"# 直近の会話の流れ（短期記憶）\n（1件省略）\nユーザー: " + second, "# 直近の会話の流れ（短期記憶）\n（2件省略）\nユーザー: " + newest},
		},
		"open_question": {
			State{OpenQuestions: []string{long(first), long(second)}}, []string{"main", "total"}, second,
			[2]string{"未解決の問い: (1) " + long(first) + " （1件省略）\n", "未解決の問い: （2件省略）\n"},
		},
		"plan": {
			State{PlanBrief: []string{long(first), long(second)}}, []string{"main", "total"}, second,
			[2]string{"直近の計画: (1) " + long(first) + " （1件省略）\n", "直近の計画: （2件省略）\n"},
		},
	} {
		for _, layer := range c.layers {
			r := Request{State: c.state}
			tokens := size(t, r, layer)
			for n, mark := range c.marks {
				r.State.Budgets = set(layer, tokens-1)
				p := built(t, r)
				text := p.System.Text
				if len(p.Cuts) != n+1 || strings.Contains(text, c.goes) || !strings.Contains(text, mark) || n == 1 && (strings.Contains(text, first) || strings.Contains(text, second)) {
					t.Errorf("%s by %s: %+v in %s", name, layer, p.Cuts, text)
				}
				for _, cut := range p.Cuts {
					if cut.Item != name || cut.Budget != layer {
						t.Errorf("%s by %s: %+v", name, layer, cut)
					}
				}
				tokens = tokensOf(p.Layers, layer)
			}
			r.State.Budgets = set(layer, tokens-1)
			if _, err := build(t, r); !errors.As(err, new(*OverflowError)) {
				t.Errorf("%s by %s, nothing left: %v", name, layer, err)
			}
		}
	}
}

// What a context gives: references by themselves, the last first, and lines of ancestors, the oldest trim_step at once.
func TestContextGivesWay(t *testing.T) {
	t.Parallel()
	for item, c := range map[string]struct {
		r    Request
		gone []string // last digits of ids
	}{"reference": {brimful(4, 0), []string{"3"}}, "ancestors": {brimful(0, 4), []string{"0", "1"}}} {
		c.r.State = State{}
		c.r.State.Budgets = set("total", size(t, c.r, "total")-1)
		p := built(t, c.r)
		if len(p.Cuts) != 1 || p.Cuts[0].Item != item || p.Cuts[0].Budget != "total" {
			t.Errorf("%s: %+v", item, p.Cuts)
		}
		var gone []string
		for _, e := range p.System.Context.Entries {
			if e.Form == nodecontext.LeftOut {
				gone = append(gone, e.ID[len(e.ID)-1:])
			}
		}
		if !slices.Equal(gone, c.gone) {
			t.Errorf("%s: %q went", item, gone)
		}
	}
}

// What the user says counts in the total, and nothing is taken from it: where it has no room, the error says so.
func TestTheUtteranceIsNeverCut(t *testing.T) {
	t.Parallel()
	r := full()
	r.User, r.State.Budgets = chars(3000), Budgets{Total: 3000}
	var over *OverflowError
	if _, err := build(t, r); !errors.As(err, &over) || over.Layer != "total" || over.Tokens < 3000 || over.More {
		t.Errorf("%+v", over)
	}
}

// What is not printed, by the pattern, by the caller's texts or because the request leaves it out, is not cut either: nothing would be shorter, the reply would
// tell of texts that the model never had, and the rounds would be gone for what is there.
func TestWhatIsNotPrintedIsNotCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set    func(r *Request)
		layer  string
		absent []string
		cut    string // goes all the same
	}{
		"the pattern":         {func(r *Request) { r.State.Pattern, r.State.Step = BaseSpecialized, "REVIEW" }, "main", []string{"evidence", "exchange"}, "plan"},
		"excluded summaries":  {func(r *Request) { r.System.Exclude = []string{"summaries"} }, "total", []string{"summary"}, "ancestors"},
		"an excluded context": {func(r *Request) { r.System.Exclude = []string{contextRow} }, "total", []string{"reference", "ancestors"}, "summary"},
		"the caller's texts of main": {func(r *Request) {
			r.System.Texts = map[string]string{"main.evidence": "E", "main.recent": "R", "main.five": "{constraints} {plan_brief}"}
		}, "main", []string{"evidence", "exchange", "open_question"}, "plan"},
		"the caller's text of summaries": {func(r *Request) { r.System.Texts = map[string]string{"summaries": "S"} }, "total", []string{"summary"}, "ancestors"},
		"many excluded references": {func(r *Request) {
			*r = brimful(maxRounds+2, 3)
			r.System.Exclude = []string{contextRow}
		}, "total", []string{"reference", "ancestors"}, "plan"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := brimful(2, 3)
			c.set(&r)
			whole := size(t, r, c.layer)
			var all []string
			for tokens := whole; ; tokens -= 20 {
				r.State.Budgets = set(c.layer, tokens)
				p, err := build(t, r)
				var over *OverflowError
				if errors.As(err, &over) {
					if over.More {
						t.Error(err)
					}
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				all = nil
				for _, cut := range p.Cuts {
					if all = append(all, cut.Item); cut.After >= cut.Before {
						t.Fatalf("%+v", cut)
					}
				}
			}
			if !slices.Contains(all, c.cut) || slices.ContainsFunc(c.absent, func(item string) bool { return slices.Contains(all, item) }) {
				t.Errorf("cut were %v", all)
			}
		})
	}
}

// At most 128 items are cut: where that is not enough, the error says so, and not that nothing else could have gone.
func TestRoundsOfCuttingAreBounded(t *testing.T) {
	t.Parallel()
	r := brimful(maxRounds+2, 0)
	r.State = State{}
	whole := size(t, r, "total")
	cuts := func(total int) int {
		r.State.Budgets = set("total", total)
		p, err := build(t, r)
		if err != nil {
			return maxRounds + 1
		}
		return len(p.Cuts)
	}
	least := sort.Search(whole, func(total int) bool { return cuts(total) <= maxRounds })
	if n := cuts(least); n != maxRounds {
		t.Errorf("%d cuts at %d of %d tokens", n, least, whole)
	}
	r.State.Budgets = set("total", least-1)
	var over *OverflowError
	if _, err := build(t, r); !errors.As(err, &over) || !over.More || !strings.Contains(err.Error(), "after 128 items were cut") {
		t.Error(err)
	}
}

// Where what is never cut is over the budget alone, fewer items would not help, and the error names what is large. What is left when
// everything was cut is what is never cut: the error says no other number.
func TestOverflowNamesWhatIsNeverCut(t *testing.T) {
	t.Parallel()
	r := brimful(maxRounds+2, 0)
	r.System.Files = []sysprompt.File{{Name: "AGENTS.md", Content: []byte(chars(9000))}}
	r.State.Budgets = set("total", 5000)
	var over *OverflowError
	_, err := build(t, r)
	if !errors.As(err, &over) || !over.More || over.Largest != "project_context" || over.Fixed <= over.Sections["project_context"] {
		t.Fatalf("%+v", over)
	}
	want := fmt.Sprintf("after 128 items were cut, and its budget is 5000: what is never cut has at least %d, of which project_context has %d", over.Fixed, over.Sections["project_context"])
	if !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
	r.System.Files, r.User = nil, chars(9000)
	if _, err := build(t, r); !errors.As(err, &over) || over.Largest != "user" || over.Most != size(t, r, "total")-size(t, Request{System: r.System, State: r.State}, "total") {
		t.Error(err)
	}
	for _, c := range []struct {
		layer    string
		files    []sysprompt.File
		right    string
		sections []string
	}{
		{"base", nil, ": the largest part, long_term_memory, has ", []string{"long_term_memory"}},
		{"total", []sysprompt.File{{Name: "AGENTS.md", Content: []byte(chars(9000))}}, ": the largest part, project_context, has ", []string{"project_context"}},
		{"total", nil, ": the largest part, main, has ", []string{mainRow}},
		{"main", nil, "", nil},
	} {
		r := full()
		r.System.Files, r.User, r.State.Budgets = c.files, chars(100), set(c.layer, 10)
		_, err := build(t, r)
		if !errors.As(err, &over) {
			t.Fatal(err)
		}
		want := fmt.Sprintf("the layer %s has %d tokens after everything was cut that may be, and its budget is 10%s", c.layer, over.Tokens, c.right)
		for _, id := range c.sections {
			want += strconv.Itoa(over.Sections[id])
		}
		if over.More || over.Fixed != over.Tokens || err.Error() != want {
			t.Errorf("%v, and not %s", err, want)
		}
	}
}

// Whatever a session has and whatever its budgets are: all layers fit them, or the error names one that does not; what is never cut is
// in every prompt, and no item goes that did not have to.
func TestBudgetsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := brimful(rapid.IntRange(0, 4).Draw(t, "references"), rapid.IntRange(0, 6).Draw(t, "ancestors"))
		some := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
		s := &r.State
		s.Summaries, s.Exchanges = s.Summaries[some("summaries", lastSummaries):], s.Exchanges[some("exchanges", lastExchanges-1):]
		s.Evidence, s.PlanBrief, s.OpenQuestions = s.Evidence[some("evidence", 2):], s.PlanBrief[some("plan", maxPlan):], s.OpenQuestions[some("questions", maxQuestions):]
		s.Pattern = rapid.SampledFrom([]Pattern{BaseMain, BaseMainSpecialized}).Draw(t, "pattern")
		s.Budgets = Budgets{some("base", 1500), some("main", 2500), some("specialized", 400), some("total", 6000)}
		s.Reserved = some("reserved", 500)
		p, err := build(t, r)
		var over *OverflowError
		if errors.As(err, &over) {
			if over.Tokens <= over.Limit {
				t.Fatalf("%+v", over)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range p.Layers {
			if l.Budget > 0 && l.Tokens > l.Budget {
				t.Fatalf("%+v", l)
			}
		}
		if n := len(p.Cuts); n > 0 && p.Cuts[n-1].Before <= map[string]int{"base": s.Budgets.Base, "main": s.Budgets.Main, "total": s.Budgets.Total}[p.Cuts[n-1].Budget] {
			t.Fatalf("the last cut was not needed: %+v", p.Cuts[n-1])
		}
		stays(t, p.System.Text)
	})
}
