package generation_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

var dead = &llm.Error{Fault: llm.FaultCut, Backend: "m", Address: "http://m", Message: "the answer broke off"}

// TestEveryCutKeepsWhatWasReceived: whatever ends an answer early, its text is a node that says so, and the stream's
// error names cause and node.
func TestEveryCutKeepsWhatWasReceived(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []step
		do    func(w *world, id uuid.UUID, v *generation.View)
		want  generation.Finish
		why   string
		state generation.State
	}{
		"cancelled": {
			do: func(w *world, id uuid.UUID, _ *generation.View) {
				st, err := w.Cancel(w.t.Context(), ns, id)
				if err != nil || st.State != generation.Cancelled || st.Node != id {
					w.t.Errorf("Cancel: %+v, %v", st, err)
				}
			},
			want: "cancelled", why: "cancelled", state: generation.Cancelled,
		},
		"stopping": {
			do:   func(w *world, _ uuid.UUID, _ *generation.View) { w.Drain() },
			want: "shutdown", why: "stopping", state: generation.Failed,
		},
		"last reader left": {
			do:   func(_ *world, _ uuid.UUID, v *generation.View) { v.Close(); v.Close() },
			want: "disconnected", why: "left", state: generation.Cancelled,
		},
		"silent": {
			steps: []step{{text: "あ"}, {text: "い"}, {wait: 2*time.Minute + time.Second, text: "う"}, {}},
			want:  "idle", why: "silent for 2m0s", state: generation.Failed,
		},
		"too long": {
			steps: append([]step{{text: "あ"}, {text: "い"}}, slow(40, time.Minute)...),
			want:  "timeout", why: "longer than 30m0s", state: generation.Failed,
		},
		"server dead": {
			steps: []step{{text: "あ"}, {text: "い"}, {err: dead}},
			want:  "backend_error", why: "broke off", state: generation.Failed,
		},
		"server's own limit": {
			steps: []step{{text: "あ"}, {text: "い"}, {err: &llm.Error{Fault: llm.FaultTimeout, Message: "no piece for 1m0s"}}},
			want:  "idle", why: "no piece", state: generation.Failed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := says("あ", "い", "う")
				m.steps[2].wait = 90 * time.Second
				if c.steps != nil {
					m.steps = c.steps
				}
				w := newWorld(t, m)
				req := w.request("前")
				id := generation.NodeID(req.ID, 0)
				v := w.generate(req)
				if c.do != nil {
					time.Sleep(time.Second)
					c.do(w, id, v)
				}
				r := w.read(v, 0)

				cut := new(generation.CutError)
				if !errors.As(r.err, &cut) || cut.Finish != c.want || cut.Generation != id || r.stored != nil {
					t.Fatalf("the stream ended with %#v", r.err)
				}
				n := w.flows.added()[0].Node
				if !strings.Contains(r.err.Error(), c.why) || !strings.Contains(r.err.Error(), n.ID.String()) {
					t.Errorf("message %q", r.err)
				}
				if cut.Node != n.ID || (n.ID == id) != (c.want == generation.FinishCancelled) {
					t.Errorf("what came is in %s, told is %s, the answer's own is %s", n.ID, cut.Node, id)
				}
				if !strings.HasPrefix(n.Texts[1].Content, "あい") || n.Texts[1].Content != r.text {
					t.Errorf("stored %q, watched %q", n.Texts[1].Content, r.text)
				}
				if n.Record.Finish != c.want || !strings.Contains(n.Record.Error, c.why) || n.Texts[0].Content != "前" {
					t.Errorf("record %+v", n.Record)
				}
				if n.Record.AnswerTokens != 0 || n.Texts[1].Tokens != 0 || n.Texts[1].Rate != 0 {
					t.Error("figures that the server did not give were invented")
				}
				if st, err := w.Status(t.Context(), ns, id); err != nil || st.State != c.state || st.Node != n.ID || st.Err == nil {
					t.Errorf("status %+v, %v", st, err)
				}
				w.restart()
				if st, err := w.Status(t.Context(), ns, id); err != nil || st.ID != id || st.State != c.state || st.Finish != c.want || st.Node != n.ID {
					t.Errorf("status after a restart %+v, %v", st, err)
				}
				v, err := w.Watch(t.Context(), ns, id, 2)
				if err != nil {
					t.Fatal(err)
				}
				if r := w.read(v, 0); r.opened.Generation != id || !r.stored.Replayed || r.stored.Node.ID != n.ID || !errors.As(r.err, &cut) || cut.Finish != c.want {
					t.Errorf("watched after a restart %+v", r)
				}
			})
		})
	}
}

