package main

import (
	"context"
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/tokenizer"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/bench/peer"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/linecosts"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// remote is a model server that counts over the wire, and tells token borders or not.
type remote struct {
	local
	borders bool
}

func (r remote) Counter(string) (story.Counter, error) { return r, nil }

func (remote) Local() bool { return false }

func (remote) Window(context.Context) (story.Backend, error) {
	return story.Backend{Backend: "remote", Kind: "remote", Window: remoteWindow}, nil
}

func (r remote) Pieces(ctx context.Context, text string) ([]int, error) {
	if !r.borders {
		return nil, fit.ErrNoPieces
	}
	llm.Counted(ctx, text)
	return r.local.Pieces(ctx, text)
}

func (r remote) Count(ctx context.Context, text string) (int, error) {
	llm.Counted(ctx, text)
	return r.local.Count(ctx, text)
}

const (
	remoteWindow = 8192
	remoteTurns  = 10
)

// mixed are the texts of field/wannabe.md 5: one script, and one after the other, which misleads whoever guesses by the
// average of the whole.
func mixed() map[string]string {
	ja, en := prose(japanese, "", 400_000), prose(english, " ", 140_000)
	return map[string]string{
		"Japanese": ja, "a long Japanese text": ja + ja + ja, "English": en,
		"English, then Japanese": en[:100_000] + "\n" + ja[:132_000], "Japanese, then English": ja[:300_000] + "\n" + en[:44_000],
	}
}

// worst are the largest figures that were seen.
type worst struct{ cold, warm, sent, over int }

// play builds a text and then the same text with a turn more, again and again.
func (w *worst) play(r remote, text string, least *float64) error {
	b := story.NewBuilder(r, linecosts.New(16<<20), story.Defaults{MaxTokens: answer, Rating: story.RatingGeneral})
	for turn := range remoteTurns {
		p, err := b.Build(context.Background(), story.Request{Body: text})
		if err != nil {
			return err
		}
		if turn == 0 {
			w.cold, w.sent = max(w.cold, p.Counts), max(w.sent, p.Sent)
		} else {
			w.warm = max(w.warm, p.Counts)
		}
		if r.vocabulary.Count(p.Text, tokenizer.Prompt) > p.Limit {
			w.over++
		}
		*least = min(*least, 100*float64(p.Tokens)/float64(p.Limit))
		text += japanese[turn%len(japanese)] + japanese[(turn*7+3)%len(japanese)] + "\n"
	}
	return nil
}

// remoteCounts compares what a server is asked for one prompt with what the loop of the seed asks.
func remoteCounts() (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: "characters sent for one prompt, the most of all texts", Peer: "the loop of seed 000, the fewest of all texts", Unit: "characters",
		Goal: benchtable.AtMost(0.5), Exact: true,
	}
	var value, borders worst
	used, fewest, most := 100.0, 1<<62, 0
	for _, name := range []string{"o200k_base", "cl100k_base"} {
		v, err := tokenizer.OpenAI(name)
		if err != nil {
			return row, err
		}
		for kind, text := range mixed() {
			for w, r := range map[*worst]remote{&value: {local{v}, false}, &borders: {local{v}, true}} {
				if err := w.play(r, text, &used); err != nil {
					return row, fmt.Errorf("%s: %w", kind, err)
				}
			}
			sent := 0
			loop := peer.Loop{
				Count: func(text string) int { sent += len([]rune(text)); return v.Count(text, tokenizer.Prompt) },
				Build: func(body string) string {
					return "[INST]続きを書いてください。\n【本文】\n```\n" + body + "\n```\n[/INST]"
				},
				Step: peerStep, Offset: peerOffset,
			}
			_, counts := loop.Fit(text, remoteWindow-answer)
			fewest, most = min(fewest, sent), max(most, counts)
		}
	}
	row.OursFigures, row.PeerFigures = []float64{float64(max(value.sent, borders.sent))}, []float64{float64(fewest)}
	goal := func(g benchtable.Goal) *benchtable.Goal { return &g }
	row.Facts = []benchtable.Fact{
		{Name: "counts of a server that only counts, first prompt", Figure: float64(value.cold), Goal: goal(benchtable.AtMost(5))},
		{Name: "and the next ones", Figure: float64(value.warm), Goal: goal(benchtable.AtMost(2))},
		{Name: "counts of a server that tells token borders, first prompt", Figure: float64(borders.cold), Goal: goal(benchtable.AtMost(4))},
		{Name: "and the next ones", Figure: float64(borders.warm), Goal: goal(benchtable.AtMost(4))},
		{Name: "most counts of the loop", Figure: float64(most)},
		{Name: "least percent of the limit that is used", Figure: used, Goal: goal(benchtable.AtLeast(98))}, // the lines of some texts are longer than half a percent, see package fit
		{Name: "prompts over the limit", Figure: float64(value.over + borders.over), Goal: goal(benchtable.AtMost(0))},
	}
	return row, nil
}
