package watch

import (
	"context"
	"errors"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// book is a session whose first rows are kept no longer.
type book struct {
	Ledger
	oldest, last int64
}

func (b book) Span(context.Context, string, string) (ledger.Session, int64, error) {
	return ledger.Session{Head: audit.Head{Seq: uint64(b.last)}}, b.oldest, nil
}

func (b book) Tail(_ context.Context, _, _ string, after int64) (t ledger.Tail, err error) {
	for seq := max(after+1, b.oldest); seq <= b.last; seq++ {
		t.Rows = append(t.Rows, audit.Row{Seq: uint64(seq)})
	}
	t.Last = true
	return t, nil
}

func (book) Listen(string, string) (<-chan struct{}, func()) { return make(chan struct{}), func() {} }

func (book) Read(context.Context, string, func(store.View) error) error { return nil }

// A watcher that knows less than what is kept, or more than there is, is told the oldest event and the last one; from the oldest on it gets each, and
// without a number the session as it is (cases/agent.md c19).
func TestAgent19EventsThatAreKeptNoLonger(t *testing.T) {
	t.Parallel()
	s := Service{Ledger: book{oldest: 5, last: 9}}
	for from, ok := range map[int64]bool{0: false, 3: false, 4: true, 9: true, 10: false} {
		w, err := s.Watch(t.Context(), "n", "s", &from)
		var gap *GapError
		if ok == errors.As(err, &gap) {
			t.Errorf("from %d: %v", from, err)
		}
		if gap != nil && *gap != (GapError{From: from, Oldest: 5, Last: 9}) {
			t.Errorf("from %d: %+v", from, gap)
		}
		if !ok {
			continue
		}
		w.starts(t, from)
		for seq := from + 1; seq <= 9; seq++ {
			if e, err := w.Next(t.Context()); err != nil || e.Seq != seq {
				t.Errorf("from %d: %+v, %v instead of the event %d", from, e, err, seq)
			}
		}
		w.Close()
	}
	w, err := s.Watch(t.Context(), "n", "s", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.starts(t, 9)
	w.Close()
}

// starts checks that a stream begins with the session as it is, under the number that is known.
func (w *Stream) starts(t *testing.T, seq int64) {
	t.Helper()
	e, err := w.Next(t.Context())
	if now, ok := e.Of.(Snapshot); err != nil || !ok || e.Seq != seq || now.Session.Head.Seq != 9 {
		t.Errorf("it begins with %+v, %v", e, err)
	}
}

// What was asked aside and not answered is told as its row: it has no answer that could be told.
func TestAnAsideWithoutAnswer(t *testing.T) {
	t.Parallel()
	row := audit.Row{Seq: 3, Entry: audit.Entry{Kind: audit.Aside, Verdict: "UNANSWERED", Details: `{"charged":true,"message":"m"}`}}
	e, err := (&Stream{}).event(t.Context(), row)
	if is, ok := e.Of.(Record); err != nil || !ok || is.Row != row || e.Seq != 3 {
		t.Errorf("%+v, %v", e, err)
	}
}
