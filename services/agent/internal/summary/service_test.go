package summary_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

var use1 = summary.Use{Asked: 1, PromptTokens: 10, AnswerTokens: 3}

func use(n int) summary.Use { return summary.Use{Asked: n, PromptTokens: 10 * n, AnswerTokens: 3 * n} }

func TestGoodReply(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.store.put("\ufeff舞台は？\r\n", "港町です。")
	sent, err := r.build(t.Context(), summary.Request{})
	want := summary.Reply{Summary: ja, Tags: []string{"舞台", "港町", "方言"}}
	if err != nil || !reflect.DeepEqual(sent, []summary.Event{
		summary.Begun{Total: 1}, summary.Done{ID: id, Reply: want, Use: use1}, summary.Report{Done: 1, Use: use1},
	}) {
		t.Fatalf("%+v, %v", sent, err)
	}
	if n := r.store.of(id); n.Stale || !reflect.DeepEqual(n.reply, want) {
		t.Errorf("%+v", n)
	}
	q := r.model.requests()[0]
	if m := q.Messages[0]; m.Role != llm.RoleUser || m.Content != "舞台は？|港町です。" || *q.Sampling.Temperature != 0 || q.Sampling.MaxTokens != 300 {
		t.Errorf("%+v", q)
	}
	if sent, err := r.build(t.Context(), summary.Request{}); err != nil || !reflect.DeepEqual(sent, []summary.Event{summary.Begun{}, summary.Report{}}) {
		t.Errorf("again: %+v, %v", sent, err)
	}
	if sent, _ := r.build(t.Context(), summary.Request{Nodes: []uuid.UUID{id}}); !reflect.DeepEqual(sent[1], summary.Skipped{ID: id, Why: summary.Fresh}) {
		t.Errorf("by name: %+v", sent)
	}
	if n := len(r.model.requests()); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestTwoBadRepliesThenAGoodOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.store.put("p", "a")
	r.model.replies(badReply, "要約: "+ja, goodReply)
	if e, ok := r.one().(summary.Done); !ok || e.Use != use(3) {
		t.Fatalf("%+v", e)
	}
	var messages []string
	for _, q := range r.model.requests() {
		messages = append(messages, q.Messages[0].Content)
	}
	if want := []string{"p|a", "p|a\nagain: NO_SUMMARY", "p|a\nagain: NO_TAGS"}; !reflect.DeepEqual(messages, want) {
		t.Errorf("%q", messages)
	}
	if n := r.store.of(id); n.Stale || n.writes != 1 {
		t.Errorf("%+v", n)
	}
}

func TestThreeBadReplies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.store.put("p", "a")
	r.model.replies(badReply)
	if e, ok := r.one().(summary.Failed); !ok || e.Reason != "NO_SUMMARY" || e.Message == "" || e.Use != use(3) {
		t.Fatalf("%+v", e)
	}
	if n := r.store.of(id); !n.Stale || n.writes != 0 || n.reply.Summary != "" {
		t.Errorf("%+v", n)
	}
	if r.one(); len(r.model.requests()) != 6 { // a person who asks again is answered
		t.Errorf("asked %d times", len(r.model.requests()))
	}
}

func TestReplyThatIsCut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.put("p", "a")
	r.model.answer = func(context.Context, int, string) (string, llm.Finish, error) {
		return goodReply, llm.FinishLength, nil
	}
	if e, ok := r.one().(summary.Failed); !ok || e.Reason != "CUT" {
		t.Fatalf("%+v", e)
	}
	r.model.answer = func(context.Context, int, string) (string, llm.Finish, error) {
		return goodReply + of("、港町", 30_000), llm.FinishStop, nil
	}
	if e, ok := r.one().(summary.Failed); !ok || e.Reason != "CUT" {
		t.Fatalf("without end: %+v", e)
	}
}

func TestTokenLimit(t *testing.T) {
	t.Parallel()
	for limit, reason := range map[int]string{utf8.RuneCountInString(ja): "", utf8.RuneCountInString(ja) - 1: "OVER_TOKENS"} {
		r := newRig(t, func(d *summary.Deps) { d.Numbers.TokenLimit = limit })
		r.store.put("p", "a")
		e := r.one()
		if f, failed := e.(summary.Failed); failed != (reason != "") || f.Reason != reason {
			t.Errorf("%d: %+v", limit, e)
		}
	}
}

