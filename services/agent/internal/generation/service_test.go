package generation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

func ptr[T any](v T) *T { return &v }

func TestContinueStoresWhatWasSaidByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says(" 港", "に\r\n", "\x00灯り。 "))
	w.flows.story = generation.Story{Title: ptr("夜"), Note: ptr("静かに")}
	root := w.flows.put(nil, "system", "無視", "user", "夜の港。", "assistant", "彼は")
	parent := w.flows.put([]uuid.UUID{root}, "assistant", " 歩いた")
	req := w.request("、そして")
	req.Parent, req.SetCurrent = parent, true
	req.Story = generation.Story{Title: ptr("朝")}

	r := w.read(w.generate(req), 0)
	if r.err != nil || r.stored == nil {
		t.Fatalf("the stream ended with %v, stored %v", r.err, r.stored)
	}
	if want := "<朝>夜の港。彼は 歩いた、そして"; w.model.requests[0].Prompt != want {
		t.Errorf("prompt %q, want %q", w.model.requests[0].Prompt, want)
	}
	if want := " 港に\r\n\x00灯り。 "; r.text != want {
		t.Errorf("watched %q, want %q", r.text, want)
	}
	a := w.flows.added()[0]
	if a.Flow != w.flow || a.Parent != parent || !a.SetCurrent || a.Node.ID != generation.NodeID(req.ID, 0) {
		t.Errorf("stored as %+v", a)
	}
	texts := a.Node.Texts
	if len(texts) != 2 || texts[0].Role != "user" || texts[0].Content != "、そして" || texts[1].Role != "assistant" || texts[1].Content != r.text {
		t.Errorf("texts %+v", texts)
	}
	if texts[1].Tokens != 3 || texts[1].Duration != 2*time.Second || texts[1].Rate != 1.5 {
		t.Errorf("figures of the answer: %+v", texts[1])
	}
}

func TestRecordSaysHowTheAnswerWasMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	w.prompts.stop = []string{"[INST]", "。"}
	req := w.request("い")
	req.PickSeed, req.Sampling = 5, llm.Sampling{Temperature: ptr(0.5), Stop: []string{"。"}}
	r := w.read(w.generate(req), 0)

	rec := r.stored.Node.Record
	want := generation.Record{
		Backend: identity, PromptDigest: "digest of <>い", Task: "CONT_INFO", PickSeed: 5, Picks: []string{"story.note#0=1 雨"},
		PromptTokens: 7, CachedTokens: 3, AnswerTokens: 1, PromptTime: time.Second, AnswerTime: 2 * time.Second,
		Finish: "stop", RequestDigest: req.Digest(),
	}
	if rec.Sampling.Seed == nil || rec.Sampling.MaxTokens != 250 || *rec.Sampling.Temperature != 0.5 {
		t.Errorf("sampling %+v: the seed is drawn, the length filled in, the rest as asked", rec.Sampling)
	}
	if *r.opened.Sampling.Seed != *rec.Sampling.Seed || *w.model.requests[0].Sampling.Seed != *rec.Sampling.Seed {
		t.Error("the seed that was told, used and recorded is not one")
	}
	stops := []string{"。", "[INST]"}
	if !slices.Equal(rec.Sampling.Stop, stops) || !slices.Equal(r.opened.Sampling.Stop, stops) || !slices.Equal(w.model.requests[0].Sampling.Stop, stops) {
		t.Errorf("stop strings %q in the record, %q in Opened, %q for the model; want %q",
			rec.Sampling.Stop, r.opened.Sampling.Stop, w.model.requests[0].Sampling.Stop, stops)
	}
	if again := w.read(w.generate(req), 0); !slices.Equal(again.opened.Sampling.Stop, stops) {
		t.Errorf("stop strings %q in Opened when it is asked again; want %q", again.opened.Sampling.Stop, stops)
	}
	want.Sampling = rec.Sampling
	if !equal(*rec, want) {
		t.Errorf("record\n%+v, want\n%+v", *rec, want)
	}
	if r.opened.Build == nil || r.opened.Build.Prompt != "" || r.opened.RequestID != req.ID || r.opened.PromptTokens != 3 {
		t.Errorf("opened %+v", r.opened)
	}
}

func TestAnEmptyWholeAnswerIsAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says())
	r := w.read(w.generate(w.request("")), 0)
	if r.stored == nil || len(r.stored.Node.Texts) != 1 || r.stored.Node.Texts[0].Content != "" {
		t.Fatalf("stored %+v, error %v", r.stored, r.err)
	}
}

