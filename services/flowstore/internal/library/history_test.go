package library_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

func TestHistoryPages(t *testing.T) {
	t.Parallel()
	d := damaged{memory.New(clock), map[uuid.UUID]error{}}
	l := library.New(d, &counting{})
	f := newFlow(t, l)
	if page, err := l.History(t.Context(), ns, library.PathQuery{Flow: f, MaxNodes: 10}); err != nil || len(page.Nodes) > 0 {
		t.Errorf("the history of an empty flow: %v, %v", page, err)
	}
	a := add(t, l, f, "a")
	b := add(t, l, f, "b", a)
	c := add(t, l, f, strings.Repeat("c", 300), a)
	add(t, l, f, "d", b, c)
	add(t, l, f, "root")
	d.errs[b] = store.ErrNodeNotFound
	var got []string
	q := library.PathQuery{Flow: f, MaxNodes: 2, MaxBytes: 1 << 20, Brief: true}
	for len(got) == 0 || q.After != (library.Place{}) {
		page, err := l.History(t.Context(), ns, q)
		if err != nil || len(page.Nodes) > 2 {
			t.Fatal(page, err)
		}
		for _, n := range page.Nodes {
			if text := n.Problem; text != "" {
				got = append(got, text)
				continue
			}
			if n.Node.Texts[0].Content != "" && n.Characters[0] == 300 && len(n.Node.Texts[0].Content) == 200 {
				got = append(got, "the beginning of c")
				continue
			}
			got = append(got, n.Node.Texts[0].Content)
		}
		q.After = page.Next
	}
	if text := strings.Join(got, ", "); text != "a, its file is missing, the beginning of c, d, root" {
		t.Error(text)
	}
	_, err := l.History(t.Context(), ns, library.PathQuery{Flow: f, After: library.Place{Last: 77}, MaxNodes: 1})
	expect(t, &library.PlaceGoneError{Flow: f}, err)
	_, err = l.History(t.Context(), ns, library.PathQuery{Flow: id(4000)})
	expect(t, &library.NotFoundError{Kind: library.KindFlow, ID: id(4000)}, err)
}