// An edit while the model reads leaves the node marked, with its old summary; the next call makes one of the new texts.
func TestEditDuringTheCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.store.put("p", "a")
	r.model.answer = func(_ context.Context, n int, _ string) (string, llm.Finish, error) {
		if n == 1 {
			r.store.edit(id, "p", "another answer")
		}
		return goodReply, "", nil
	}
	if e, ok := r.one().(summary.Skipped); !ok || e.Why != summary.Changed || e.Use != use1 {
		t.Fatalf("%+v", e)
	}
	if n := r.store.of(id); !n.Stale || n.writes != 0 {
		t.Errorf("%+v", n)
	}
	if e, ok := r.one().(summary.Done); !ok {
		t.Fatalf("%+v", e)
	}
	if q := r.model.requests(); q[1].Messages[0].Content != "p|another answer" {
		t.Errorf("%q", q[1].Messages[0].Content)
	}
}

// A change of something else does not lose the summary, which is of the texts that are there.
func TestTouchDuringTheCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.store.put("p", "a")
	r.model.answer = func(context.Context, int, string) (string, llm.Finish, error) {
		r.store.touch(id)
		return goodReply, "", nil
	}
	if e, ok := r.one().(summary.Done); !ok || e.Asked != 1 {
		t.Fatalf("%+v", e)
	}
	if n := r.store.of(id); n.Stale || n.writes != 1 {
		t.Errorf("%+v", n)
	}
	r = newRig(t) // one that never stops changing is left marked
	id = r.store.put("p", "a")
	r.store.writing = func() error { r.store.touch(id); return nil }
	if e, ok := r.one().(summary.Skipped); !ok || e.Why != summary.Changed || !r.store.of(id).Stale {
		t.Fatalf("%+v", e)
	}
}

// Texts that do not fit share the largest multiple of 500 characters that does, each cut in its middle.
func TestTooLongForTheWindow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.put(of("問", 400), of("一", 3000)+of("末", 3000))
	if e, ok := r.one().(summary.Done); !ok || !e.Partial {
		t.Fatalf("%+v", e)
	}
	got := r.model.requests()[0].Messages[0].Content
	prompt, answer, _ := strings.Cut(got, "|") // 3,700 is what there is room for: 3,500 and the `|`
	if prompt != of("問", 400) || utf8.RuneCountInString(answer) != 3100 || !strings.HasPrefix(answer, of("一", 2310)+"\n[... truncated ...]\n末") {
		t.Errorf("%d and %d: %.20q", utf8.RuneCountInString(prompt), utf8.RuneCountInString(answer), answer)
	}
	r = newRig(t)
	r.prompts.measured.Window, r.model.window = 700, 700
	r.store.put("p", of("一", 3000)) // 500 and the `|` do not fit in 400
	if e, ok := r.one().(summary.Failed); !ok || e.Reason != "CONTEXT_OVERFLOW" || e.Asked != 0 {
		t.Errorf("%+v", e)
	}
	r = newRig(t)
	r.prompts.measured.Window, r.model.window = 1<<20, 1<<20
	r.store.put("", of("一", 600_000)) // more than RenderTemplate takes
	if e, ok := r.one().(summary.Done); !ok || !e.Partial || utf8.RuneCountInString(r.model.requests()[0].Messages[0].Content) != 500_001 {
		t.Errorf("%+v", e)
	}
}

// What is wrong with one node does not stop the others.
func TestOthersGoOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	good, empty := r.store.put("p", "a"), r.store.put(" ", "\n")
	sent, err := r.build(t.Context(), summary.Request{Nodes: []uuid.UUID{uuid.Max, empty, good}, Parallel: 1})
	if err != nil || len(sent) != 5 {
		t.Fatalf("%+v, %v", sent, err)
	}
	if f, ok := sent[1].(summary.Failed); !ok || f.ID != uuid.Max || f.Reason != "NODE_NOT_FOUND" {
		t.Errorf("%+v", sent[1])
	}
	if s, ok := sent[2].(summary.Skipped); !ok || s.ID != empty || s.Why != summary.Empty {
		t.Errorf("%+v", sent[2])
	}
	if want := (summary.Report{Done: 1, Skipped: 1, Failed: 1, Use: use1}); sent[4] != summary.Event(want) {
		t.Errorf("%+v", sent[4])
	}
}

func TestModelThatIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(d *summary.Deps) { d.Limits.Heartbeat = time.Hour })
		r.store.put("p", "a")
		r.model.answer = func(ctx context.Context, _ int, _ string) (string, llm.Finish, error) {
			<-ctx.Done()
			return "", "", llm.Ended(ctx)
		}
		if e, ok := r.one().(summary.Failed); !ok || e.Reason != "TIMEOUT" || e.Asked != 1 {
			t.Errorf("%+v", e)
		}
	})
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(d *summary.Deps) { d.Limits.Heartbeat = 15 * time.Second })
		r.store.put("p", "a")
		r.model.answer = func(context.Context, int, string) (string, llm.Finish, error) {
			time.Sleep(40 * time.Second)
			return goodReply, "", nil
		}
		sent, err := r.build(t.Context(), summary.Request{})
		if err != nil || len(sent) != 5 || sent[1] != summary.Event(summary.Heartbeat{}) || sent[2] != sent[1] {
			t.Errorf("%+v, %v", sent, err)
		}
	})
}

