package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/linecosts"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// built is what one prompt took.
type built struct {
	counts, characters int
	seconds            float64
}

// novel compares what one prompt of a whole novel takes, the first one and that after a turn, with what the loop of seed 000
// takes for the same text. The model server counts for both sides, and everything is measured once.
func (s *modelSession) novel(ctx context.Context, text string) ([]benchtable.Row, error) {
	tokens, err := s.counter.Count(ctx, text)
	if err != nil {
		return nil, err
	}
	builder := story.NewBuilder(s.servers, linecosts.New(16<<20), defaults)
	length := fmt.Sprintf("of a novel of %d characters (%d tokens) in a window of %d", len([]rune(text)), tokens, s.limit+answer)
	var rows []benchtable.Row
	for _, prompt := range []struct {
		name, text string
		counts     float64
	}{
		{"the first prompt ", text, 4},
		{"the next prompt, a turn later, ", text + prose(japanese, "", 3*tokensPerTurn), 2},
	} {
		ours, err := s.once(ctx, builder, prompt.text)
		if err != nil {
			return nil, err
		}
		peers, err := s.onceAsPeer(ctx, prompt.text)
		if err != nil {
			return nil, err
		}
		rows = append(rows, against(ours, peers, prompt.name+length, prompt.counts))
	}
	return rows, nil
}

// once builds a prompt.
func (s *modelSession) once(ctx context.Context, b *story.Builder, text string) (built, error) {
	slack, start := slackPercent, time.Now()
	p, err := b.Build(ctx, story.Request{Body: text, Slack: &slack})
	return built{p.Counts, p.Sent, time.Since(start).Seconds()}, err
}

// onceAsPeer builds a prompt by the loop of seed 000.
func (s *modelSession) onceAsPeer(ctx context.Context, text string) (b built, err error) {
	start := time.Now()
	_, err = s.fitAsPeer(ctx, s.remote, text, &b.characters, &b.counts)
	b.seconds = time.Since(start).Seconds()
	return b, err
}

// against is the row of one prompt, with the most counts that it may take on a server that tells token borders.
func against(ours, peers built, name string, counts float64) benchtable.Row {
	few := benchtable.AtMost(counts)
	return benchtable.Row{
		Ours: name, Peer: "the loop of seed 000, all of it on the same server", Unit: "characters sent to be counted", Goal: benchtable.AtMost(0.1), Exact: true,
		OursFigures: []float64{float64(ours.characters)}, PeerFigures: []float64{float64(peers.characters)},
		Facts: []benchtable.Fact{
			{Name: "counts of ours", Figure: float64(ours.counts), Goal: &few},
			{Name: "counts of the peer", Figure: float64(peers.counts)},
			{Name: "seconds of ours", Figure: ours.seconds},
			{Name: "seconds of the peer", Figure: peers.seconds},
		},
	}
}
