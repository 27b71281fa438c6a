package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// gated is a model that answers when it is let; calls are those that wait.
type gated struct {
	calls chan chan string
	// stopped counts calls whose caller went.
	stopped atomic.Int64
}

func newGated() *gated { return &gated{calls: make(chan chan string, 16)} }

func (g *gated) ask(ctx context.Context, _ llm.Request) (string, error) {
	answer := make(chan string, 1)
	g.calls <- answer
	select {
	case text := <-answer:
		return text, nil
	case <-ctx.Done():
		g.stopped.Add(1)
		return "", ctx.Err()
	}
}

// TestOneTransactionATurn: a message whose answer comes at once is stored with it, its rows and what its request came to in one
// transaction, and nobody has the session then; the prompt is the one of a message that waited in the queue.
func TestOneTransactionATurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, answers(done))
	r.Engine.Limits.Together = time.Minute
	r.create("queued")
	r.queue("queued")
	r.start(r.process)
	r.rests("queued")
	r.create("s")
	for n := range 3 {
		before := r.store.count()
		m := text("書いて")
		s, err := r.Send(t.Context(), ns, "s", m)
		r.ok(err)
		if s.State.Status != session.Success || s.State.Turn.Running != session.NoTurn || s.Turns != n+1 {
			t.Errorf("%+v", s.State)
		}
		r.rests("s")
		if n := r.store.count() - before; n != 1 {
			t.Errorf("%d transactions", n)
		}
		if again, err := r.Runner.Send(t.Context(), ns, "s", m); err != nil || !again.Replayed || again.Session.Turns != n+1 {
			t.Errorf("the same message again: %+v, %v", again, err)
		}
	}
	r.sound("s")
	ignore := []cmp.Option{
		cmpopts.IgnoreFields(ledger.Session{}, "ID", "Version", "Head", "Updated", "Created", "Task"), cmpopts.IgnoreFields(session.Turn{}, "ID", "Utterance"),
		cmpopts.IgnoreFields(ledger.Message{}, "Text"), cmpopts.EquateEmpty(),
	}
	if diff := cmp.Diff(r.prompts.built[0].Session, r.prompts.built[1].Session, ignore...); diff != "" || r.prompts.built[1].User != "書いて" {
		t.Errorf("queued -, at once +:\n%s", diff)
	}
	if failed, lost := r.heard.told(); len(failed) > 0 || lost > 0 {
		t.Errorf("%v, %d lost", failed, lost)
	}
}

// TestASlowModel: the message is stored before its answer is there, and the turn can be seen; the answer and the end of the lease are one
// more transaction. What comes meanwhile waits, and the answer is kept.
func TestASlowModel(t *testing.T) {
	t.Parallel()
	g := newGated()
	r := newRig(t, g.ask)
	r.Engine.Limits.Together = time.Millisecond
	r.create("s")
	r.start(r.process)
	before := r.store.count()
	s, err := r.Send(t.Context(), ns, "s", text("書いて"))
	r.ok(err)
	if s.State.Turn.Running != session.Working || r.lease("s").Owner != r.Owner || r.store.count() != before+1 {
		t.Errorf("%+v, %+v, %d transactions", s.State, r.lease("s"), r.store.count()-before)
	}
	answer := <-g.calls
	if s, err = r.Send(t.Context(), ns, "s", text("それから？")); err != nil || len(s.State.Queue) != 1 {
		t.Errorf("%+v, %v", s.State, err)
	}
	answer <- done
	answer = <-g.calls // of the second one
	if s = r.get("s"); s.Turns != 2 {
		t.Errorf("%+v", s)
	}
	answer <- done
	if s = r.rests("s"); s.State.Status != session.Success || len(g.calls) != 0 || g.stopped.Load() != 0 {
		t.Errorf("%+v, %d stopped", s.State, g.stopped.Load())
	}
	r.sound("s")
}

// TestSomethingElseMeanwhile: another process writes to the session while the model answers: the message is stored behind that one, both
// are answered, and what the model said to the state before is not taken.
func TestSomethingElseMeanwhile(t *testing.T) {
	t.Parallel()
	g := newGated()
	r := newRig(t, g.ask)
	r.Engine.Limits.Together = time.Minute
	r.create("s")
	r.start(r.process)
	sent := make(chan ledger.Session)
	go func() {
		s, err := r.Send(r.Context(), ns, "s", text("先に"))
		if err != nil {
			t.Error(err)
		}
		sent <- s
	}()
	answer := <-g.calls
	r.queue("s")
	answer <- done
	if s := <-sent; len(s.State.Queue) != 2 || s.Turns != 0 {
		t.Errorf("%+v", s)
	}
	for range 2 {
		answer = <-g.calls
		answer <- done
	}
	if s := r.rests("s"); s.Turns != 2 {
		t.Errorf("%+v", s)
	}
	r.sound("s")
}

