package generation_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// TestRepeatGoesOnFromWhatWasCut, whatever cut it but a person: what came is the parent of the next.
func TestRepeatGoesOnFromWhatWasCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		finish generation.Finish
		end    func(w *world, id uuid.UUID)
	}{
		"a graceful stop": {generation.FinishShutdown, func(w *world, _ uuid.UUID) { w.Drain() }},
		"a reader lost":   {generation.FinishDisconnected, nil},
		"silence":         {generation.FinishIdle, func(*world, uuid.UUID) {}},
		"a person":        {generation.FinishCancelled, func(w *world, id uuid.UUID) { _, _ = w.Cancel(w.t.Context(), ns, id) }},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, says("あ", "い"))
			w.model.fail = func(req llm.Request) []step {
				if *req.Sampling.Seed == 1 {
					return []step{{text: "う"}, {wait: time.Hour, text: "え"}, {}}
				}
				return nil
			}
			req := w.request("夜")
			req.Repeat, req.Sampling.Seed = 4, ptr(uint32(0))
			second := generation.NodeID(req.ID, 1)
			a, ctx := w.several(req), t.Context()
			ctx, leave := context.WithCancel(ctx)
			defer leave()
			err := a.Read(ctx, func(n int, e generation.Event) error {
				if _, is := e.(generation.Text); is && n == 1 {
					if c.end == nil {
						leave()
					} else {
						go c.end(w, second)
					}
				}
				return nil
			})
			a.Close()
			synctest.Wait()
			if err == nil || w.flows.nodes[second].Record.Finish != c.finish {
				t.Errorf("%s: %v, %+v", name, err, w.flows.nodes[second])
			}
			w.restart()
			for again := range 2 {
				got, cut := w.readAll(w.several(req)), new(generation.CutError)
				if c.finish == generation.FinishCancelled {
					if len(got.each) != 2 || !errors.As(got.err, &cut) || !cut.Replayed || got.failed[1] == nil || got.each[1].stored == nil {
						t.Errorf("%s: %d answers, %v", name, len(got.each), got.err)
					}
					continue
				}
				if len(got.each) != 4 || got.err != nil || len(got.failed) != 0 || w.model.calls() != 4 || len(w.flows.added()) != 4 {
					t.Errorf("%s, %d: %d answers, %v, %v, %d calls", name, again, len(got.each), got.err, got.failed, w.model.calls())
				}
				third := w.flows.nodes[generation.NodeID(req.ID, 2)]
				if p := w.flows.parents[third.ID]; len(p) != 1 || p[0] != second || !strings.HasSuffix(w.model.requests[2].Prompt, "夜あいう") {
					t.Errorf("%s: the third is behind %v, from %q", name, p, w.model.requests[2].Prompt)
				}
			}
		})
	}
}

// TestTheReplayOfACutAnswerIsNoGoodEnd, also of one answer and for those who watch.
func TestTheReplayOfACutAnswerIsNoGoodEnd(t *testing.T) {
	t.Parallel()
	m := says()
	m.steps = []step{{text: "あ"}, {err: &llm.Error{Fault: llm.FaultCut, Message: "gone"}}}
	w := newWorld(t, m)
	for _, req := range []generation.Request{{}, {Variants: 2}, {Repeat: 2}} {
		req.ID, req.Flow, req.Text = uuid.New(), w.flow, "夜"
		read := func() (*generation.Stored, error) {
			if !req.Several() {
				r := w.read(w.generate(req), 0)
				return r.stored, r.err
			}
			got := w.readAll(w.several(req))
			return got.each[0].stored, got.err
		}
		if stored, err := read(); stored != nil || err == nil {
			t.Errorf("%+v: %v, %v", req, stored, err)
		}
		if req.Repeat > 0 {
			_, _ = read() // makes the second, which is cut too
		}
		w.restart()
		cut := new(generation.CutError)
		if stored, err := read(); stored == nil || !stored.Replayed || !errors.As(err, &cut) || !cut.Replayed || cut.Node == uuid.Nil {
			t.Errorf("%+v again: %v, %v", req, stored, err)
		}
		v, err := w.Watch(t.Context(), ns, generation.NodeID(req.ID, 0), 0)
		if err != nil {
			t.Fatal(err)
		}
		if r := w.read(v, 0); r.stored == nil || !errors.As(r.err, &cut) {
			t.Errorf("watched: %+v", r)
		}
	}
}

// TestStoredAnswersNeedNoPlace: to give them again asks no model.
func TestStoredAnswersNeedNoPlace(t *testing.T) {
	t.Parallel()
	m := says("あ")
	w := newWorld(t, m)
	var asked []generation.Request
	for _, req := range []generation.Request{{}, {Variants: 2}, {Repeat: 2}} {
		req.ID, req.Flow, req.Text = uuid.New(), w.flow, "夜"
		asked = append(asked, req)
		if req.Several() {
			w.readAll(w.several(req))
		} else {
			w.read(w.generate(req), 0)
		}
	}
	w.restart(func(l *generation.Limits) { l.Running = 1 })
	m.steps = []step{{text: "い"}, {wait: time.Hour}}
	running := w.generate(w.request("長い")) // takes the only place
	defer running.Close()
	if r := w.read(w.generate(asked[0]), 0); r.err != nil || !r.stored.Replayed {
		t.Errorf("one answer: %+v", r)
	}
	for _, req := range asked[1:] {
		if got := w.readAll(w.several(req)); got.err != nil || len(got.each) != 2 || !got.each[1].stored.Replayed {
			t.Errorf("%+v: %d answers, %v", req, len(got.each), got.err)
		}
	}
	if _, err := w.Generate(t.Context(), ns, w.request("夜")); !errors.As(err, new(*generation.BusyError)) {
		t.Errorf("a new one: %v", err)
	}
}

// TestADrawnSeedStaysTheSame for a request, so that an answer that is made later fits its siblings.
func TestADrawnSeedStaysTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	req := w.request("夜")
	req.Variants = 3
	first := w.readAll(w.several(req))
	w.flows.lose(generation.NodeID(req.ID, 1))
	w.restart()
	again := w.readAll(w.several(req))
	for n := range 3 {
		was, is := first.each[n].stored.Node.Record, again.each[n].stored.Node.Record
		if *was.Sampling.Seed != *is.Sampling.Seed || *is.Sampling.Seed != *first.each[0].stored.Node.Record.Sampling.Seed+uint32(n) {
			t.Errorf("answer %d was drawn with %d, then with %d", n, *was.Sampling.Seed, *is.Sampling.Seed)
		}
	}
	if other := w.read(w.generate(w.request("夜")), 0); *other.opened.Sampling.Seed == *first.each[0].opened.Sampling.Seed {
		t.Error("two requests have one seed")
	}
}
