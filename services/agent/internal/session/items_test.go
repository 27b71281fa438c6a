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
