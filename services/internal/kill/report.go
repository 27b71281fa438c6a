// Package kill is what the commands share that kill a service again and again and look whether anything that it acknowledged is missing
// (`make crash`): the program that is killed, the moments at which it is, and the report.
package kill

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// Report is what came out so far. It is for one goroutine.
type Report struct {
	// Random draws everything that is drawn for the whole run.
	Random *rand.Rand
	// Kills are those of a program that worked, Lost what was not as it was acknowledged, FailedStarts the starts that came to nothing.
	Kills, Lost, FailedStarts int
	// Acknowledged counts what was acknowledged by its name, Moments when the program was killed.
	Acknowledged map[string]int
	Moments      map[Moment]int
	// SlowestStart is the longest time until the program answered.
	SlowestStart time.Duration

	out     io.Writer
	started time.Time
}

// NewReport begins a report that is told to out.
func NewReport(out io.Writer, seed uint64) *Report {
	return &Report{
		Random: rand.New(rand.NewPCG(seed, 1)), Acknowledged: map[string]int{}, Moments: map[Moment]int{},
		out: out, started: time.Now(),
	}
}

// Sound says that nothing was lost, and every start came to something.
func (r *Report) Sound() bool { return r.Lost == 0 && r.FailedStarts == 0 }

// maxTold is how many losses are told one by one.
const maxTold = 20

// Lose counts something that is not as it was acknowledged, and tells it.
func (r *Report) Lose(format string, args ...any) {
	if r.Lost++; r.Lost <= maxTold {
		r.Say("lost: "+format, args...)
	}
}

// FailStart counts a start that came to nothing, and tells why.
func (r *Report) FailStart(err error) {
	r.FailedStarts++
	r.Say("failed start: %v", err)
}

// Started notes a start that began then and has come to something.
func (r *Report) Started(began time.Time) { r.SlowestStart = max(r.SlowestStart, time.Since(began)) }

// Say tells a line.
func (r *Report) Say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

// Progress tells how far it came.
func (r *Report) Progress() {
	acknowledged := 0
	for _, n := range r.Acknowledged {
		acknowledged += n
	}
	took := time.Since(r.started)
	r.Say("%4d kills, %d acknowledged, %.2f s a kill, slowest start %.2f s",
		r.Kills, acknowledged, took.Seconds()/float64(max(r.Kills, 1)), r.SlowestStart.Seconds())
}

// Tell tells what was done, and when it was killed.
func (r *Report) Tell() {
	for _, what := range slices.Sorted(maps.Keys(r.Acknowledged)) {
		r.Say("%9d %s", r.Acknowledged[what], what)
	}
	for _, at := range slices.Sorted(maps.Keys(r.Moments)) {
		r.Say("%9d killed %s", r.Moments[at], at)
	}
}

// End tells the last line, which is the figure.
func (r *Report) End() {
	r.Say("crash: %d kills, %d lost, %d failed starts", r.Kills, r.Lost, r.FailedStarts)
}