func TestSameRequestAgainIsAnsweredWithTheNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ", "い"))
	req := w.request("う")
	first := w.read(w.generate(req), 0)
	for _, where := range []string{"kept", "stored"} {
		r := w.read(w.generate(req), 0)
		if r.stored == nil || !r.stored.Replayed || r.stored.Node.ID != first.stored.Node.ID || r.text != "" {
			t.Errorf("%s: %+v, error %v", where, r.stored, r.err)
		}
		if r.opened.RequestID != req.ID || *r.opened.Sampling.Seed != *first.opened.Sampling.Seed {
			t.Errorf("%s: opened %+v", where, r.opened)
		}
		other := req
		other.Text = "え"
		v, err := w.Generate(t.Context(), ns, other)
		if err == nil {
			err = w.read(v, 0).err
		}
		if reused := new(generation.ReusedError); !errors.As(err, &reused) {
			t.Errorf("%s: another request with the same id: %v", where, err)
		}
		w.restart()
	}
	if w.model.calls() != 1 {
		t.Errorf("the model was called %d times", w.model.calls())
	}
}

func TestWatchAndStatusAfterRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ", "い"))
	req := w.request("う")
	w.read(w.generate(req), 0)
	id := generation.NodeID(req.ID, 0)
	live, err := w.Status(t.Context(), ns, id)
	if err != nil || live.State != generation.Done || live.LastEvent != 3 || live.Characters != 2 || live.Flow != w.flow || live.Node != id {
		t.Errorf("status %+v, error %v", live, err)
	}
	w.restart()
	v, err := w.Watch(t.Context(), ns, id, 57)
	if err != nil {
		t.Fatal(err)
	}
	if r := w.read(v, 57); r.stored == nil || !r.stored.Replayed || r.err != nil {
		t.Errorf("%+v", r)
	}
	st, err := w.Status(t.Context(), ns, id)
	if err != nil || st.State != generation.Done || st.Characters != 2 || st.Ended.IsZero() || st.Finish != "stop" {
		t.Errorf("status %+v, error %v", st, err)
	}
	written := w.flows.put(nil, "user", "人が書いた")
	for _, id := range []uuid.UUID{uuid.New(), written} {
		missing := new(generation.NotFoundError)
		if _, err := w.Status(t.Context(), ns, id); !errors.As(err, &missing) {
			t.Errorf("status of no generation: %v", err)
		}
		if _, err := w.Watch(t.Context(), ns, id, 0); !errors.As(err, &missing) {
			t.Errorf("watching no generation: %v", err)
		}
		if _, err := w.Cancel(t.Context(), ns, id); !errors.As(err, &missing) {
			t.Errorf("cancelling no generation: %v", err)
		}
	}
	if _, err := w.Watch(t.Context(), "other", id, 0); err != nil {
		t.Errorf("the double has one namespace only: %v", err)
	}
}

func TestNamespacesDoNotMeet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := says("あ")
		m.steps[0].wait = time.Second
		w := newWorld(t, m)
		req := w.request("")
		v := w.generate(req)
		if _, err := w.Watch(t.Context(), "other", generation.NodeID(req.ID, 0), 0); err == nil {
			t.Error("a running generation was seen from another namespace")
		}
		w.read(v, 0)
	})
}

func TestAttachWhileItRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := says("あ", "い", "う")
		for i := range m.steps {
			m.steps[i].wait = time.Second
		}
		w := newWorld(t, m)
		req := w.request("")
		first := w.generate(req)
		time.Sleep(2500 * time.Millisecond)
		again := w.generate(req)
		watched, err := w.Watch(t.Context(), ns, generation.NodeID(req.ID, 0), 1)
		if err != nil {
			t.Fatal(err)
		}
		if st, _ := w.Status(t.Context(), ns, generation.NodeID(req.ID, 0)); st.State != generation.Running || st.LastEvent != 2 || !st.Ended.IsZero() {
			t.Errorf("status %+v", st)
		}
		for i, c := range []struct {
			view  *generation.View
			after int
			want  string
		}{{first, 0, "あいう"}, {again, 0, "あいう"}, {watched, 1, "いう"}} {
			if r := w.read(c.view, c.after); r.text != c.want || r.stored == nil || r.stored.Replayed {
				t.Errorf("watcher %d: %q, stored %v, error %v", i, r.text, r.stored, r.err)
			}
		}
		if m.calls() != 1 {
			t.Errorf("the model was called %d times", m.calls())
		}
	})
}

