package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/localmodel"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/bench/peer"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/linecosts"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/adapter/models"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// A session: a text that is over the window from the first turn on and grows by a turn's tokens each time. Most of what a
// server reads again in a turn that keeps its cut are the new text and the last three lines, which move; a slack of 60 % leaves
// about as much for the turns that cut.
const (
	sessionTurns  = 60
	tokensPerTurn = 250
	// sessionStart is in characters: about twice a window of 4,096.
	sessionStart = 14_000
	slackPercent = 60
)

// defaults are those of the builders of a session.
var defaults = story.Defaults{MaxTokens: answer, Rating: story.RatingGeneral}

// withModel are the rows on a real model server: of one prompt of a whole text and, unless only that is asked for, of a
// session. The text is that of a file, or made up.
func withModel(ctx context.Context, file string, onlyNovel bool) ([]benchtable.Row, error) {
	text := prose(japanese, "", 480_000)
	if file != "" {
		read, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		text = string(read)
	}
	s, err := openSession(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	rows, err := s.novel(ctx, text)
	if err != nil || onlyNovel {
		return rows, err
	}
	row, err := s.session(ctx, text)
	return append(rows, row), err
}

// session compares how many tokens of its prompts a real llama.cpp server has to read again in a session.
func (s *modelSession) session(ctx context.Context, novel string) (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: fmt.Sprintf("%d turns of %d tokens with a slack of %d %% and the state of the turn before", sessionTurns, tokensPerTurn, slackPercent), Peer: "the cut of seed 000",
		Unit: "prompt tokens read again", Goal: benchtable.AtMost(1.0 / 6), Exact: true,
	}
	turns, err := s.turns(ctx, novel)
	if err != nil {
		return row, err
	}
	slack := slackPercent
	sent, counts, used, state := 0, 0, 0, ""
	ours, err := s.play(ctx, turns, func(body string) (string, error) {
		p, err := s.builder.Build(ctx, story.Request{Body: body, Slack: &slack, State: state})
		sent, counts, used, state = sent+p.Sent, counts+p.Counts, used+p.Tokens, p.State
		return p.Text, err
	})
	if err != nil {
		return row, err
	}
	peersSent, peersCounts, peersUsed := 0, 0, 0
	peers, err := s.play(ctx, turns, func(body string) (string, error) {
		prompt, err := s.fitAsPeer(ctx, s.counter, body, &peersSent, &peersCounts)
		if err != nil {
			return "", err
		}
		tokens, err := s.counter.Count(ctx, prompt)
		peersUsed += tokens
		return prompt, err
	})
	row.OursFigures, row.PeerFigures = []float64{float64(ours)}, []float64{float64(peers)}
	row.Facts = []benchtable.Fact{
		{Name: "percent of the limit that ours uses, on average", Figure: 100 * float64(used) / float64(len(turns)*s.limit)},
		{Name: "percent that the peer uses", Figure: 100 * float64(peersUsed) / float64(len(turns)*s.limit)},
		{Name: "counts of ours", Figure: float64(counts)}, {Name: "characters sent for them", Figure: float64(sent)},
		{Name: "counts of the peer", Figure: float64(peersCounts)}, {Name: "characters sent for them", Figure: float64(peersSent)},
	}
	return row, err
}

// modelSession is a real model server and our builder on it.
type modelSession struct {
	server  *localmodel.Server
	set     *backends.Set
	servers *models.Backends
	builder *story.Builder
	// counter counts here, remote on the server, with the same vocabulary.
	counter, remote story.Counter
	generator       llm.Generator
	limit           int
}

