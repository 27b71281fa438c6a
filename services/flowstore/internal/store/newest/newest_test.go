package newest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/newest"
)

func entry(micros int, id byte) store.Entry {
	return store.Entry{Created: time.UnixMicro(int64(micros)).UTC(), ID: uuid.UUID{15: id}}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	l := newest.Of([]store.Entry{entry(1, 1), entry(3, 1), entry(2, 9)})
	l.Put(entry(2, 10))
	l.Put(entry(2, 10))
	want := []store.Entry{entry(3, 1), entry(2, 10), entry(2, 9), entry(1, 1)}
	if diff := cmp.Diff(want, l.Behind(store.NewestFirst, store.Entry{}, 10)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[1:3], l.Behind(store.NewestFirst, want[0], 2)); diff != "" {
		t.Error(diff)
	}
	l.Drop(want[1])
	l.Drop(want[1])
	if diff := cmp.Diff(want[2:3], l.Behind(store.NewestFirst, want[1], 1)); diff != "" {
		t.Errorf("behind one that is gone: %s", diff)
	}
	for _, n := range []int{0, -1} {
		if got := l.Behind(store.NewestFirst, store.Entry{}, n); len(got) != 0 {
			t.Errorf("%d entries: %v", n, got)
		}
	}
	backwards := []store.Entry{want[3], want[2], want[0]}
	if diff := cmp.Diff(backwards, l.Behind(store.OldestFirst, store.Entry{}, 10)); diff != "" {
		t.Errorf("oldest first: %s", diff)
	}
	if diff := cmp.Diff(backwards[2:], l.Behind(store.OldestFirst, want[1], 10)); diff != "" {
		t.Errorf("oldest first, behind one that is gone: %s", diff)
	}
	// A file made by hand may tell more digits than are kept.
	finer := entry(3, 1)
	finer.Created = finer.Created.Add(999)
	if got := l.Behind(store.NewestFirst, finer, 1); len(got) != 1 || got[0] != want[2] {
		t.Errorf("behind the first one: %v", got)
	}
}

// Pages of any size, put together, are the whole list, and adding one by one makes the same list as making it at once.
func TestPagesAreTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) store.Entry {
			return entry(rapid.IntRange(-3, 3).Draw(t, "time"), rapid.ByteRange(1, 20).Draw(t, "id"))
		}), func(e store.Entry) store.Entry { return e }).Draw(t, "entries")
		var grown newest.List
		for _, e := range entries {
			grown.Put(e)
		}
		all := newest.Of(entries).Behind(store.NewestFirst, store.Entry{}, len(entries))
		size := rapid.IntRange(1, 5).Draw(t, "page")
		for _, order := range []store.Order{store.NewestFirst, store.OldestFirst} {
			var got []store.Entry
			for page := grown.Behind(order, store.Entry{}, size); len(page) > 0; page = grown.Behind(order, page[len(page)-1], size) {
				got = append(got, page...)
			}
			if diff := cmp.Diff(all, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%t: %s", order, diff)
			}
			slices.Reverse(all)
		}
	})
}