func slow(n int, wait time.Duration) []step {
	var steps []step
	for range n {
		steps = append(steps, step{wait: wait, text: "."})
	}
	return steps
}

// TestNothingReceivedNothingStored: the request made nothing, so the same id begins anew.
func TestNothingReceivedNothingStored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m    *model
		do   func(w *world, id uuid.UUID)
		want generation.Finish
	}{
		"unreachable":           {m: &model{startErr: &llm.Error{Fault: llm.FaultUnreachable, Address: "http://m", Message: "nobody answers"}}, want: "backend_error"},
		"silent from the start": {m: &model{steps: []step{{wait: 11 * time.Minute, text: "あ"}}}, want: "idle"},
		"cancelled": {
			m:    &model{steps: []step{{wait: time.Minute, text: "あ"}}},
			do:   func(w *world, id uuid.UUID) { _, _ = w.Cancel(w.t.Context(), ns, id) },
			want: "cancelled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, c.m)
				req := w.request("前")
				v := w.generate(req)
				synctest.Wait()
				if c.do != nil {
					c.do(w, generation.NodeID(req.ID, 0))
				}
				r := w.read(v, 0)
				cut := new(generation.CutError)
				if !errors.As(r.err, &cut) || cut.Finish != c.want || cut.Node != uuid.Nil || r.opened == nil {
					t.Errorf("the stream ended with %#v", r.err)
				}
				if len(w.flows.added()) != 0 {
					t.Error("a node was stored")
				}
				if st, err := w.Status(t.Context(), ns, generation.NodeID(req.ID, 0)); err != nil || st.Finish != c.want || st.Node != uuid.Nil {
					t.Errorf("status %+v, %v", st, err)
				}
				c.m.startErr, c.m.steps = nil, []step{{text: "あ"}, {}}
				if r := w.read(w.generate(req), 0); r.stored == nil || r.stored.Replayed || r.text != "あ" {
					t.Errorf("the same request again: %v", r.err)
				}
			})
		})
	}
}

func TestContinueOutlivesItsWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := says("あ", "い")
		m.steps[1].wait = time.Minute
		w := newWorld(t, m)
		req := w.request("")
		req.Continue = true
		w.generate(req).Close()
		time.Sleep(time.Hour - 51*time.Minute)
		v, err := w.Watch(t.Context(), ns, generation.NodeID(req.ID, 0), 1)
		if err != nil {
			t.Fatal(err)
		}
		if r := w.read(v, 1); r.text != "い" || r.stored == nil {
			t.Errorf("%q, %v", r.text, r.err)
		}
	})
}

func TestOneOfTwoWatchersMayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := says("あ")
		m.steps[0].wait = time.Minute
		w := newWorld(t, m)
		req := w.request("")
		first, second := w.generate(req), w.generate(req)
		first.Close()
		if r := w.read(second, 0); r.stored == nil {
			t.Errorf("%v", r.err)
		}
	})
}

func TestAWatcherWhoseCallEndsIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &model{steps: []step{{wait: time.Minute, text: "あ"}, {}}})
		v := w.generate(w.request(""))
		defer v.Close()
		ctx, stop := context.WithCancel(t.Context())
		if _, err := v.Next(ctx); err != nil {
			t.Fatal(err)
		}
		stop()
		if _, err := v.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

func TestDrainingBeginsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	w.Drain()
	stopping := new(generation.DrainingError)
	if _, err := w.Generate(t.Context(), ns, w.request("")); !errors.As(err, &stopping) {
		t.Errorf("%v", err)
	}
}