func openSession(ctx context.Context) (*modelSession, error) {
	dir, err := localmodel.DefaultDir()
	if err != nil {
		return nil, err
	}
	if err := localmodel.Install(ctx, dir, os.Stderr); err != nil {
		return nil, err
	}
	s := &modelSession{}
	if s.server, err = localmodel.Start(ctx, localmodel.Options{Dir: dir, Model: "gemma"}); err != nil {
		return nil, err
	}
	// The server counts for ours; in a session the same vocabulary counts here for the peer: it would take the peer hours there.
	s.set, err = backends.Parse(fmt.Appendf(nil, "default: server\nbackends:\n  server: {kind: llamacpp, address: %q}\n  here: {kind: llamacpp, address: %q, tokenizer: %q}\n",
		s.server.URL(), s.server.URL(), filepath.Join(dir, "gemma.gguf")))
	if err != nil {
		s.server.Stop()
		return nil, err
	}
	servers, err := models.New(s.set, "", prometheus.NewRegistry())
	if err != nil {
		s.server.Stop()
		return nil, err
	}
	s.servers, s.builder = servers, story.NewBuilder(servers, linecosts.New(16<<20), defaults)
	var err4 error
	s.counter, err = servers.Counter("here")
	s.remote, err4 = servers.Counter("server")
	generator, err2 := s.set.Generator("server")
	window, err3 := s.builder.Build(ctx, story.Request{})
	if err := errors.Join(err, err2, err3, err4); err != nil {
		s.server.Stop()
		return nil, err
	}
	s.generator, s.limit = generator, window.Limit
	return s, nil
}

func (s *modelSession) close() {
	_ = s.set.Close()
	s.server.Stop()
}

// turns are the texts of a session.
func (s *modelSession) turns(ctx context.Context, novel string) ([]string, error) {
	start := len(string([]rune(novel)[:min(sessionStart, len([]rune(novel)))]))
	start += strings.IndexByte(novel[start:], '\n') + 1
	body, rest := novel[:start], novel[start:]
	all := []string{body}
	for range sessionTurns {
		ahead := []rune(rest)
		if len(ahead) < 8*tokensPerTurn {
			return nil, errors.New("the text is too short for a session")
		}
		pieces, err := s.counter.Pieces(ctx, string(ahead[:8*tokensPerTurn]))
		if err != nil {
			return nil, err
		}
		n := 0
		for i, bytes := range pieces {
			if n += bytes; i >= tokensPerTurn && utf8.RuneStart(rest[n]) {
				break
			}
		}
		body, rest = body+rest[:n], rest[n:]
		all = append(all, body)
	}
	return all, nil
}

// play sends the prompts of all turns and gives how many of their tokens the server read that it had not in its cache; the
// first turn, which is new to both sides, does not count.
func (s *modelSession) play(ctx context.Context, turns []string, build func(body string) (string, error)) (read int, err error) {
	for i, body := range turns {
		prompt, err := build(body)
		if err != nil {
			return 0, err
		}
		n, err := s.ask(ctx, prompt)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			read += n
		}
	}
	return read, nil
}

// ask gives how many tokens of a prompt the server read.
func (s *modelSession) ask(ctx context.Context, prompt string) (read int, err error) {
	stream, err := s.generator.Generate(ctx, llm.Request{Prompt: prompt, Sampling: llm.Sampling{MaxTokens: 1}})
	if err != nil {
		return 0, err
	}
	defer stream.Close() //nolint:errcheck // the answer was read to its end, or its error is told
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			r := stream.Result()
			return r.PromptTokens - r.CachedTokens, nil
		} else if err != nil {
			return 0, err
		}
	}
}

// fitAsPeer is the prompt of a body that the loop of seed 000 cuts.
func (s *modelSession) fitAsPeer(ctx context.Context, counter story.Counter, body string, sent, counts *int) (string, error) {
	var wrong error
	loop := peer.Loop{
		Count: func(text string) int {
			*sent += len([]rune(text))
			n, err := counter.Count(ctx, text)
			wrong = errors.Join(wrong, err)
			return n
		},
		Build: func(body string) string {
			p, err := s.builder.Build(ctx, story.Request{Backend: "here", Body: body, Fit: story.FitNone})
			wrong = errors.Join(wrong, err)
			return p.Text
		},
		Step: peerStep, Offset: peerOffset,
	}
	prompt, n := loop.Fit(body, s.limit)
	*counts += n
	if prompt == "" {
		wrong = errors.Join(wrong, errors.New("the peer finds no cut"))
	}
	return prompt, wrong
}
