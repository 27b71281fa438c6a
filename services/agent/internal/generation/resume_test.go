package generation_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// cuts are the ends of an answer that is not whole, and how each comes about in a world whose model says the piece う and is
// then silent. A nil end: the reader leaves.
var cuts = map[generation.Finish]func(w *world, id uuid.UUID){
	generation.FinishShutdown:     func(w *world, _ uuid.UUID) { w.Drain() },
	generation.FinishDisconnected: nil,
	generation.FinishIdle:         func(*world, uuid.UUID) {},
	generation.FinishBackendError: func(w *world, _ uuid.UUID) { w.model.mend(func(m *model) { m.late = dead }) },
	generation.FinishCancelled:    func(w *world, id uuid.UUID) { _, _ = w.Cancel(w.t.Context(), ns, id) },
}

// cutSecond runs a request until its second answer, or the only one, was cut, and gives that answer's id.
func (w *world) cutSecond(req generation.Request, finish generation.Finish) uuid.UUID {
	w.t.Helper()
	second := min(1, req.Variants+req.Repeat+len(w.prompts.combinations))
	id := generation.NodeID(req.ID, second)
	w.model.fail = func(q llm.Request) []step {
		if *q.Sampling.Seed == uint32(second) {
			return []step{{text: "う"}, {wait: time.Minute, late: true}, {wait: time.Hour, text: "え"}, {}}
		}
		return nil
	}
	ctx, leave := context.WithCancel(w.t.Context())
	defer leave()
	heard := func(n int, e generation.Event) error {
		if _, is := e.(generation.Text); is && n == second {
			go func() {
				time.Sleep(time.Second) // the others are whole by then
				if end := cuts[finish]; end != nil {
					end(w, id)
				} else {
					leave()
				}
			}()
		}
		return nil
	}
	if req.Several() {
		a := w.several(req)
		_ = a.Read(ctx, heard)
		a.Close()
	} else {
		v := w.generate(req)
		for {
			e, err := v.Next(ctx)
			if err != nil {
				break
			}
			_ = heard(0, e)
		}
		v.Close()
	}
	synctest.Wait()
	w.model.fail = nil
	return id
}

// TestTheSameRequestMakesAnewWhatWasCut, whatever cut it but a person, as it makes what was not stored at all: every
// answer gets its own id, what came of it stays beside it, and nothing else is made again.
func TestTheSameRequestMakesAnewWhatWasCut(t *testing.T) {
	t.Parallel()
	for finish := range cuts {
		for name, form := range map[string]generation.Request{
			"one": {}, "variants": {Variants: 3}, "every option": {EveryOption: true}, "repeat": {Repeat: 3},
		} {
			for _, restarted := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, restarted %v", finish, name, restarted), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { resumes(t, form, finish, restarted) })
				})
			}
		}
	}
}

func resumes(t *testing.T, req generation.Request, finish generation.Finish, restarted bool) {
	w := newWorld(t, says("あ", "い"))
	answers := max(1, req.Variants, req.Repeat)
	if req.EveryOption {
		answers = 3
		for n, text := range []string{"雨", "雪", "霧"} {
			w.prompts.combinations = append(w.prompts.combinations, []generation.Pick{{Field: "story.note", Options: []int{n}, Text: text}})
		}
	}
	req.ID, req.Flow, req.Text, req.Sampling.Seed = uuid.New(), w.flow, "夜", ptr(uint32(0))
	id := w.cutSecond(req, finish)
	half := w.halves()
	if len(half) != 1 || half[0].Record.Finish != finish || half[0].Texts[len(half[0].Texts)-1].Content != "う" || (half[0].ID == id) != (finish == generation.FinishCancelled) {
		t.Fatalf("what came is kept as %+v", half)
	}
	if restarted || finish == generation.FinishShutdown {
		w.restart()
	}
	if finish == generation.FinishCancelled {
		w.staysCancelled(req, id)
		return
	}
	other := req
	other.Text = "昼"
	if err := w.refusal(other); !errors.As(err, new(*generation.ReusedError)) {
		t.Errorf("another request with the same id: %v", err)
	}
	for range 2 {
		for n, r := range w.all(req) {
			if r.err != nil || r.stored == nil || r.stored.Node.ID != generation.NodeID(req.ID, n) || r.stored.Node.Record.Finish != "stop" {
				t.Errorf("answer %d: %+v", n, r)
			}
		}
	}
	if w.model.calls() != answers+1 {
		t.Errorf("%d calls of the model for %d answers, one of which was cut", w.model.calls(), answers)
	}
	if len(w.flows.added()) != answers+1 || len(w.halves()) != 1 {
		t.Errorf("%d nodes", len(w.flows.added()))
	}
}

