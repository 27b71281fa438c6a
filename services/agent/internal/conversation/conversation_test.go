package conversation_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/conversation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store/sqlite"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const ns, id = "team-a", "0196b2c4-1111-7aaa-8bbb-0000a1b2c301"

var ann = audit.Actor{Name: "ann", Kind: audit.Person}

type clock struct{}

func (clock) Now() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// NewTimer gives one that fires soon.
func (clock) NewTimer(time.Duration) *time.Timer { return time.NewTimer(time.Millisecond) }

// rig is a ledger with a session, and what it is written to.
type rig struct {
	*testing.T
	*ledger.Ledger
	writer *conversation.Writer
}

func newRig(t *testing.T, flows conversation.Flows) *rig {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "agent.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	keys, err := audit.NewKeys("k1", map[string][]byte{"k1": []byte(strings.Repeat("k", audit.MinKey))})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, Ledger: ledger.New(s, keys, session.Machine{Limits: session.DefaultLimits()}, clock{})}
	r.writer = conversation.NewWriter(r.Ledger, flows, 5*time.Second)
	r.create(ns, id)
	return r
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) create(ns, id string) {
	r.Helper()
	_, err := r.Create(r.Context(), ns, ledger.Fresh{ID: id, Owner: "ann"}, ann)
	r.ok(err)
}

// keep ends a turn of a session.
func (r *rig) keep(ns, id string, x conversation.Exchange) ledger.Session {
	r.Helper()
	s, err := r.Change(r.Context(), ns, id, ann, func(w *ledger.Work) error {
		w.Row(audit.Entry{Kind: audit.Turn, Verdict: "STOPPED", Reason: "DONE"})
		_, err := conversation.Keep(w, x)
		return err
	})
	r.ok(err)
	return s
}

// left are the numbers of the turns that are still to be stored.
func (r *rig) left(ns, id string) (all []int64) {
	r.Helper()
	r.ok(r.Read(r.Context(), ns, func(v store.View) error {
		found, err := v.Outgoing(id, 0, 100)
		for _, o := range found {
			all = append(all, o.N)
		}
		return err
	}))
	return all
}

// flows remembers what it is told. errs are the next answers of Add, begun those of Begin.
type flows struct {
	mu    sync.Mutex
	errs  []error
	begun []error
	told  []string
	added []generation.Addition
	flows []conversation.Flow
}

func next(errs *[]error) (err error) {
	if len(*errs) > 0 {
		err, *errs = (*errs)[0], (*errs)[1:]
	}
	return err
}

func (f *flows) Begin(_ context.Context, _ string, n conversation.Flow) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flows = append(f.flows, n)
	return next(&f.begun)
}

func (f *flows) Add(_ context.Context, ns string, a generation.Addition) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, ns+" "+a.Node.Texts[0].Content)
	if err := next(&f.errs); err != nil {
		return err
	}
	f.added = append(f.added, a)
	return nil
}

func said(text string) conversation.Exchange {
	return conversation.Exchange{User: text, Reply: "はい"}
}

