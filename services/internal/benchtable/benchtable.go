// Package benchtable compares operations of ours with those of a peer and prints the result.
//
// Machines differ and share their disks, so only ratios of the same run count: both sides alternate, each round gives a
// ratio, and the median of these is held against the goal. Beside it stand exact counts, which need no luck.
package benchtable

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Rounds is how many rounds a row is measured in.
const Rounds = 5

// Goal is what a figure should be.
type Goal struct {
	// AtMost says that less is better; else more is.
	AtMost bool
	Value  float64
}

// AtLeast is a goal that is reached from below.
func AtLeast(value float64) Goal { return Goal{Value: value} }

// AtMost is a goal that is reached from above.
func AtMost(value float64) Goal { return Goal{AtMost: true, Value: value} }

// Met says that a figure is at the goal.
func (g Goal) Met(figure float64) bool {
	if g.AtMost {
		return figure <= g.Value
	}
	return figure >= g.Value
}

// near is the goal less the noise, which counts do not have.
func (r *Row) near() Goal {
	switch {
	case r.Exact:
		return r.Goal
	case r.Goal.AtMost:
		return AtMost(r.Goal.Value * (1 + Noise))
	}
	return AtLeast(r.Goal.Value * (1 - Noise))
}

// String writes the goal as a table shows it.
func (g Goal) String() string {
	if g.AtMost {
		return "at most " + number(g.Value)
	}
	return "at least " + number(g.Value)
}

// Fact is a figure beside a row. Without a goal it is for the reader.
type Fact struct {
	Name   string
	Figure float64
	Goal   *Goal
}

// Row is one operation: ours, the peer's, and how they compare.
type Row struct {
	// Ours, Peer and Unit say what was measured, as in `durable creates`, `one fsync per file`, `per second`.
	Ours, Peer, Unit string
	Goal             Goal
	// Exact says that the figures are counts and not times, so that the ratio is at the goal or is not.
	Exact bool
	// OursFigures and PeerFigures are those of each round.
	OursFigures, PeerFigures []float64
	Facts                    []Fact
	// WhyNot is one sentence, of what was measured, that says why the ratio cannot be at its goal, where a goal allows that: then the row
	// is not at goal, and fails nothing.
	WhyNot string
}

// Noise is how far a ratio of times may be from its goal and still count as at it: a shared machine moves a median so far
// from one run to the next (field/perf.md 7). Counts have no noise.
const Noise = 0.15

// Measure runs both sides once without looking, since the first files of a folder and the first calls of a program cost
// more, and then in turn, and notes their figures: a round begins with the side that ended the one before.
func (r *Row) Measure(ours, peer func() (float64, error)) error {
	for _, warm := range []func() (float64, error){ours, peer} {
		if _, err := warm(); err != nil {
			return err
		}
	}
	for round := range Rounds {
		first, second := side{ours, &r.OursFigures}, side{peer, &r.PeerFigures}
		if round%2 == 1 {
			first, second = second, first
		}
		for _, s := range []side{first, second} {
			figure, err := s.run()
			if err != nil {
				return err
			}
			*s.figures = append(*s.figures, figure)
		}
	}
	return nil
}

type side struct {
	run     func() (float64, error)
	figures *[]float64
}

// Ratio is the median of the ratios of the rounds, ours to the peer's; 0 without a round.
func (r *Row) Ratio() float64 { return Median(r.ratios()) }

func (r *Row) ratios() []float64 {
	ratios := make([]float64, len(r.PeerFigures))
	for i, peer := range r.PeerFigures {
		ratios[i] = r.OursFigures[i] / peer
	}
	return ratios
}

// Met says that the ratio and all facts are at their goals.
func (r *Row) Met() bool { return r.factsMet() && len(r.PeerFigures) > 0 && r.near().Met(r.Ratio()) }

// explained says that the ratio alone is not at its goal, and the row says why.
func (r *Row) explained() bool {
	return r.WhyNot != "" && len(r.PeerFigures) > 0 && r.factsMet() && !r.Met()
}

func (r *Row) factsMet() bool {
	return !slices.ContainsFunc(r.Facts, func(f Fact) bool { return f.Goal != nil && !f.Goal.Met(f.Figure) })
}

// Median gives the middle of figures, the lower one of two; 0 for none.
func Median(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[(len(sorted)-1)/2]
}

// Print writes the table. The last line says how many rows are at their goals, and how many are not and say why (Row.WhyNot); met is
// whether there are no others.
func Print(w io.Writer, rows []Row) (met bool) {
	reached, explained := 0, 0
	for _, r := range rows {
		r.print(w)
		if r.Met() {
			reached++
		}
		if r.explained() {
			explained++
			fmt.Fprintf(w, "  not met: %s\n", r.WhyNot)
		}
	}
	why := ""
	if explained > 0 {
		why = fmt.Sprintf(", %d not, with the reason", explained)
	}
	fmt.Fprintf(w, "bench: %d of %d at goal%s\n", reached, len(rows), why)
	return reached+explained == len(rows)
}

func (r *Row) print(w io.Writer) {
	fmt.Fprintf(w, "%s / %s\n", r.Ours, r.Peer)
	noise := fmt.Sprintf(", give or take %.0f %%", 100*Noise)
	if r.Exact {
		noise = ""
	}
	fmt.Fprintf(w, "  ratio %s (%s%s)%s; rounds %s\n", number(r.Ratio()), r.Goal, noise, missed(r.near(), r.Ratio()), numbers(r.ratios()))
	for _, side := range []struct {
		name    string
		figures []float64
	}{{"ours", r.OursFigures}, {"peer", r.PeerFigures}} {
		fmt.Fprintf(w, "  %s %s %s; rounds %s\n", side.name, number(Median(side.figures)), r.Unit, numbers(side.figures))
	}
	for _, f := range r.Facts {
		goal := ""
		if f.Goal != nil {
			goal = fmt.Sprintf(" (%s)%s", *f.Goal, missed(*f.Goal, f.Figure))
		}
		fmt.Fprintf(w, "  %s: %s%s\n", f.Name, number(f.Figure), goal)
	}
}

func missed(g Goal, figure float64) string {
	if g.Met(figure) {
		return ""
	}
	return " MISSED"
}

// number shows three digits that count, and no exponent.
func number(f float64) string {
	if f >= 100 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

func numbers(figures []float64) string {
	texts := make([]string, len(figures))
	for i, f := range figures {
		texts[i] = number(f)
	}
	return strings.Join(texts, " ")
}