func TestTwoCallsAtOnceAskTheModelOnce(t *testing.T) {
	t.Parallel()
	for range 50 {
		w := newWorld(t, says("あ", "い"))
		req := w.request("う")
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				v, err := w.Generate(t.Context(), ns, req)
				if err != nil {
					t.Errorf("Generate: %v", err)
					return
				}
				if r := w.read(v, 0); r.stored == nil || (r.text != "あい" && !r.stored.Replayed) {
					t.Errorf("%q, stored %v, error %v", r.text, r.stored, r.err)
				}
			})
		}
		all.Wait()
		if w.model.calls() != 1 || len(w.flows.added()) != 1 {
			t.Fatalf("%d calls of the model, %d nodes", w.model.calls(), len(w.flows.added()))
		}
	}
}

func TestOnlySoManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := says("あ")
		m.steps[0].wait = time.Second
		w := newWorld(t, m, func(l *generation.Limits) { l.Running = 1 })
		v := w.generate(w.request("一"))
		_, err := w.Generate(t.Context(), ns, w.request("二"))
		if busy := new(generation.BusyError); !errors.As(err, &busy) || busy.Limit != 1 {
			t.Errorf("second: %v", err)
		}
		w.read(v, 0)
		if r := w.read(w.generate(w.request("二")), 0); r.stored == nil {
			t.Errorf("after the first has ended: %v", r.err)
		}
	})
}

func TestEndedOnesAreKeptForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("あ"), func(l *generation.Limits) { l.Kept = 2 })
		var ids []uuid.UUID
		for range 3 {
			req := w.request("")
			w.read(w.generate(req), 0)
			ids = append(ids, generation.NodeID(req.ID, 0))
		}
		kept := func(id uuid.UUID) bool {
			st, err := w.Status(t.Context(), ns, id)
			if err != nil {
				t.Fatal(err)
			}
			return st.Flow != uuid.Nil
		}
		if kept(ids[0]) || !kept(ids[1]) || !kept(ids[2]) {
			t.Error("the two youngest of three are to be kept")
		}
		time.Sleep(11 * time.Minute)
		if kept(ids[2]) {
			t.Error("still kept after its time")
		}
	})
}

func TestKeptTextIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says(strings.Repeat("x", 1000)), func(l *generation.Limits) { l.KeptBytes = 5000 })
	for range 4 {
		w.read(w.generate(w.request("")), 0)
	}
	kept := 0
	for _, a := range w.flows.added() {
		if st, _ := w.Status(t.Context(), ns, a.Node.ID); st.Flow != uuid.Nil {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d are kept; each holds its text twice, in the log and in the node", kept)
	}
}

func TestPreviewShowsThePromptAndStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	o, err := w.Preview(t.Context(), ns, w.request("夜"))
	if err != nil || o.Build == nil || o.Build.Prompt != "<>夜" || o.Generation != uuid.Nil || o.Sampling.MaxTokens != 250 {
		t.Errorf("%+v, error %v", o, err)
	}
	if w.model.calls() != 0 || len(w.flows.added()) != 0 {
		t.Error("a preview called the model or stored something")
	}
}

func TestAPlainPromptIsSentAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("い"))
	left, right := w.flows.put(nil, "user", "左"), w.flows.put(nil, "user", "右")
	req := w.request("")
	req.Prompt, req.Parent = "[INST]夜[/INST]", w.flows.put([]uuid.UUID{left, right}, "user", "合流")
	r := w.read(w.generate(req), 0)
	if r.stored == nil {
		t.Fatal(r.err)
	}
	n := r.stored.Node
	if w.model.requests[0].Prompt != req.Prompt || n.Texts[0].Content != req.Prompt || n.Texts[0].Role != "user" || n.Record.Task != "PLAIN" {
		t.Errorf("prompt %q, node %+v", w.model.requests[0].Prompt, n)
	}
	if r.opened.Build != nil || len(r.opened.PromptDigest) != 64 || r.opened.PromptTokens != 14 {
		t.Errorf("opened %+v", r.opened)
	}
	if len(w.prompts.builds) != 0 {
		t.Error("a story was built")
	}
}