// TestNodesOfASession: one for each turn, each behind the one before it, one beside them for an aside, and each says how it was made.
func TestNodesOfASession(t *testing.T) {
	t.Parallel()
	f := &flows{}
	r := newRig(t, f)
	made := ledger.Made{
		Backend: llm.Identity{Backend: "b", Model: "m", Window: 4096}, Prompt: "d", MaxTokens: 100, PromptTokens: 30, CachedTokens: 20, AnswerTokens: 7,
		PromptTime: time.Second, AnswerTime: 2 * time.Second, Finish: "stop",
	}
	r.keep(ns, id, conversation.Exchange{User: "港の話を", Reply: "書きました。", Made: made})
	_, err := r.Change(t.Context(), ns, id, ann, func(w *ledger.Work) error {
		w.Row(audit.Entry{Kind: audit.Aside, Verdict: "ANSWERED", Reason: "asked aside", ArgsDigest: strings.Repeat("a", 64)})
		return conversation.Aside(w, said("今は？"))
	})
	r.ok(err)
	s := r.keep(ns, id, conversation.Exchange{User: "続き", Made: made, Finish: "cancelled", Error: strings.Repeat("夜", 2000)})
	if s.Nodes != 3 || s.Flow != conversation.FlowID(id).String() || s.Last != conversation.NodeID(id, 3).String() {
		t.Errorf("%+v", s)
	}
	r.ok(r.writer.Flush(t.Context(), ns, id))
	r.ok(r.writer.Flush(t.Context(), ns, id)) // Nothing is left.
	if len(f.added) != 3 || len(f.flows) != 0 || len(r.left(ns, id)) != 0 {
		t.Fatalf("%+v, %+v, %v", f.added, f.flows, r.left(ns, id))
	}
	flow, node := conversation.FlowID(id), func(n int) uuid.UUID { return conversation.NodeID(id, n) }
	want := generation.Addition{Flow: flow, SetCurrent: true, Node: generation.Node{
		ID: node(1), Model: "m", Texts: []generation.NodeText{{Role: "user", Content: "港の話を"}, {Role: "assistant", Content: "書きました。", Tokens: 7, Duration: 2 * time.Second}},
		Record: &generation.Record{
			Backend: made.Backend, PromptDigest: "d", Task: "SESSION", Sampling: llm.Sampling{MaxTokens: 100}, PromptTokens: 30, CachedTokens: 20, AnswerTokens: 7,
			PromptTime: time.Second, AnswerTime: 2 * time.Second, Finish: "stop",
		},
	}}
	if diff := cmp.Diff(want, f.added[0]); diff != "" {
		t.Error(diff)
	}
	if a := f.added[1]; a.Parent != node(1) || a.SetCurrent || a.Node.ID != node(2) || a.Node.Record != nil {
		t.Errorf("the aside is %+v", a)
	}
	if a := f.added[2]; a.Parent != node(1) || !a.SetCurrent || len(a.Node.Texts) != 1 || a.Node.Record.Finish != "cancelled" || len(a.Node.Record.Error) != 4095 {
		t.Errorf("the turn that was cancelled is %+v", a)
	}
	if _, err := r.Replay(t.Context(), ns, id); err != nil {
		t.Error(err)
	}
}

