package generation_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
)

// TestAWatcherThatNeverReadsSlowsNobody is cases/gostyle.md 28: 50 watchers, of which one reads nothing until all is
// over, and 5,000 events. It is told that it lags and misses nothing.
func TestAWatcherThatNeverReadsSlowsNobody(t *testing.T) {
	t.Parallel()
	pieces := make([]string, 5000)
	for i := range pieces {
		pieces[i] = strconv.Itoa(i) + "行\n"
	}
	want := strings.Join(pieces, "")
	w := newWorld(t, says(pieces...))
	req := w.request("")
	idle := w.generate(req)
	var all sync.WaitGroup
	for i := range 49 {
		v, err := w.Watch(t.Context(), ns, generation.NodeID(req.ID, 0), 0)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if r := w.read(v, 0); r.text != want || r.stored == nil {
				t.Errorf("watcher %d: %d bytes of %d, %v", i, len(r.text), len(want), r.err)
			}
		})
	}
	all.Wait()
	if r := w.read(idle, 0); r.text != want || r.stored == nil || r.joined != 5000 || r.events != 4 {
		t.Errorf("the idle one: %d bytes, %d joined, %d events, %v", len(r.text), r.joined, r.events, r.err)
	}
}

// TestNoTextIsTooLargeForAClient: whether the model says much at once or a watcher is far behind, a Text has at most 1 MiB
// and whole characters, and whoever leaves behind any of them gets the rest.
func TestNoTextIsTooLargeForAClient(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	for name, c := range map[string]struct {
		pieces        []string
		texts, joined int
	}{
		"far behind":            {slices.Repeat([]string{strings.Repeat("糸", 4000)}, 300), 4, 300},
		"at the limit":          {slices.Repeat([]string{strings.Repeat("x", most/256)}, 512), 2, 512},
		"one piece":             {[]string{strings.Repeat("糸", most)}, 4, 0},
		"one that is no text":   {[]string{strings.Repeat("\x80", most+1)}, 2, 0},
		"one just at the limit": {[]string{strings.Repeat("x", most)}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, says(c.pieces...))
			req := w.request("")
			r := w.read(w.generate(req), 0)
			if r.err != nil {
				t.Fatal(r.err)
			}
			want := strings.Join(c.pieces, "")
			rest, ids, joined := w.texts(req, 0)
			if strings.Join(rest, "") != want || r.text != want || len(rest) != c.texts || joined != c.joined {
				t.Fatalf("%d bytes of %d in %d texts, %d joined", len(strings.Join(rest, "")), len(want), len(rest), joined)
			}
			for i, text := range rest {
				if len(text) > most || utf8.ValidString(want) && !utf8.ValidString(text) {
					t.Errorf("text %d has %d bytes, whole characters: %v", i, len(text), utf8.ValidString(text))
				}
				behind, _, _ := w.texts(req, ids[i])
				if strings.Join(behind, "") != strings.Join(rest[i+1:], "") {
					t.Errorf("behind event %d comes another text", ids[i])
				}
			}
		})
	}
}

// texts watches a generation from behind an event on.
func (w *world) texts(req generation.Request, after int) (texts []string, ids []int, joined int) {
	w.t.Helper()
	v, err := w.Watch(w.t.Context(), ns, generation.NodeID(req.ID, 0), after)
	if err != nil {
		w.t.Fatal(err)
	}
	defer v.Close()
	for {
		e, err := v.Next(w.t.Context())
		if errors.Is(err, generation.ErrEnd) {
			return texts, ids, joined
		}
		if err != nil {
			w.t.Fatal(err)
		}
		switch e := e.(type) {
		case generation.Text:
			texts, ids = append(texts, e.Text), append(ids, e.ID)
		case generation.Lagged:
			joined += e.Joined
		}
	}
}