func TestAPlainPromptMustFit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("い"))
	req := w.request("")
	req.Prompt, req.Sampling.MaxTokens = "夜", 1000
	budget := new(llm.BudgetError)
	if r := w.read(w.generate(req), 0); !errors.As(r.err, &budget) || budget.Window != 1000 {
		t.Errorf("an answer as large as the window: %v", r.err)
	}
	req = w.request("")
	req.Prompt, req.Sampling.MaxTokens = strings.Repeat("夜", 801), 200
	overflow := new(llm.OverflowError)
	if r := w.read(w.generate(req), 0); !errors.As(r.err, &overflow) || overflow.Limit != 800 || overflow.Tokens != 801 || overflow.MaxTokens != 200 {
		t.Errorf("one token too many: %v", r.err)
	}
	if w.model.calls() != 0 {
		t.Error("the model was called")
	}
}

// The model learns what of the prompt is the beginning of its answer.
func TestTheSuffixReachesTheModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	w.read(w.generate(w.request("彼は")), 0)
	if got := w.model.requests[0]; got.Suffix != len("彼は") || got.Prompt != "<>彼は" {
		t.Errorf("the model is asked %+v", got)
	}
}

func TestAServerThatChangedIsMeasuredOnceMore(t *testing.T) {
	t.Parallel()
	old := identity
	old.Window = 500
	w := newWorld(t, says("あ"))
	w.prompts.measured = func(build int) llm.Identity {
		if build == 1 {
			return old
		}
		return identity
	}
	if r := w.read(w.generate(w.request("")), 0); r.stored == nil || len(w.prompts.builds) != 2 {
		t.Errorf("%d builds, error %v", len(w.prompts.builds), r.err)
	}
	w.prompts.measured = func(int) llm.Identity { return old }
	changed := new(generation.BackendChangedError)
	if r := w.read(w.generate(w.request("")), 0); !errors.As(r.err, &changed) || changed.Measured.Window != 500 || changed.Found.Window != 1000 {
		t.Errorf("a server that stays another: %v", r.err)
	}
	if len(w.prompts.builds) != 4 || w.model.calls() != 1 {
		t.Errorf("%d builds, %d calls", len(w.prompts.builds), w.model.calls())
	}
}

func TestWhatFailsBeforeTheModelLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	req := w.request("")
	w.prompts.err = errors.New("too large")
	if r := w.read(w.generate(req), 0); !errors.Is(r.err, w.prompts.err) || r.events != 0 {
		t.Errorf("%d events, error %v", r.events, r.err)
	}
	if _, err := w.Status(t.Context(), ns, generation.NodeID(req.ID, 0)); err == nil {
		t.Error("it is kept")
	}
	w.prompts.err = nil
	req.Text = "今度は"
	if r := w.read(w.generate(req), 0); r.stored == nil {
		t.Errorf("the same id, mended: %v", r.err)
	}
	for _, bad := range []generation.Request{
		{Text: "流れなし"}, {Flow: w.flow, Parent: uuid.New()}, {Flow: w.flow, Backend: "nobody"},
		{Flow: w.flow, Prompt: "夜", Parent: uuid.New()},
	} {
		if r := w.read(w.generate(bad), 0); r.err == nil || r.events != 0 {
			t.Errorf("%+v: %d events, error %v", bad, r.events, r.err)
		}
	}
	if w.model.calls() != 1 {
		t.Errorf("the model was called %d times", w.model.calls())
	}
}

func TestAFaultOfOursEndsOneGeneration(t *testing.T) {
	t.Parallel()
	m := says("あ")
	m.window = func() (llm.Identity, error) { panic("ouch") }
	w := newWorld(t, m)
	fault := new(generation.PanicError)
	if r := w.read(w.generate(w.request("")), 0); !errors.As(r.err, &fault) || !strings.Contains(fault.Error(), "ouch") {
		t.Errorf("error %v", r.err)
	}
	m.window = nil
	if r := w.read(w.generate(w.request("")), 0); r.stored == nil {
		t.Errorf("the next one: %v", r.err)
	}
}

func TestObserverHearsOfBeginAndEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("あ", "い"))
		w.read(w.generate(w.request("")), 0)
		synctest.Wait()
		ends := w.observer.ended()
		if len(ends) != 1 || ends[0].Backend != "m" || ends[0].Tokens != 2 || ends[0].Status.State != generation.Done {
			t.Errorf("%+v", ends)
		}
	})
}

func TestCloseWaitsNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := says("あ", "い")
		m.steps[1].wait = time.Hour
		w := newWorld(t, m)
		w.flows.fault = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		v := w.generate(w.request(""))
		time.Sleep(time.Second)
		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := w.Close(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		w.read(v, 0)
	})
}
