package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

func numbers(members []flow.Member) string {
	var words []string
	for _, m := range members {
		words = append(words, fmt.Sprint(m.Index))
	}
	return strings.Join(words, " ")
}

func TestDiffHeads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name              string
		n                 int
		edges             string
		a, b              int
		common, only, oth string
	}{
		{"a fork", 6, "1-2 2-3 3-4 2-5 5-6", 4, 6, "2", "3 4", "5 6"},
		{"one behind the other", 4, "1-2 2-3 3-4", 2, 4, "2", "", "3 4"},
		{"the same", 2, "1-2", 2, 2, "2", "", ""},
		{"two roots", 4, "1-2 3-4", 2, 4, "", "1 2", "3 4"},
		{"a merge on one side", 5, "1-2 1-3 2-4 3-4 3-5", 4, 5, "3", "2 4", "5"},
		{"merged twice", 6, "1-3 2-3 1-4 2-4 3-5 4-6", 5, 6, "1 2", "3 5", "4 6"},
		{"no such member", 2, "1-2", 2, 9, "", "", ""},
	} {
		got := graph(c.n, c.edges).DiffHeads(c.a, c.b)
		if x, y, z := numbers(got.Common), numbers(got.Only), numbers(got.OtherOnly); x != c.common || y != c.only || z != c.oth {
			t.Errorf("%s: common %q, only %q, only the other %q", c.name, x, y, z)
		}
		back := graph(c.n, c.edges).DiffHeads(c.b, c.a)
		if numbers(back.Common) != c.common || numbers(back.Only) != c.oth || numbers(back.OtherOnly) != c.only {
			t.Errorf("%s, the other way round: %+v", c.name, back)
		}
	}
}
