package main

import (
	"context"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt/prefixtest"
)

// small is the workload that a model on two cores reads in some minutes. The simulator, which is held against the server on
// it, plays the whole one.
var small = prefixtest.Size{Tools: 6, Skills: 3, Body: 200, File: 60, Turn: 40, Turns: 12, Sessions: 1}

// withSlot are the rows about what a server reads again of system prompts: on a real one, and the whole workload on its books.
func withSlot(ctx context.Context, size prefixtest.Size) ([]benchtable.Row, error) {
	s, err := openSlot(ctx, slotWindow)
	if err != nil {
		return nil, err
	}
	defer s.server.Stop()
	fmt.Println("model server:", s.about)
	var rows []benchtable.Row
	for _, measure := range []func() (benchtable.Row, error){
		func() (benchtable.Row, error) { return stableCounts(s) },
		func() (benchtable.Row, error) { return readAgain(s, size) },
		func() (benchtable.Row, error) { return readAgainSimulated(s.vocabulary) },
		func() (benchtable.Row, error) { return wholeTurn(ctx, s) },
	} {
		row, err := measure()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// buildUncounted makes system prompts that no server counts.
func buildUncounted() prefixtest.Build {
	b := systems(nil)
	return func(r sysprompt.Request) (sysprompt.Prompt, error) { return buildSystem(b, r) }
}

// sessions plays arms through events, each of which begins on a server without a prompt, and adds up by arm.
type sessions struct {
	size   prefixtest.Size
	server func() prefixtest.Server
	facts  []benchtable.Fact
}

// play gives the tally of an arm over events, and notes it as facts: by event if so asked.
func (s *sessions) play(arm prefixtest.Arm, events []prefixtest.Event, each bool) (prefixtest.Tally, error) {
	var all prefixtest.Tally
	for _, event := range events {
		t, err := prefixtest.Play(s.size, arm, event, s.server())
		if err != nil {
			return all, fmt.Errorf("%s, %s: %w", arm.Name, event, err)
		}
		all.Add(t)
		if each {
			s.note(fmt.Sprintf("%s, event %s: tokens read again in a turn", arm.Name, event), t)
		}
	}
	over := fmt.Sprintf("%d events", len(events))
	if len(events) == 1 {
		over = "event " + string(events[0])
	}
	s.note(arm.Name+", "+over+": tokens read again in a turn", all)
	without, with := all.HitRate()
	s.facts = append(s.facts,
		benchtable.Fact{Name: fmt.Sprintf("  of prompts of %d tokens, percent that the server had", all.Tokens/all.Turns), Figure: 100 * without},
		benchtable.Fact{Name: "  and with the first prompts", Figure: 100 * with})
	return all, nil
}

func (s *sessions) note(name string, t prefixtest.Tally) {
	s.facts = append(s.facts, benchtable.Fact{Name: name, Figure: float64(t.Again) / float64(t.Turns)})
}

// row plays ours and the sample through all events, and the other arms through some.
func (s *sessions) row(where string, others []prefixtest.Event) (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: fmt.Sprintf("a system prompt of ours in %d sessions of %d turns, %s", s.size.Sessions, s.size.Turns, where), Peer: "the sample of seed 003",
		Unit: "tokens read again over all events", Goal: benchtable.AtMost(0.25), Exact: true,
	}
	build := buildUncounted()
	ours, err := s.play(prefixtest.Ours(build), prefixtest.Events(), true)
	if err != nil {
		return row, err
	}
	sample, err := s.play(prefixtest.Sample(), prefixtest.Events(), true)
	if err != nil {
		return row, err
	}
	for _, arm := range []prefixtest.Arm{prefixtest.Frozen(build), prefixtest.FilesFirst(build), prefixtest.Inlined(), prefixtest.Naive()} {
		if _, err := s.play(arm, others, len(others) > 1); err != nil {
			return row, err
		}
	}
	none := benchtable.AtMost(0)
	row.OursFigures, row.PeerFigures = []float64{float64(ours.Again)}, []float64{float64(sample.Again)}
	row.Facts = s.facts
	row.Facts = append(row.Facts,
		benchtable.Fact{Name: "requests of ours whose stable part was that of the one before", Figure: float64(ours.Held)},
		benchtable.Fact{Name: "of them, those of which the server had less than that part less 2 tokens", Figure: float64(ours.Lost), Goal: &none})
	return row, nil
}

// readAgain plays on a real server, and holds the simulator against it.
func readAgain(server *slot, size prefixtest.Size) (benchtable.Row, error) {
	var all []*compared
	s := &sessions{size: size, server: func() prefixtest.Server {
		server.forget = true
		c := &compared{slot: server, simulator: prefixtest.NewSimulator(prefixtest.Caches()[0], server.cut)}
		all = append(all, c)
		return c
	}}
	row, err := s.row(fmt.Sprintf("%d tools, %d skills, on a real server", size.Tools, size.Skills), []prefixtest.Event{prefixtest.None})
	requests, differ := 0, 0
	for _, c := range all {
		requests, differ = requests+c.requests, differ+c.differ
	}
	none := benchtable.AtMost(0)
	row.Facts = append(row.Facts,
		benchtable.Fact{Name: "requests in all", Figure: float64(requests)},
		benchtable.Fact{Name: "of them, those in which the simulator has other counts than the server", Figure: float64(differ), Goal: &none})
	return row, err
}

// readAgainSimulated plays the whole workload on the books of the simulator.
func readAgainSimulated(vocabulary *tokenizer.Tokenizer) (benchtable.Row, error) {
	size := prefixtest.Real()
	s := &sessions{size: size, server: func() prefixtest.Server {
		return prefixtest.NewSimulator(prefixtest.Caches()[0], func(text string) []int32 { return vocabulary.Append(nil, text, tokenizer.Prompt) })
	}}
	return s.row(fmt.Sprintf("%d tools, %d skills, simulated on the tokens of that model", size.Tools, size.Skills), prefixtest.Events())
}
