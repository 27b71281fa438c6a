package node_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

func TestRounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ seconds, wantSeconds, rate, wantRate float64 }{
		{0, 0, 0, 0},
		{1.6523210000000002, 1.652321, 6.0512820512820514, 6.051},
		{0.0000004, 0, 0.0004, 0},
		{0.25, 0.25, 84, 84},
		{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64, math.MaxFloat64},
	} {
		in := node.Node{Texts: []node.Text{{Duration: c.seconds, Rate: c.rate}}, Generation: &node.Generation{PromptSeconds: c.seconds, AnswerSeconds: c.seconds}}
		want := node.Node{
			Texts:      []node.Text{{Duration: c.wantSeconds, Rate: c.wantRate}},
			Generation: &node.Generation{PromptSeconds: c.wantSeconds, AnswerSeconds: c.wantSeconds},
		}
		if diff := cmp.Diff(want, in.Rounded()); diff != "" {
			t.Error(diff)
		}
		score := c.seconds
		if got := (node.Node{Score: &score}).Rounded(); *got.Score != c.wantSeconds || score != c.seconds {
			t.Errorf("score %v became %v", score, *got.Score)
		}
		if in.Texts[0].Duration != c.seconds || in.Generation.PromptSeconds != c.seconds {
			t.Error("the node itself was changed")
		}
	}
	if diff := cmp.Diff(node.Node{}, node.Node{}.Rounded()); diff != "" {
		t.Error(diff)
	}
}

// A score that rounds to nothing is 0, not -0, which some clients print.
func TestRoundedHasNoNegativeZero(t *testing.T) {
	t.Parallel()
	score := -1e-9
	if got := *(node.Node{Score: &score}).Rounded().Score; got != 0 || math.Signbit(got) {
		t.Errorf("it is %v", got)
	}
}

// Whatever is measured, a file shows at most six decimals of it, and rounding again changes nothing.
func TestRoundedIsShort(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := node.Node{Texts: []node.Text{{Duration: rapid.Float64Range(0, 1e6).Draw(t, "seconds")}}}.Rounded()
		text := strconv.FormatFloat(n.Texts[0].Duration, 'f', -1, 64)
		if len(text) > len("1000000.000000") {
			t.Fatalf("%s is written", text)
		}
		if diff := cmp.Diff(n, n.Rounded()); diff != "" {
			t.Fatal(diff)
		}
	})
}
