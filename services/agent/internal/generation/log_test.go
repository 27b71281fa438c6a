package generation

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// watcher is a View and what it has read.
type watcher struct {
	view  *View
	from  int
	text  strings.Builder
	ids   []int
	ended error
}

// step takes one event if there is one.
func (w *watcher) step(t *rapid.T) {
	if w.ended != nil {
		return
	}
	e, news, err := w.view.step()
	switch e := e.(type) {
	case Text:
		w.text.WriteString(e.Text)
		w.ids = append(w.ids, e.ID)
	case Lagged:
		if e.Joined <= maxBehind {
			t.Fatalf("told that it lags when %d pieces behind", e.Joined)
		}
	}
	if news == nil {
		w.ended = err
	}
}

// TestEveryWatcherReadsTheSameBytes: watchers attach at any time behind any event, and read as fast or slowly as they
// like, while the model writes. Each gets the text behind its place, byte for byte, with rising numbers.
func TestEveryWatcherReadsTheSameBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &Service{}
		g := &generation{id: uuid.Max, cancel: func(error) {}}
		var pieces []string
		var watchers []*watcher
		ended := false
		t.Repeat(map[string]func(*rapid.T){
			"open": func(*rapid.T) { g.open(Opened{}) },
			"write": func(t *rapid.T) {
				if ended {
					t.Skip("it has ended")
				}
				g.open(Opened{})
				for range rapid.SampledFrom([]int{1, 3, maxBehind + 1}).Draw(t, "pieces") {
					p := rapid.StringN(1, 3, -1).Draw(t, "piece")
					pieces = append(pieces, p)
					g.append(p)
				}
			},
			"attach": func(t *rapid.T) {
				from := rapid.IntRange(0, len(pieces)).Draw(t, "after")
				watchers = append(watchers, &watcher{view: s.newView(g, from), from: from})
			},
			"read": func(t *rapid.T) {
				if len(watchers) == 0 {
					t.Skip("nobody watches")
				}
				w := rapid.SampledFrom(watchers).Draw(t, "watcher")
				for range rapid.IntRange(1, 20).Draw(t, "steps") {
					w.step(t)
				}
			},
			"end": func(t *rapid.T) {
				g.open(Opened{})
				ended = true
				g.finish(ending{node: &Node{}})
			},
		})
		g.open(Opened{})
		g.finish(ending{node: &Node{}})
		for _, w := range watchers {
			for w.ended == nil {
				w.step(t)
			}
			if want := strings.Join(pieces[w.from:], ""); w.text.String() != want || !errors.Is(w.ended, ErrEnd) {
				t.Fatalf("after %d: read %q, want %q, ended with %v", w.from, w.text.String(), want, w.ended)
			}
			last := w.from
			for _, id := range w.ids {
				if id <= last {
					t.Fatalf("numbers %v after %d", w.ids, w.from)
				}
				last = id
			}
			if len(w.ids) > 0 && last != len(pieces) {
				t.Fatalf("the last number is %d of %d", last, len(pieces))
			}
		}
	})
}
