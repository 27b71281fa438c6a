package turn

import (
	"errors"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// withID is a message that has the id of another one.
func (r *rig) withID(id, text string) Message {
	m := r.message(approver("ann"), text)
	m.ID = id
	return m
}

// conversed sends a message as the runner does, and gives what is told of it.
func (r *rig) conversed(m Message) (out Receipt, err error) {
	r.Helper()
	_, wrong := r.Converse(r.Context(), r.Context(), ns, id, m, func(got Receipt, e error) { out, err = got, e })
	r.ok(wrong)
	return out, err
}

// TestAnotherMessageUnderTheIDOfWords: words that decided are answered as they were, and nothing else that has their id is taken for them: neither
// the denial of another approval nor a text, which would be lost (S15).
func TestAnotherMessageUnderTheIDOfWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(2)))
	all := r.pending()
	first, second := all[0], all[1]
	words := r.withID("m1", "approve "+first.ID)
	got, err := r.Send(t.Context(), ns, id, words)
	if err != nil || got.Decided == nil || got.Decided.State != gate.Approved || got.Replayed {
		t.Fatalf("%+v, %v", got, err)
	}
	before := r.now()
	for _, text := range []string{"deny " + second.ID, "deny " + first.ID, "承認 " + first.ID, "approve " + first.ID + "\n", "別の話"} {
		for name, send := range map[string]func(Message) (Receipt, error){
			"sent": func(m Message) (Receipt, error) { return r.Send(t.Context(), ns, id, m) }, "conversed": r.conversed,
		} {
			if got, err := send(r.withID("m1", text)); !errors.Is(err, store.ErrTaken) || got.Replayed {
				t.Errorf("%q, %s: %+v, %v", text, name, got, err)
			}
		}
	}
	if got, err := r.Send(t.Context(), ns, id, words); err != nil || !got.Replayed || got.Decided == nil || got.Decided.ID != first.ID {
		t.Errorf("the same again: %+v, %v", got, err)
	}
	if _, err := r.Aside(t.Context(), ns, id, ann, "m1", words.Text); !errors.Is(err, store.ErrTaken) {
		t.Errorf("asked aside: %v", err)
	}
	if s := r.now(); s.Version != before.Version || r.approval(second.ID).State != gate.Pending {
		t.Errorf("version %d of %d, %+v", s.Version, before.Version, r.approval(second.ID))
	}
	if got, err := r.Send(t.Context(), ns, id, r.withID("m2", "deny "+second.ID)); err != nil || got.Decided == nil || got.Decided.State != gate.Denied {
		t.Errorf("under its own id: %+v, %v", got, err)
	}
	r.sound()
}

// TestWordsThatAnEarlierVersionKept have no hash of their text: no message is taken for them, so that none is lost.
func TestWordsThatAnEarlierVersionKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.send("書いて", say("EXECUTION", "continue", "actions", creates(1)))
	a := r.pending()[0]
	_, err := r.Ledger.Change(t.Context(), ns, id, ann, func(w *ledger.Work) error {
		w.Row(a.Warning(w.Now))
		return put(w, decidedOf("m1"), []byte(a.ID))
	})
	r.ok(err)
	if got, err := r.Send(t.Context(), ns, id, r.withID("m1", "approve "+a.ID)); !errors.Is(err, store.ErrTaken) || r.approval(a.ID).State != gate.Pending {
		t.Errorf("%+v, %v", got, err)
	}
	r.sound()
}

// TestOneIDForAMessageAndAnAside: what was asked aside is no message of the conversation, and a message of it was not asked aside, also where both
// say the same (S15).
func TestOneIDForAMessageAndAnAside(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Limits.Together = time.Minute
	r.model.lines = []string{"霧です。"}
	_, err := r.Aside(t.Context(), ns, id, ann, "m1", "天気は？")
	r.ok(err)
	for _, text := range []string{"天気は？", "別の話"} {
		if got, err := r.Send(t.Context(), ns, id, r.withID("m1", text)); !errors.Is(err, store.ErrTaken) {
			t.Errorf("%q after it was asked aside: %+v, %v", text, got, err)
		}
		if got, err := r.conversed(r.withID("m1", text)); !errors.Is(err, store.ErrTaken) {
			t.Errorf("%q after it was asked aside: %+v, %v", text, got, err)
		}
	}
	r.model.lines = []string{enough}
	if got, err := r.conversed(r.withID("m2", "書いて")); err != nil || got.Replayed {
		t.Fatalf("%+v, %v", got, err)
	}
	asked := len(r.model.asked)
	for _, text := range []string{"書いて", "別の話"} {
		if got, err := r.Aside(t.Context(), ns, id, ann, "m2", text); !errors.Is(err, store.ErrTaken) {
			t.Errorf("%q aside after it was a message: %+v, %v", text, got, err)
		}
	}
	if s := r.now(); len(r.model.asked) != asked || s.Turns != 1 {
		t.Errorf("the model was asked %d times more, %d turns", len(r.model.asked)-asked, s.Turns)
	}
	r.sound()
}