func TestAnAnswerThatCouldNotBeStoredIsStoredByTheNextTry(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(context.Context) error{
		"refused": func(context.Context) error { return errors.New("disk full") },
		"hangs":   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, says("あ", "い"))
				w.flows.fault = fault
				req := w.request("前")
				id := generation.NodeID(req.ID, 0)
				began := time.Now()
				r := w.read(w.generate(req), 0)
				lost := new(generation.NotStoredError)
				if !errors.As(r.err, &lost) || lost.Generation != id || r.text != "あい" {
					t.Fatalf("%q, %v", r.text, r.err)
				}
				if took := time.Since(began); name == "hangs" && took != 5*time.Second {
					t.Errorf("storing took %s", took)
				}
				v, err := w.Watch(t.Context(), ns, id, 1)
				if err != nil {
					t.Fatal(err)
				}
				if r := w.read(v, 1); r.text != "い" || !errors.As(r.err, &lost) {
					t.Errorf("watched later: %q, %v", r.text, r.err)
				}
				if st, err := w.Status(t.Context(), ns, id); err != nil || st.State != generation.Failed || st.Finish != "stop" || st.Node != uuid.Nil {
					t.Errorf("status %+v, %v", st, err)
				}
				if r := w.read(w.generate(req), 0); !errors.As(r.err, &lost) {
					t.Errorf("second try: %v", r.err)
				}
				w.flows.fault = nil
				if r := w.read(w.generate(req), 0); r.text != "あい" || r.stored == nil || r.stored.ID != 3 {
					t.Errorf("third try: %q, %v", r.text, r.err)
				}
				if w.model.calls() != 1 {
					t.Errorf("the model was called %d times", w.model.calls())
				}
				synctest.Wait()
				if ends := w.observer.ended(); len(ends) != 3 || ends[0].Again || !ends[1].Again || !ends[2].Again {
					t.Errorf("told %+v", ends)
				}
			})
		})
	}
}

func TestACutAnswerThatCouldNotBeStoredSaysBoth(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &model{steps: []step{{text: "あ"}, {err: dead}}})
	w.flows.fault = func(context.Context) error { return errors.New("disk full") }
	r := w.read(w.generate(w.request("")), 0)
	if r.err == nil || !strings.Contains(r.err.Error(), "broke off") || !strings.Contains(r.err.Error(), "disk full") {
		t.Errorf("%v", r.err)
	}
}

// TestAStoppingServicePromisesNothing: what a stopping service could not store goes with its memory, whole or cut.
func TestAStoppingServicePromisesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []step
		cut   bool
	}{
		"cut by the stop":              {[]step{{text: "あ"}, {wait: time.Minute, text: "い"}, {}}, true},
		"whole when the stop began":    {[]step{{text: "あ"}, {}}, false},
		"stopped while it was written": {[]step{{text: "あ"}, {err: dead}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &model{steps: c.steps})
				w.flows.fault = func(ctx context.Context) error { <-ctx.Done(); return errors.New("flowstore is away") }
				v := w.generate(w.request("前"))
				time.Sleep(time.Second)
				w.Drain()
				r := w.read(v, 0)
				lost := new(generation.NotStoredError)
				if !errors.As(r.err, &lost) || !lost.Lost || (lost.Cut != nil) != c.cut {
					t.Fatalf("the stream ended with %#v", r.err)
				}
				text := r.err.Error()
				if !strings.Contains(text, "flowstore is away") || !strings.Contains(text, "is lost") || strings.Contains(text, "watched for a while") {
					t.Errorf("message %q", text)
				}
			})
		})
	}
}

// TestAnotherAgentWasFaster: the id is taken when the answer comes.
func TestAnotherAgentWasFaster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	req := w.request("")
	take := func(record *generation.Record) func(context.Context) error {
		return func(context.Context) error {
			w.flows.mu.Lock()
			defer w.flows.mu.Unlock()
			id := generation.NodeID(req.ID, 0)
			w.flows.nodes[id] = generation.Node{ID: id, Record: record}
			return nil
		}
	}
	w.flows.fault = take(&generation.Record{RequestDigest: req.Digest(), Finish: "stop"})
	if r := w.read(w.generate(req), 0); r.stored == nil || !r.stored.Replayed || r.stored.Node.Record.RequestDigest != req.Digest() {
		t.Errorf("with the same request: %v", r.err)
	}
	req = w.request("")
	w.flows.fault = take(nil)
	reused := new(generation.ReusedError)
	if r := w.read(w.generate(req), 0); !errors.As(r.err, &reused) {
		t.Errorf("with another: %v", r.err)
	}
}

func TestAnAnswerThatFillsATextIsEnded(t *testing.T) {
	t.Parallel()
	mib := strings.Repeat("x", 1<<20)
	w := newWorld(t, says(mib, mib, mib, mib, "x"))
	r := w.read(w.generate(w.request("")), 0)
	if r.err != nil || len(r.text) != 4<<20 || r.stored == nil {
		t.Fatalf("%d bytes, %v", len(r.text), r.err)
	}
	if rec := r.stored.Node.Record; rec.Finish != "length" || !strings.Contains(rec.Error, "4194304") {
		t.Errorf("record %+v", rec)
	}
}

