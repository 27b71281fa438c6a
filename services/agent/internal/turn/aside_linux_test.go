package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

var writes = say("EXECUTION", "continue", "actions", []any{call("write", "path", "a.md", "content", "霧の港")})

// asided are the rows of messages that were answered aside.
func (r *rig) asided() (all []audit.Row) {
	r.Helper()
	for row, err := range r.Ledger.Rows(r.Context(), ns, id, 1) {
		r.ok(err)
		if row.Kind == audit.Aside {
			all = append(all, row)
		}
	}
	return all
}

func (r *rig) now() ledger.Session {
	r.Helper()
	s, err := r.Ledger.Get(r.Context(), ns, id)
	r.ok(err)
	return s
}

func isRefused(err error, code session.Refusal) bool {
	var refused *session.RefusedError
	return errors.As(err, &refused) && refused.Code == code
}

// TestAside: a message is answered at once from the session as it is, without tools and in plain text. Nothing of the session is other than
// before but the budget of its turn, and its row; words of approval are none (C79).
func TestAside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.send("書いて", writes)
	wait := r.pending()[0]
	for i, tt := range []struct{ text, said, want string }{
		{"何を書くの？", "霧の港です。", "霧の港です。"},
		{"approve " + wait.ID, say("EXECUTION", "continue", "reply", "承認しました。", "actions", []any{call("write", "path", "b.md", "content", "x")}), "承認しました。"},
		{"承認", "はい。", "はい。"},
	} {
		r.model.lines = []string{tt.said}
		message := fmt.Sprintf("side%d", i)
		for replayed := range 2 {
			got, err := r.Aside(t.Context(), ns, id, ann, message, tt.text)
			if err != nil || got != (Answer{Text: tt.want, Replayed: replayed > 0}) {
				t.Errorf("%+v, %v", got, err)
			}
		}
		if _, err := r.Aside(t.Context(), ns, id, ann, message, "別の問い"); !errors.Is(err, store.ErrTaken) {
			t.Errorf("another message of that id: %v", err)
		}
		rows := r.asided()
		if len(rows) != i+1 || rows[i].Actor != ann || rows[i].Turn != before.State.Turn.ID || rows[i].ArgsDigest != string(sumOf(tt.text)) || !strings.Contains(rows[i].Details, `"charged":true`) {
			t.Errorf("%+v", rows)
		}
	}
	after := r.now()
	if after.State.Turn.ModelCalls != before.State.Turn.ModelCalls-3 {
		t.Errorf("%d calls are left of %d", after.State.Turn.ModelCalls, before.State.Turn.ModelCalls)
	}
	same := after
	same.State.Spent -= 3
	same.Spent.ModelCalls -= 3
	same.State.Turn.ModelCalls, same.Updated, same.Version, same.Head = before.State.Turn.ModelCalls, before.Updated, before.Version, before.Head
	same.Flow, same.Nodes = before.Flow, before.Nodes // It is a node beside the conversation.
	if diff := cmp.Diff(before, same); diff != "" {
		t.Error(diff)
	}
	asked := r.model.asked[1]
	if asked.Schema != "" || len(asked.Messages) != 5 || !strings.Contains(asked.Messages[3].Content, `"WAITING"`) || !strings.HasSuffix(asked.Messages[4].Content, "何を書くの？") {
		t.Errorf("%+v", asked)
	}
	if p := r.prompts.built[1]; p.Aside != asideSentence("ja") || len(p.Tools) != 0 || len(p.Pending) != 1 || p.Pattern != "base_main" || len(p.Talk) != 3 {
		t.Errorf("%+v", p)
	}
	r.sound()
	r.ok(r.decide(wait, session.Approve, ""))
	r.model.lines = []string{say("EXECUTION", "done", "reply", "書きました。")}
	if s := r.drive(); s.State.Status != session.Success || r.file("a.md") != "霧の港" || r.file("b.md") != "" {
		t.Errorf("%+v, %q, %q", s.State, r.file("a.md"), r.file("b.md"))
	}
	r.sound()
}