// TestWhatBecomesOfANode: by what flowstore answers.
func TestWhatBecomesOfANode(t *testing.T) {
	t.Parallel()
	first, second := conversation.FlowID(id), uuid.NewSHA1(conversation.FlowID(id), []byte("next"))
	for name, c := range map[string]struct {
		errs, begun []error
		// err is what Flush gives, left how many turns are, begins how many flows were made.
		err          error
		left, begins int
		// root: the second node continues nothing. flow is where it is.
		root   bool
		flow   uuid.UUID
		notice string
	}{
		"all is well":              {flow: first},
		"the flow is not there":    {errs: []error{conversation.ErrNoFlow}, begins: 1, flow: first},
		"flowstore is away":        {errs: []error{nil, conversation.ErrAway}, err: conversation.ErrAway, left: 1},
		"away for the flow":        {errs: []error{conversation.ErrNoFlow}, begun: []error{conversation.ErrAway}, err: conversation.ErrAway, left: 2, begins: 1},
		"the parent was removed":   {errs: []error{nil, conversation.ErrNoParent}, root: true, flow: first},
		"the flow was deleted":     {errs: []error{nil, conversation.ErrNoFlow, conversation.ErrNoParent}, begun: []error{conversation.ErrTaken}, begins: 2, root: true, flow: second, notice: "was deleted"},
		"a node that it never has": {errs: []error{&conversation.RefusedError{Why: "too large"}}, flow: first, notice: "turn 1 is not in the flow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &flows{errs: c.errs, begun: c.begun}
			r := newRig(t, f)
			r.keep(ns, id, said("一"))
			r.keep(ns, id, said("二"))
			err := r.writer.Flush(t.Context(), ns, id)
			if !errors.Is(err, c.err) || len(r.left(ns, id)) != c.left || len(f.flows) != c.begins {
				t.Fatalf("%v, left %v, begun %v", err, r.left(ns, id), f.flows)
			}
			r.ok(r.writer.Flush(t.Context(), ns, id))
			last := f.added[len(f.added)-1]
			if c.flow != uuid.Nil && (last.Flow != c.flow || (last.Parent == uuid.Nil) != c.root) || len(r.left(ns, id)) != 0 {
				t.Errorf("%+v", last)
			}
			s, err := r.Get(t.Context(), ns, id)
			r.ok(err)
			if got := strings.Join(s.Notices, ""); (c.notice == "") != (got == "") || !strings.Contains(got, c.notice) || s.Flow != last.Flow.String() {
				t.Errorf("notices %q, flow %s", got, s.Flow)
			}
			if _, err := r.Verify(t.Context(), ns, id); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTitles: the goal, else what was said first; cut between two characters.
func TestTitles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ goal, user, want string }{
		{"港の\t話", "x", "港の 話"}, {"", "一行目\n二行目", "一行目 二行目"}, {"", " \n", "sessions/" + id},
		{"", strings.Repeat("か\u3099", 50), strings.Repeat("か\u3099", 39) + "…"},
	} {
		f := &flows{errs: []error{conversation.ErrNoFlow}}
		r := newRig(t, f)
		_, err := r.Update(t.Context(), ns, id, "", ann, func(s *ledger.Session) error { s.Items.Goal = c.goal; return nil })
		r.ok(err)
		r.keep(ns, id, said(c.user))
		r.ok(r.writer.Flush(t.Context(), ns, id))
		if got := f.flows[0]; got.Title != c.want || got.Description != "sessions/"+id || got.ID != conversation.FlowID(id) {
			t.Errorf("%+v, want %q", got, c.want)
		}
	}
}

// TestWhatIsLeftOfAll: at start, of all namespaces; nobody else is tried where flowstore is away, and one that fails stops no other.
func TestWhatIsLeftOfAll(t *testing.T) {
	t.Parallel()
	f := &flows{}
	r := newRig(t, f)
	r.keep(ns, id, said("一"))
	r.create("team-b", "s2")
	r.keep("team-b", "s2", said("二"))
	f.errs = []error{conversation.ErrAway}
	if err := r.writer.FlushAll(t.Context()); !errors.Is(err, conversation.ErrAway) || len(f.told) != 1 {
		t.Errorf("%v after %q", err, f.told)
	}
	odd := errors.New("odd")
	f.errs, f.told = []error{odd}, nil
	if err := r.writer.FlushAll(t.Context()); !errors.Is(err, odd) || !cmp.Equal(f.told, []string{"team-a 一", "team-b 二"}) {
		t.Errorf("%v after %q", err, f.told)
	}
	_, err := r.Delete(t.Context(), ns, id, "", ann)
	r.ok(err)
	f.told = nil
	if err := r.writer.FlushAll(t.Context()); err != nil || len(f.told) != 0 || len(r.left(ns, id)) != 0 {
		t.Errorf("of a session that was deleted: %v, %q", err, f.told)
	}
}

// faults keeps what went wrong.
type faults chan error

func (f faults) Fault(_ context.Context, err error) { f <- err }

// TestRun stores what is left at once, tells what went wrong, and looks again.
func TestRun(t *testing.T) {
	t.Parallel()
	f := &flows{errs: []error{conversation.ErrAway}}
	r := newRig(t, f)
	r.keep(ns, id, said("一"))
	ctx, stop := context.WithCancel(t.Context())
	seen, done := make(faults, 1), make(chan struct{})
	go func() {
		defer close(done)
		r.writer.Run(ctx, clock{}, seen)
	}()
	if err := <-seen; !errors.Is(err, conversation.ErrAway) || !strings.Contains(err.Error(), "turn 1 of session "+id) {
		t.Error(err)
	}
	for len(r.left(ns, id)) > 0 {
		select {
		case err := <-seen:
			t.Fatal(err)
		case <-time.After(time.Millisecond): // The state is what is waited for.
		}
	}
	stop()
	<-done
	if got := fmt.Sprint(f.told); got != "[team-a 一 team-a 一]" {
		t.Error(got)
	}
}
