package benchtable_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
)

func TestMeasureAlternates(t *testing.T) {
	t.Parallel()
	var order string
	var row benchtable.Row
	run := func(side string, figures ...float64) func() (float64, error) {
		return func() (float64, error) {
			order += side
			figure := figures[0]
			figures = figures[1:]
			return figure, nil
		}
	}
	if err := row.Measure(run("o", 1, 10, 20, 30, 40, 50), run("p", 100, 10, 10, 10, 10, 10)); err != nil {
		t.Fatal(err)
	}
	if order != "opoppooppoop" {
		t.Errorf("the order is %s", order)
	}
	if row.Ratio() != 3 || !slices.Equal(row.PeerFigures, []float64{10, 10, 10, 10, 10}) {
		t.Errorf("%+v", row)
	}
}

func TestMeasureEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var row benchtable.Row
	calls := 0
	err := row.Measure(func() (float64, error) { calls++; return 1, nil }, func() (float64, error) { return 0, broken })
	if !errors.Is(err, broken) || calls != 1 || row.Met() {
		t.Errorf("%v after %d calls: %+v", err, calls, row)
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		figures []float64
		want    float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{9, 1}, 1}, {[]float64{3, 1, 2}, 2}, {[]float64{5, 1, 9, 3}, 3}} {
		if got := benchtable.Median(c.figures); got != c.want {
			t.Errorf("the median of %v is %v", c.figures, got)
		}
	}
}

func TestGoals(t *testing.T) {
	t.Parallel()
	least, most := benchtable.AtLeast(8), benchtable.AtMost(8)
	row := func(ratio float64, facts ...benchtable.Fact) benchtable.Row {
		return benchtable.Row{Goal: least, OursFigures: []float64{ratio}, PeerFigures: []float64{1}, Facts: facts}
	}
	exact := func(ratio float64) benchtable.Row {
		r := row(ratio)
		r.Exact = true
		return r
	}
	for name, c := range map[string]struct {
		row  benchtable.Row
		want bool
	}{
		"reached":                           {row(8), true},
		"reached, give or take the noise":   {row(6.9), true},
		"missed":                            {row(6.7), false},
		"a fact reached":                    {row(9, benchtable.Fact{Figure: 8, Goal: &most}), true},
		"a fact missed":                     {row(9, benchtable.Fact{Figure: 8.1, Goal: &most}), false},
		"a fact without a goal":             {row(9, benchtable.Fact{Figure: 1000}), true},
		"counts reached":                    {exact(8), true},
		"counts have no noise":              {exact(7.9), false},
		"nothing measured":                  {benchtable.Row{Goal: most}, false},
		"less is better, and it is less":    {benchtable.Row{Goal: most, OursFigures: []float64{1}, PeerFigures: []float64{1}}, true},
		"less is better, and it is no less": {benchtable.Row{Goal: most, OursFigures: []float64{9.3}, PeerFigures: []float64{1}}, false},
	} {
		if got := c.row.Met(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTheLastLineIsTheFigure(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	rows := []benchtable.Row{
		{Goal: benchtable.AtLeast(1), OursFigures: []float64{2}, PeerFigures: []float64{1}},
		{Goal: benchtable.AtMost(1), OursFigures: []float64{2}, PeerFigures: []float64{1}},
	}
	if benchtable.Print(&b, rows) || !strings.HasSuffix(b.String(), "\nbench: 1 of 2 at goal\n") || !strings.Contains(b.String(), "MISSED") {
		t.Errorf("printed\n%s", b.String())
	}
	if !benchtable.Print(&b, rows[:1]) {
		t.Errorf("printed\n%s", b.String())
	}
}

func TestARowThatSaysWhyNot(t *testing.T) {
	t.Parallel()
	most := benchtable.AtMost(1)
	row := func(ratio float64, facts ...benchtable.Fact) benchtable.Row {
		return benchtable.Row{Goal: benchtable.AtLeast(2), OursFigures: []float64{ratio}, PeerFigures: []float64{1}, Facts: facts, WhyNot: "it takes long"}
	}
	for name, c := range map[string]struct {
		row  benchtable.Row
		last string
		met  bool
	}{
		"missed":                {row(1), "  not met: it takes long\nbench: 0 of 1 at goal, 1 not, with the reason\n", true},
		"reached all the same":  {row(2), "bench: 1 of 1 at goal\n", true},
		"another goal missed":   {row(1, benchtable.Fact{Figure: 2, Goal: &most}), "bench: 0 of 1 at goal\n", false},
		"nothing was measured":  {benchtable.Row{Goal: most, WhyNot: "it takes long"}, "bench: 0 of 1 at goal\n", false},
		"the reason is missing": {benchtable.Row{Goal: most, OursFigures: []float64{9}, PeerFigures: []float64{1}}, "bench: 0 of 1 at goal\n", false},
	} {
		var b strings.Builder
		if met := benchtable.Print(&b, []benchtable.Row{c.row}); met != c.met || !strings.HasSuffix(b.String(), "\n"+c.last) {
			t.Errorf("%s: %v, printed\n%s", name, met, b.String())
		}
	}
}

func ExamplePrint() {
	goal := benchtable.AtLeast(8)
	benchtable.Print(os.Stdout, []benchtable.Row{{
		Ours: "durable creates, 32 writers", Peer: "one fsync per file", Unit: "per second", Goal: benchtable.AtLeast(4),
		OursFigures: []float64{12000, 11000, 13000}, PeerFigures: []float64{1000, 1100, 1000},
		Facts: []benchtable.Fact{{Name: "records per fsync", Figure: 16.25, Goal: &goal}},
	}})
	// Output:
	// durable creates, 32 writers / one fsync per file
	//   ratio 12 (at least 4, give or take 15 %); rounds 12 10 13
	//   ours 12000 per second; rounds 12000 11000 13000
	//   peer 1000 per second; rounds 1000 1100 1000
	//   records per fsync: 16.2 (at least 8)
	// bench: 1 of 1 at goal
}
