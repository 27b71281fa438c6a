package session

import (
	"strings"
	"testing"
)

// TestItemsAreText: what would steer a terminal, or turn the text around it, is refused with its place; Japanese, emoji of several characters and marks
// of direction are text.
func TestItemsAreText(t *testing.T) {
	t.Parallel()
	if wrong := (Items{Goal: "港の話　👩‍👩‍👧を書く", WhyNow: "a\tשלום\u200f!", OpenQuestions: []string{"か\u3099"}}).Check(); wrong != nil {
		t.Errorf("%+v", wrong)
	}
	for _, bad := range []string{"\x00", "\x1b[2J", "\u202e", "\u2066", "\u0085"} {
		wrong := Items{Goal: "港" + bad + "町", Constraints: []string{"a", bad + "b"}}.Check()
		if len(wrong) != 2 || wrong[0].Field != "goal" || wrong[1].Field != "constraints[1]" || !strings.Contains(wrong[0].Description, "control characters, and has U+") {
			t.Errorf("%q: %+v", bad, wrong)
		}
	}
}

// TestItemsAreLinesThatShowSomething: what some programs show as several lines is none, and what shows nothing is blank, as it is where there are only spaces;
// characters that are seen together with what shows nothing alone are text.
func TestItemsAreLinesThatShowSomething(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"x\u2028y", "x\u2029y", "x\ny", "x\ry"} {
		wrong := Items{Goal: line, OpenQuestions: []string{line}}.Check()
		if len(wrong) != 2 || wrong[0] != (Violation{"goal", "must be one line"}) || wrong[1] != (Violation{"open_questions[0]", "must be one line"}) {
			t.Errorf("%q: %+v", line, wrong)
		}
	}
	for _, none := range []string{"", " \t\u3000\u00a0", "\u00ad", "\u200b\u200d\ufe0f", "\u115f\u1160", "\u3164", " \uffa0 ", "\u2800"} {
		wrong := Items{PlanBrief: []string{"a", none}}.Check()
		if len(wrong) != 1 || wrong[0] != (Violation{"plan_brief[1]", "must not be blank"}) {
			t.Errorf("%q: %+v", none, wrong)
		}
		if told := (Items{Goal: none, WhyNow: "今"}).Warnings(nil); len(told) != 1 || told[0] != "there is a reason and no goal" {
			t.Errorf("%q: %q", none, told)
		}
	}
	if wrong := (Items{PlanBrief: []string{"❤\ufe0f", "葛\U000e0100飾", "co\u00adop"}}).Check(); wrong != nil {
		t.Errorf("%+v", wrong)
	}
}