// TestAsideAtRest: where no turn is open there is no budget, and the answer comes from what was said before.
func TestAsideAtRest(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("港の名は？", say("PLANNING", "done", "reply", "糸崎です。"))
	r.model.lines = []string{"さっき言いました。"}
	got, err := r.Aside(t.Context(), ns, id, ann, "side", "何と言った？")
	if err != nil || got.Text != "さっき言いました。" {
		t.Errorf("%+v, %v", got, err)
	}
	if p := r.prompts.built[1]; len(p.Past) != 1 || p.Past[0].Reply != "糸崎です。" || len(p.Talk) != 0 {
		t.Errorf("%+v", p)
	}
	if rows := r.asided(); len(rows) != 1 || !strings.Contains(rows[0].Details, `"charged":false`) {
		t.Errorf("%+v", rows)
	}
	r.sound()
}

// between does something before the prompt of a turn's call is there.
type between struct {
	Prompts
	do func()
}

func (b *between) Build(ctx context.Context, ns string, p Prompt) (Built, error) {
	if p.Aside == "" {
		b.do()
	}
	return b.Prompts.Build(ctx, ns, p)
}

// TestAsideWhileTheModelAnswers: neither what is asked aside nor a message that is queued meanwhile takes the answer of the turn away.
func TestAsideWhileTheModelAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	once := sync.OnceFunc(func() {
		got, err := r.Aside(t.Context(), ns, id, ann, "side", "進んでる？")
		if err != nil || got.Text != "はい。" {
			t.Errorf("%+v, %v", got, err)
		}
		r.send0("次の話")
	})
	r.Prompts = &between{r.Prompts, once}
	s := r.send("書いて", "はい。", say("PLANNING", "done", "reply", "一つ目。"), say("PLANNING", "done", "reply", "二つ目。"))
	if s.State.Status != session.Success || s.Turns != 2 || len(r.model.asked) != 3 || len(r.asided()) != 1 {
		t.Errorf("%+v, %d turns, %d calls", s.State, s.Turns, len(r.model.asked))
	}
	if first := r.model.asked[0].Messages; len(first) != 2 || !strings.HasPrefix(first[1].Content, "書いて\n\n") {
		t.Errorf("two messages of the user one after the other: %+v", first)
	}
	r.sound()
}

// held is a model that answers when it is let.
type held struct {
	*says
	asked, answer chan struct{}
}