// staysCancelled: the request is answered with what came, as a watcher was told.
func (w *world) staysCancelled(req generation.Request, id uuid.UUID) {
	w.t.Helper()
	before := len(w.flows.added())
	cut := new(generation.CutError)
	all := w.all(req)
	r := all[min(1, len(all)-1)]
	if r.stored == nil || !r.stored.Replayed || !errors.As(r.err, &cut) || cut.Finish != generation.FinishCancelled || cut.Node != id {
		w.t.Errorf("asked again: %+v", r)
	}
	if len(w.flows.added()) != before {
		w.t.Error("it was made again")
	}
}

// all reads every answer of a request.
func (w *world) all(req generation.Request) map[int]*reading {
	w.t.Helper()
	if !req.Several() {
		r := w.read(w.generate(req), 0)
		return map[int]*reading{0: &r}
	}
	got := w.readAll(w.several(req))
	for n, err := range got.failed {
		got.each[n].err = err
	}
	return got.each
}

// refusal is the error with which a request ends.
func (w *world) refusal(req generation.Request) error {
	w.t.Helper()
	if req.Several() {
		a, err := w.GenerateSeveral(w.t.Context(), ns, req)
		if err == nil {
			err = w.readAll(a).err
		}
		return err
	}
	v, err := w.Generate(w.t.Context(), ns, req)
	if err == nil {
		err = w.read(v, 0).err
	}
	return err
}

// halves are the stored answers that are not whole.
func (w *world) halves() []generation.Node {
	var all []generation.Node
	for _, a := range w.flows.added() {
		if a.Node.Record.Error != "" {
			all = append(all, a.Node)
		}
	}
	return all
}

// TestAReaderWhoComesBackAtOnce gets the answer anew, and not the end of the one that was cut since he left.
func TestAReaderWhoComesBackAtOnce(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]generation.Request{"one": {}, "variants": {Variants: 2}, "repeat": {Repeat: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := says()
				m.steps = []step{{text: "う"}, {wait: time.Hour}}
				w := newWorld(t, m)
				w.flows.fault = func(context.Context) error { time.Sleep(time.Second); return nil }
				req := form
				req.ID, req.Flow, req.Text = uuid.New(), w.flow, "夜"
				if req.Several() {
					a := w.several(req)
					synctest.Wait()
					a.Close()
				} else {
					v := w.generate(req)
					synctest.Wait()
					v.Close()
				}
				m.mend(func(m *model) { m.steps = []step{{text: "あ"}, {}} })
				for n, r := range w.all(req) {
					if r.err != nil || r.stored == nil || r.text != "あ" {
						t.Errorf("answer %d: %+v", n, r)
					}
				}
			})
		})
	}
}

// TestWhatIsCutAgainIsKeptAgain, and a watcher of the answer finds the last.
func TestWhatIsCutAgainIsKeptAgain(t *testing.T) {
	t.Parallel()
	m := says()
	w := newWorld(t, m)
	req := w.request("夜")
	for _, piece := range []string{"あ", "い", "う"} {
		m.steps = []step{{text: piece}, {err: dead}}
		if r := w.read(w.generate(req), 0); r.text != piece || r.err == nil {
			t.Fatalf("%q, %v", r.text, r.err)
		}
		w.restart()
		v, err := w.Watch(t.Context(), ns, generation.NodeID(req.ID, 0), 0)
		if err != nil {
			t.Fatal(err)
		}
		if r := w.read(v, 0); r.stored == nil || r.stored.Node.Texts[1].Content != piece || r.err == nil {
			t.Errorf("watched after %q: %+v", piece, r)
		}
	}
	if len(w.flows.added()) != 3 {
		t.Errorf("%d nodes", len(w.flows.added()))
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

// TestCutTooOften: what came of an answer is kept MaxCuts times; then the request is refused before the model is asked.
func TestCutTooOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("あ"))
		req := generation.Request{ID: uuid.New(), Flow: w.flow, Text: "夜", Sampling: llm.Sampling{Seed: ptr(uint32(0))}}
		for range generation.MaxCuts {
			w.cutSecond(req, generation.FinishDisconnected)
		}
		if len(w.halves()) != generation.MaxCuts || w.model.calls() != generation.MaxCuts {
			t.Fatalf("%d nodes of %d calls of the model", len(w.halves()), w.model.calls())
		}
		for range 2 {
			if err := w.refusal(req); !errors.As(err, new(*generation.CutOftenError)) {
				t.Errorf("the error is %v", err)
			}
		}
		if w.model.calls() != generation.MaxCuts {
			t.Errorf("the model was asked %d times", w.model.calls())
		}
		w.restart()
		last, err := w.Status(t.Context(), ns, generation.NodeID(req.ID, 0))
		if halves := w.halves(); err != nil || last.Node != halves[len(halves)-1].ID {
			t.Errorf("the last that is told is %+v, %v", last, err)
		}
	})
}
