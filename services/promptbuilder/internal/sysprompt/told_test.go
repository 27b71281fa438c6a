package sysprompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A text of the request is cleaned as a section of it is: a block of YAML, which ends with a line feed, and one of Windows give a prompt
// that ends as every prompt does; what is taken out of it is told, and one that the prompt cannot be without is refused where nothing is left.
func TestOwnTextsAreCleaned(t *testing.T) {
	t.Parallel()
	p := build(t, Request{Locale: "en", Product: "P", Texts: map[string]string{"identity": "A\u0007\r\n\r\nB {prod\u0007uct} \r\n"}})
	if p.Text != "A\n\nB P" || !cmp.Equal(codes(p), []string{"text_cleaned  identity"}) || p.Diagnostics[0].Message != "2 control or tag characters are gone" {
		t.Errorf("%q, %v", p.Text, p.Diagnostics)
	}
	for text, problem := range map[string]string{"": "must not be empty: it is in every prompt", "\r\n \u0007": "must not be empty: it is in every prompt", "{pro\u0007}": "has {pro}; this text may have {product}"} {
		_, wrong := NewBuilder(folders{}, nil, Defaults{}).Prepare(Request{Texts: map[string]string{"identity": text}})
		if !cmp.Equal(wrong, []Violation{{`texts["identity"]`, problem}}) {
			t.Errorf("%q: %v", text, wrong)
		}
	}
}

// What is taken out of a word of the caller, or lost with a text of theirs, is told: a summary of a tool that is cut, a control
// character of the identity, and each placeholder that a text no longer has.
func TestWhatIsLostIsTold(t *testing.T) {
	t.Parallel()
	p := build(t, Request{
		Locale: "en", Identity: "Mo\amo", Tools: []Tool{{Name: "x", Summary: strings.Repeat("夜", 201)}, {Name: "y", Summary: strings.Repeat("夜", 200) + " "}},
		Texts: map[string]string{
			"main.five": "{constraints}", "main.evidence": "E", "summaries": "nothing", "main.recent": "", "exchange": "{user}: {assistant}", "identity": "Not used",
			"summarise": "{プロンプト全文}",
		},
	})
	var got []string
	for _, d := range p.Diagnostics {
		got = append(got, strings.Join([]string{d.Code, d.Section, d.Part, d.Message}, "|"))
	}
	by := ": what stands for it by default is not printed"
	want := []string{
		"tool_shortened|tooling|x|its summary has 201 characters, and is cut to 200",
		"text_without||main.evidence|this text of the request has no {evidence}" + by,
		"text_without||main.five|this text of the request has no {goal}, {why_now}, {plan_brief}, {open_questions}" + by,
		"text_without||main.recent|this text of the request has no {recent_conversation_flow}" + by,
		"text_without||summaries|this text of the request has no {summary_count}, {recent_conversation_summary}" + by,
		"text_without||summarise|this text of the request has no {answer}" + by,
		"text_cleaned|identity||1 control or tag characters are gone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for product, want := range map[string]int{"": 0, "Kumi": 1} {
		if p := build(t, Request{Product: product, Texts: map[string]string{"identity": "You are Momo."}}); len(p.Diagnostics) != want {
			t.Errorf("the product %q: %v", product, p.Diagnostics)
		}
	}
}