func (h *held) Generator(string) (llm.Generator, error) { return h, nil }
func (h *held) Generate(ctx context.Context, r llm.Request) (llm.Stream, error) {
	h.asked <- struct{}{}
	select {
	case <-h.answer:
		return h.says.Generate(ctx, r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestAsidesAtOnce: so many are answered at once and no more, of another session as many; all are charged.
func TestAsidesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.Ledger.Create(t.Context(), ns, ledger.Fresh{ID: "s2", Owner: "ann"}, ann)
	r.ok(err)
	before := r.send("書いて", writes)
	h := &held{r.model, make(chan struct{}), make(chan struct{})}
	r.Models = h
	var all sync.WaitGroup
	ask := func(in string, n int) {
		all.Go(func() {
			if _, err := r.Aside(t.Context(), ns, in, ann, fmt.Sprintf("side%d", n), "問い"); err != nil {
				t.Error(err)
			}
		})
		<-h.asked
	}
	for i := range MaxAsides {
		r.model.lines = append(r.model.lines, "答え")
		ask(id, i)
	}
	if _, err := r.Aside(t.Context(), ns, id, ann, "one too many", "問い"); !isRefused(err, session.RefusedFull) {
		t.Errorf("one too many: %v", err)
	}
	r.model.lines = append(r.model.lines, "答え")
	ask("s2", 0)
	close(h.answer)
	all.Wait()
	if s := r.now(); len(r.asided()) != MaxAsides || s.State.Turn.ModelCalls != before.State.Turn.ModelCalls-MaxAsides {
		t.Errorf("%d rows, %+v", len(r.asided()), s.State.Turn)
	}
	r.sound()
}

// TestAsideRefused: what cannot be asked is refused and leaves nothing; of an answer that does not come its call is charged, and nothing else is
// other than before (C79).
func TestAsideRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.send("書いて", writes)
	var wrong *ledger.FieldsError
	if _, err := r.Aside(t.Context(), ns, id, ann, "", " "); !errors.As(err, &wrong) || len(wrong.Wrong) != 2 {
		t.Errorf("nothing: %v", err)
	}
	if _, err := r.Aside(t.Context(), ns, id, ann, "m", strings.Repeat("x", MaxMessage)+"\xff"); !errors.As(err, &wrong) || len(wrong.Wrong) != 2 {
		t.Errorf("too much: %v", err)
	}
	if _, err := r.Aside(t.Context(), "other", id, ann, "m", "問い"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("in another namespace: %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := r.Aside(gone, ns, id, ann, "m", "問い"); !errors.Is(err, context.Canceled) {
		t.Errorf("left before: %v", err)
	}
	if s := r.now(); s.Version != before.Version {
		t.Errorf("%+v", s.State)
	}
	var fault *llm.Error
	if _, err := r.Aside(t.Context(), ns, id, ann, "m", "問い"); !errors.As(err, &fault) {
		t.Errorf("a model that is away: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r.Models = &held{r.model, make(chan struct{}, 1), nil}
	done := make(chan error, 1)
	go func() {
		_, err := r.Aside(ctx, ns, id, ann, "m", "問い")
		done <- err
	}()
	<-r.Models.(*held).asked
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("left alone: %v", err)
	}
	after := r.now()
	for i, row := range r.asided() {
		if why := []string{"has not answered", "its sender left"}[i]; row.Verdict != "UNANSWERED" || !strings.Contains(row.Reason, why) ||
			!strings.Contains(row.Details, `"charged":true`) || strings.Contains(row.Details, "answer_digest") {
			t.Errorf("%+v", row)
		}
	}
	if len(r.asided()) != 2 || after.State.Turn.ModelCalls != before.State.Turn.ModelCalls-2 || after.Spent.ModelCalls != before.Spent.ModelCalls+2 {
		t.Errorf("%+v, %+v", after.State.Turn, after.Spent)
	}
	same := after
	same.State.Spent, same.Spent, same.State.Turn.ModelCalls = before.State.Spent, before.Spent, before.State.Turn.ModelCalls
	same.Updated, same.Version, same.Head = before.Updated, before.Version, before.Head
	if diff := cmp.Diff(before, same); diff != "" {
		t.Error(diff)
	}
	r.sound()
	for _, tt := range []struct {
		s      session.State
		others int
		want   session.Refusal
	}{
		{session.State{Turn: session.Turn{Running: session.Working, ModelCalls: 2}}, 0, ""},
		{session.State{Turn: session.Turn{Running: session.Working, ModelCalls: 1}}, 0, session.RefusedFull},
		{session.State{Turn: session.Turn{Running: session.Waiting, ModelCalls: 4}}, 3, session.RefusedFull},
		{session.State{Turn: session.Turn{Running: session.Stopping}}, 0, session.RefusedFull},
		{session.State{Lifecycle: session.Canceled}, 3, ""},
		{session.State{Lifecycle: session.Failed}, 0, session.RefusedState},
	} {
		if err := mayAsk(tt.s, tt.others); (err == nil) != (tt.want == "") || err != nil && !isRefused(err, tt.want) {
			t.Errorf("%+v beside %d: %v", tt.s, tt.others, err)
		}
	}
}

// TestAsideKilled: a process that ends at the write leaves all of it or nothing, and the message can be sent again.
func TestAsideKilled(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		r := newRig(t)
		before := r.send("書いて", writes)
		r.faulty = &faulty{at: 1, after: after}
		r.restart()
		r.model.lines = []string{"一"}
		if _, err := r.Aside(t.Context(), ns, id, ann, "m", "問い"); !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		r.restart()
		want := before.Version
		if after {
			want++
		}
		if s := r.now(); s.Version != want || len(r.asided()) != int(want-before.Version) {
			t.Errorf("after %v: version %d of %d, %+v", after, s.Version, before.Version, r.asided())
		}
		r.model.lines = []string{"二"}
		got, err := r.Aside(t.Context(), ns, id, ann, "m", "問い")
		if err != nil || got.Replayed != after || got.Text != map[bool]string{false: "二", true: "一"}[after] {
			t.Errorf("after %v: %+v, %v", after, got, err)
		}
		if s := r.now(); len(r.asided()) != 1 || s.State.Turn.ModelCalls != before.State.Turn.ModelCalls-1 {
			t.Errorf("after %v: %+v, %+v", after, r.asided(), s.State.Turn)
		}
		r.sound()
	}
}