// TestNothingIsSent: whoever goes before anything is stored has sent nothing, and pays for the model alone; what is refused is told and stays without
// effect.
func TestNothingIsSent(t *testing.T) {
	t.Parallel()
	g := newGated()
	r := newRig(t, g.ask)
	r.Engine.Limits.Together = time.Minute
	r.create("s")
	r.start(r.process)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-g.calls
		cancel()
	}()
	if _, err := r.Send(ctx, ns, "s", text("書いて")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	r.until("the call is stopped", func() bool { return g.stopped.Load() == 1 })
	r.until("nothing is driven", func() bool { return r.atWork() == 0 })
	if _, err := r.Send(t.Context(), ns, "none", text("書いて")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if s := r.get("s"); s.Version != 2 || s.Spent.ModelCalls != 1 || len(s.State.Queue) != 0 || s.Turns != 0 || r.lease("s") != (store.Lease{}) {
		t.Errorf("%+v", s)
	}
	if failed, _ := r.heard.told(); len(failed) > 0 {
		t.Error(failed)
	}
}

// TestACancel ends the call of the model that is under way.
func TestACancel(t *testing.T) {
	t.Parallel()
	g := newGated()
	r := newRig(t, g.ask)
	r.Engine.Limits.Together = time.Millisecond
	r.create("s")
	r.start(r.process)
	s, err := r.Send(t.Context(), ns, "s", text("書いて"))
	r.ok(err)
	<-g.calls
	_, err = r.Engine.Cancel(t.Context(), ns, "s", s.State.Turn.ID, ann)
	r.ok(err)
	r.Wake(t.Context(), ns, "s")
	r.until("canceled", func() bool { return r.get("s").State.Lifecycle == session.Canceled })
	if r.rests("s"); g.stopped.Load() != 1 {
		t.Errorf("%d calls are stopped", g.stopped.Load())
	}
	r.sound("s")
}

// TestAPanic ends the work on one session alone; it is picked up, and ends when that helps nothing (C54). Its message is kept.
func TestAPanic(t *testing.T) {
	t.Parallel()
	r := newRig(t, answers(done))
	r.Limits.Lease, r.Engine.Limits.Together = 200*time.Millisecond, time.Minute
	r.prompts.panic = func(p turn.Prompt) bool { return p.Session.ID == "bad" }
	r.create("bad")
	r.create("good")
	r.start(r.process)
	if s, err := r.Send(t.Context(), ns, "bad", text("書いて")); err != nil || s.State.Turn.Running != session.Working {
		t.Fatalf("%+v, %v", s.State, err)
	}
	if s, err := r.Send(t.Context(), ns, "good", text("書いて")); err != nil || s.State.Status != session.Success {
		t.Errorf("%+v, %v", s.State, err)
	}
	if s := r.rests("bad"); s.State.Reason != session.ReasonCrashLoop || s.State.Status != session.RequiresInput {
		t.Errorf("%+v", s.State)
	}
	failed, _ := r.heard.told()
	var panicked *PanicError
	if len(failed) != 3 || !errors.As(failed[0], &panicked) || len(panicked.Stack) == 0 {
		t.Errorf("failed %v", failed)
	}
	r.sound("bad")
}

// TestRoom: no more sessions are driven at once than may be, and those that wait longest come first.
func TestRoom(t *testing.T) {
	t.Parallel()
	g := newGated()
	r := newRig(t, g.ask)
	r.Limits.Sessions = 2
	for i := range 6 {
		r.create(fmt.Sprint("s", i))
		r.queue(fmt.Sprint("s", i))
	}
	r.start(r.process)
	for i := 0; i < 6; i += 2 {
		r.until("two are asked", func() bool { return len(g.calls) == 2 })
		var working []string
		for j := range 6 {
			if r.get(fmt.Sprint("s", j)).State.Turn.Running == session.Working {
				working = append(working, fmt.Sprint("s", j))
			}
		}
		if want := []string{fmt.Sprint("s", i), fmt.Sprint("s", i+1)}; !slices.Equal(working, want) {
			t.Errorf("%v are at work, want %v", working, want)
		}
		// Without room a message is stored and waits.
		if i == 0 {
			r.create("late")
			s, err := r.Send(t.Context(), ns, "late", text("書いて"))
			if err != nil || len(s.State.Queue) != 1 {
				t.Errorf("%+v, %v", s.State, err)
			}
		}
		for range 2 {
			(<-g.calls) <- done
		}
	}
	(<-g.calls) <- done
	r.rests("late")
}

// TestTwoRunners on one store drive each session once, and nothing fails.
func TestTwoRunners(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	slow := func(_ context.Context, req llm.Request) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[req.Messages[1].Content]++
		return done, nil
	}
	r := newRig(t, slow)
	r.Engine.Limits.Together = time.Minute
	other := *r.process
	other.Runner = New(r.Deps)
	other.Owner, other.Observer = "other", r.heard
	r.start(r.process)
	r.start(&other)
	var all sync.WaitGroup
	for i := range 40 {
		id := fmt.Sprint("s", i)
		r.create(id)
		all.Go(func() {
			p := []*process{r.process, &other}[i%2]
			for n := range 3 {
				if _, err := p.Send(t.Context(), ns, id, text(fmt.Sprint(id, " ", n))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for i := range 40 {
		id := fmt.Sprint("s", i)
		if s := r.rests(id); s.Turns != 3 || s.State.Status != session.Success {
			t.Errorf("%+v", s)
		}
		if rows := r.rows(id); rows["turn ANSWERED"] != 3 {
			t.Errorf("%v", rows)
		}
		r.sound(id)
	}
	for message, n := range asked {
		if n != 1 {
			t.Errorf("the model was asked %q %d times", message, n)
		}
	}
	if failed, lost := r.heard.told(); len(failed) > 0 || lost > 0 {
		t.Errorf("%v, %d lost", failed, lost)
	}
}

// TestStopped: when the process stops, what is under way is given back, and the next one goes on at once without calling it a crash.
func TestStopped(t *testing.T) {
	t.Parallel()
	g := newGated()
	r := newRig(t, g.ask)
	r.Engine.Limits.Together = time.Millisecond
	r.create("s")
	stop := r.start(r.process)
	_, err := r.Send(t.Context(), ns, "s", text("書いて"))
	r.ok(err)
	<-g.calls
	stop()
	if s := r.get("s"); s.State.Turn.Running != session.Working || r.lease("s").Owner != "" {
		t.Errorf("%+v, %+v", s.State, r.lease("s"))
	}
	if _, err := r.Send(t.Context(), ns, "s", text("それから？")); err != nil {
		t.Error(err) // It is stored though nothing runs.
	}
	r.start(r.another(answers(done)))
	if s := r.rests("s"); s.Turns != 2 || r.rows("s")["turn PICKED_UP"] != 0 {
		t.Errorf("%+v", s)
	}
	r.sound("s")
}

// TestLimits names what is wrong, all at once.
func TestLimits(t *testing.T) {
	t.Parallel()
	if wrong := DefaultLimits().Check(); len(wrong) > 0 {
		t.Error(wrong)
	}
	if wrong := (Limits{Grace: -1}).Check(); len(wrong) != 4 || wrong[0].Field != "sessions" {
		t.Error(wrong)
	}
}

// TestABrokenSessionStopsNobody: sessions that cannot be read are told, laid aside for the life of a lease and tried again; those that wait behind
// them are carried on, also where there is room for fewer than are broken. After a restart, too.
func TestABrokenSessionStopsNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t, answers(done))
	r.Limits.Sessions = 2
	for _, id := range []string{"b1", "b2", "b3", "good"} {
		r.create(id)
		r.queue(id)
	}
	other, err := durable.Open(r.db, func(*durable.DB) error { return nil })
	r.ok(err)
	r.ok(errors.Join(other.Transaction(func() error { return other.Exec("UPDATE sessions SET body = x'7b00' WHERE id LIKE 'b%'") }), other.Close()))
	r.start(r.process)
	if s := r.rests("good"); s.Turns != 1 {
		t.Errorf("%+v", s)
	}
	named := map[string]bool{}
	r.until("the broken ones are told", func() bool { // again each time that a lease is over
		failed, _ := r.heard.told()
		for _, err := range failed {
			var broken *ledger.BrokenError
			if !errors.As(err, &broken) {
				t.Fatal(err)
			}
			named[broken.Session] = true
		}
		return len(named) == 3
	})
	if r.lease("b1").Owner == "" {
		t.Error("nobody is kept from a broken session")
	}
	_, err = r.Engine.Ledger.Delete(t.Context(), ns, "b1", "", ann)
	r.ok(err)
	again := r.another(answers(done))
	r.start(again)
	r.queue("good")
	r.until("the next one goes on", func() bool { return r.get("good").Turns == 2 })
}
