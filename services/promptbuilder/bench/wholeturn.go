package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt/prefixtest"
)

// elapsed gives the seconds that f takes.
func elapsed(f func()) float64 {
	start := time.Now()
	f()
	return time.Since(start).Seconds()
}

// A whole turn: a prompt of about so many tokens is read, and an answer of so many is written.
const (
	answerTokens = 64
	wholeTurns   = 4 // the first of which is new to the server, and does not count
	middle       = 2000
)

// wholeTurn compares how long a turn takes with a system prompt of ours and with the sample, where tools are sent in another
// order each time and where nothing happens. Each side has a server of its own, so that they alternate and keep their prompts.
func wholeTurn(ctx context.Context, ours *slot) (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: fmt.Sprintf("a turn at %d tokens with an answer of %d, the tools sent in another order", middle, answerTokens), Peer: "with the sample of seed 003", Unit: "seconds",
		Goal: benchtable.AtMost(0.5),
	}
	peers, err := openSlot(ctx, slotWindow)
	if err != nil {
		return row, err
	}
	defer peers.server.Stop()
	for _, at := range []struct {
		tokens int
		event  prefixtest.Event
	}{{1000, prefixtest.Shuffle}, {middle, prefixtest.Shuffle}, {3500, prefixtest.Shuffle}, {middle, prefixtest.None}} {
		a, b, err := turns(ours, peers, at.event, at.tokens)
		if err != nil {
			return row, err
		}
		if at.event == prefixtest.Shuffle && at.tokens == middle {
			row.OursFigures, row.PeerFigures = a, b
		}
		var faster []float64
		for i := range a {
			faster = append(faster, b[i]/a[i])
		}
		row.Facts = append(row.Facts, benchtable.Fact{
			Name: fmt.Sprintf("times as fast as the sample at %d tokens, event %s", at.tokens, at.event), Figure: benchtable.Median(faster),
		})
	}
	return row, nil
}

// recorder is a server that notes what it is asked.
type recorder struct{ prompts []string }

// Read notes a prompt.
func (r *recorder) Read(prompt string) (tokens, cached int, err error) {
	r.prompts = append(r.prompts, prompt)
	return 0, 0, nil
}

// Count counts nothing.
func (*recorder) Count(string) int { return 0 }

// turns gives the seconds of each turn but the first, of both sides, which alternate.
func turns(ours, peers *slot, event prefixtest.Event, tokens int) (a, b []float64, err error) {
	size, err := sized(ours, tokens)
	if err != nil {
		return nil, nil, err
	}
	var mine, theirs recorder
	if _, err := prefixtest.Play(size, prefixtest.Ours(buildUncounted()), event, &mine); err != nil {
		return nil, nil, err
	}
	if _, err := prefixtest.Play(size, prefixtest.Sample(), event, &theirs); err != nil {
		return nil, nil, err
	}
	for _, s := range []*slot{ours, peers} {
		s.forget, s.answer = true, answerTokens
	}
	for i := range mine.prompts {
		if _, _, err := ours.Read(mine.prompts[i]); err != nil {
			return nil, nil, err
		}
		if _, _, err := peers.Read(theirs.prompts[i]); err != nil {
			return nil, nil, err
		}
		if i > 0 {
			a, b = append(a, ours.took.Seconds()), append(b, peers.took.Seconds())
		}
	}
	return a, b, nil
}

// sized is a workload whose first prompt has so many tokens, or some more.
func sized(s *slot, tokens int) (prefixtest.Size, error) {
	size := prefixtest.Size{Tools: 6, Skills: 3, Turn: 60, Turns: wholeTurns, Sessions: 1}
	for ; ; size.File += 5 {
		p, err := buildUncounted()(size.Request())
		if err != nil || len(s.cut(p.Text)) >= tokens {
			return size, err
		}
	}
}
