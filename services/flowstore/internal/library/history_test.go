package library_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
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
	page, err := l.History(t.Context(), ns, library.PathQuery{Flow: f, MaxNodes: 1, Drawing: true})
	if want := "1<\n  1<2>4\n  1<3>4\n>4\n5\n"; page.Drawing != want || err != nil {
		t.Errorf("%v\n%s", err, page.Drawing)
	}
	_, err = l.History(t.Context(), ns, library.PathQuery{Flow: f, After: library.Place{Last: 77}, MaxNodes: 1})
	expect(t, &library.PlaceGoneError{Flow: f}, err)
	_, err = l.History(t.Context(), ns, library.PathQuery{Flow: id(4000)})
	expect(t, &library.NotFoundError{Kind: store.KindFlow, ID: id(4000)}, err)
}

// A drawing that is too long for an answer says how much is left out.
func TestLongDrawing(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	f := flow.Flow{ID: id(1), Name: "roots"}
	for i := 1; i <= flow.MaxMembers; i++ {
		f.Members = append(f.Members, flow.Member{Index: flow.MaxIndex - flow.MaxMembers + i, Node: id(uint32(i))})
	}
	for i := range 10_000 { // of a hand: to nothing
		f.Skipped = append(f.Skipped, flow.Edge{From: i + 1, To: flow.MaxIndex})
	}
	f.Edges = f.Skipped
	writeAll(t, s, nil, f)
	page, err := library.New(s, &counting{}).History(t.Context(), ns, library.PathQuery{Flow: f.ID, MaxNodes: 1, Drawing: true})
	lines := strings.Split(strings.TrimSuffix(page.Drawing, "\n"), "\n")
	left := fmt.Sprintf("… %d more lines", flow.MaxMembers+len(f.Skipped)-len(lines)+1)
	if err != nil || len(page.Drawing) > 1<<20+100 || len(page.Drawing) < 1<<20-100 || lines[len(lines)-1] != left {
		t.Errorf("%v: %d bytes, %d lines, the last %q, want %q", err, len(page.Drawing), len(lines), lines[len(lines)-1], left)
	}
}
