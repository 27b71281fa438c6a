package write

import (
	"strings"
	"testing"
)

// TestAHalfIsNoWhole: what is stored of an answer that broke off is not told as stored and done with.
func TestAHalfIsNoWhole(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &screen{session: &session{Options: Options{Out: &out}}}
	c.show(&round{shape: three, total: 2, answers: []*answer{
		{node: "nodes/a", known: true, whole: true, text: "雨。"}, {node: "nodes/b", known: true, text: "、私は"},
	}})
	for _, want := range []string{"stored already: nodes/a", "it broke off: nodes/b 「、私は」"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, out.String())
		}
	}
}