// TestCancelEndAndDisconnectAtOnce: whatever comes first, there is one end, and watcher, status and store agree on it.
func TestCancelEndAndDisconnectAtOnce(t *testing.T) {
	t.Parallel()
	for range 200 {
		w := newWorld(t, says("あ", "い", "う"))
		req := w.request("")
		id := generation.NodeID(req.ID, 0)
		v := w.generate(req)
		stays, err := w.Watch(t.Context(), ns, id, 0)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() { _, _ = w.Cancel(t.Context(), ns, id) })
		all.Go(v.Close)
		all.Go(w.Drain)
		r := w.read(stays, 0)
		all.Wait()
		st, err := w.Status(t.Context(), ns, id)
		added := w.flows.added()
		switch {
		case r.text == "":
			if len(added) != 0 {
				t.Fatalf("nothing was watched to its end, and stored: %+v", added)
			}
		case err != nil, len(added) != 1, added[0].Node.Texts[0].Content != r.text, st.Node != added[0].Node.ID:
			t.Fatalf("watched %q (%v), stored %+v, status %+v (%v)", r.text, r.err, added, st, err)
		case (r.err == nil) != (st.State == generation.Done):
			t.Fatalf("the watcher heard %v, the status is %+v", r.err, st)
		}
	}
}

func TestHeartbeatsWhenNothingHappens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &model{steps: []step{{wait: 50 * time.Second, text: "あ"}, {wait: 10 * time.Second}}})
		if r := w.read(w.generate(w.request("")), 0); r.heartbeats != 3 || r.stored == nil {
			t.Errorf("%d heartbeats in 50 s of silence and 10 more, %v", r.heartbeats, r.err)
		}
	})
}

// TestNothingComesBeforeOpened: a call that fails while the prompt is built, however long that takes, fails plainly.
func TestNothingComesBeforeOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := says("あ")
		m.window = func() (llm.Identity, error) {
			time.Sleep(time.Minute)
			return identity, dead
		}
		w := newWorld(t, m)
		if r := w.read(w.generate(w.request("")), 0); r.events != 0 || !errors.Is(r.err, dead) {
			t.Errorf("%d events, %v", r.events, r.err)
		}
	})
}

func TestEventsThatAreNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ", "い"))
	req := w.request("")
	w.read(w.generate(req), 0)
	for after, want := range map[int]string{0: "あい", 2: "", 3: ""} {
		v, _ := w.Watch(t.Context(), ns, generation.NodeID(req.ID, 0), after)
		if r := w.read(v, after); r.err != nil || r.text != want || (r.stored != nil) != (after < 3) {
			t.Errorf("after %d: %q, stored %v, %v", after, r.text, r.stored, r.err)
		}
	}
	v, _ := w.Watch(t.Context(), ns, generation.NodeID(req.ID, 0), 4)
	beyond := new(generation.RangeError)
	if r := w.read(v, 4); !errors.As(r.err, &beyond) || beyond.Last != 3 || r.events != 0 {
		t.Errorf("after 4: %v", r.err)
	}
	if _, err := v.Next(t.Context()); err == nil || errors.Is(err, generation.ErrEnd) {
		t.Errorf("once more: %v", err)
	}
}

// TestNoErrorIsAGoodEnd, whatever it wraps.
func TestNoErrorIsAGoodEnd(t *testing.T) {
	t.Parallel()
	m := says("あ")
	m.startErr = &llm.Error{Fault: llm.FaultUnreachable, Message: "hung up", Err: io.EOF}
	w := newWorld(t, m)
	if r := w.read(w.generate(w.request("夜")), 0); r.err == nil {
		t.Error("one answer ended well")
	}
	for _, req := range []generation.Request{{Variants: 2}, {Repeat: 2}, {Repeat: 2, Continue: true}} {
		req.ID, req.Flow, req.Text = uuid.New(), w.flow, "夜"
		if got := w.readAll(w.several(req)); got.err == nil || len(got.failed) == 0 {
			t.Errorf("%+v ended well: %v", req, got.failed)
		}
	}
	if len(w.observer.fault) != 0 {
		t.Errorf("%v is no fault of ours", w.observer.fault)
	}
}

// TestWaitingForAPlaceIsNoSilence: the model has not been asked yet.
func TestWaitingForAPlaceIsNoSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := says()
		m.place, m.steps = 25*time.Minute, []step{{text: "あ"}, {}}
		w := newWorld(t, m)
		if r := w.read(w.generate(w.request("夜")), 0); r.err != nil || r.text != "あ" {
			t.Errorf("%q, %v", r.text, r.err)
		}
	})
}