// An error for which no node could go on ends the call with it; what was told as done is stored.
func TestErrorsThatEndTheCall(t *testing.T) {
	t.Parallel()
	away := &llm.Error{Fault: llm.FaultUnreachable}
	for name, test := range map[string]struct {
		set  func(*rig)
		want error
	}{
		"model": {func(r *rig) {
			r.model.answer = func(context.Context, int, string) (string, llm.Finish, error) { return "", "", away }
		}, away},
		"listing": {func(r *rig) { r.store.listing = func() error { return away } }, away},
		"reading": {func(r *rig) { r.store.reading = func() error { return away } }, away},
		"writing": {func(r *rig) { r.store.writing = func() error { return away } }, away},
		"changed": {func(r *rig) { r.prompts.measured.Model = "other" }, new(summary.BackendChangedError)},
		"panic":   {func(r *rig) { r.store.reading = func() error { panic("x") } }, new(summary.PanicError)},
	} {
		r := newRig(t)
		r.store.put("p", "a")
		r.store.put("p", "b")
		test.set(r)
		sent, err := r.build(t.Context(), summary.Request{Parallel: 1})
		if reflect.TypeOf(err) != reflect.TypeOf(test.want) {
			t.Errorf("%s: %+v, %v", name, sent, err)
		}
		for _, e := range sent {
			if _, ok := e.(summary.Report); ok {
				t.Errorf("%s: a report although not all was seen", name)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if all := r.Refusals(t.Context(), ns, summary.Request{Backend: "x", Locale: "??"}); len(all) != 2 {
		t.Errorf("%v", all)
	}
	if all := r.Refusals(t.Context(), ns, summary.Request{}); all != nil {
		t.Errorf("%v", all)
	}
}

// A caller who leaves ends the work: no node is begun any more, and a reply that is there is stored.
func TestCancelInTheMiddle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 20 {
		r.store.put("p", "a")
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.model.answer = func(_ context.Context, n int, _ string) (string, llm.Finish, error) {
		if n == 5 {
			cancel()
		}
		return goodReply, "", nil
	}
	_, err := r.build(ctx, summary.Request{Parallel: 1})
	if !errors.Is(err, context.Canceled) || len(r.model.requests()) != 5 {
		t.Fatalf("%v after %d requests", err, len(r.model.requests()))
	}
	if sent, err := r.build(t.Context(), summary.Request{}); err != nil || sent[0] != summary.Event(summary.Begun{Total: 15}) {
		t.Fatalf("the rest: %v, %v", sent, err)
	}
	for id, n := range r.store.nodes {
		if n.writes != 1 {
			t.Errorf("%s was written %d times", id, n.writes)
		}
	}
}

func TestReaderThatFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.put("p", "a")
	gone := errors.New("gone")
	if err := r.Build(t.Context(), ns, summary.Request{}, func(summary.Event) error { return gone }); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// No more nodes than allowed are worked on at once, by all calls together; and no node by two.
func TestParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(d *summary.Deps) { d.Limits.Parallel = 3 })
		for range 12 {
			r.store.put("p", "a")
		}
		r.model.answer = func(context.Context, int, string) (string, llm.Finish, error) {
			time.Sleep(time.Second)
			return goodReply, "", nil
		}
		done := make(chan []summary.Event)
		for range 2 {
			go func() {
				sent, err := r.build(t.Context(), summary.Request{Parallel: 2})
				if err != nil {
					t.Error(err)
				}
				done <- sent
			}()
		}
		for range 2 {
			<-done
		}
		if r.model.most != 3 || len(r.model.requests()) != 12 {
			t.Errorf("%d at once, %d requests", r.model.most, len(r.model.requests()))
		}
	})
}

func TestDrain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.store.put("p", "a")
	r.model.answer = func(ctx context.Context, _ int, _ string) (string, llm.Finish, error) {
		r.Drain()
		<-ctx.Done()
		return "", "", llm.Ended(ctx)
	}
	for range 2 { // the second one is not taken on
		if _, err := r.build(t.Context(), summary.Request{}); !errors.As(err, new(*summary.DrainingError)) {
			t.Error(err)
		}
	}
}
