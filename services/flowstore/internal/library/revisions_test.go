package library_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/etag"
)

// revisions follows pages of n to the end.
func revisions(t *testing.T, l *library.Library, q library.RevisionsQuery) []library.NodeRevision {
	t.Helper()
	var all []library.NodeRevision
	for {
		page, err := l.Revisions(t.Context(), ns, q)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page.Items...); page.Next == (library.RevisionPlace{}) {
			return all
		}
		q.After = page.Next
	}
}

// rewritten makes a node that says 一, then 二, then 三.
func rewritten(t *testing.T, l *library.Library) node.Node {
	t.Helper()
	n := create(t, l, "一")
	update(t, l, library.NodeUpdate{Node: n.ID, To: node.Node{Summary: node.Summary{Text: "話"}}, Fields: []string{"summary"}})
	for _, text := range []string{"二", "三"} {
		n = update(t, l, library.NodeUpdate{Node: n.ID, To: said(text), Fields: []string{"texts"}})
	}
	return n
}

func contents(list []library.NodeRevision) string {
	var texts []string
	for _, r := range list {
		texts = append(texts, r.Item.Texts[0].Content)
	}
	return strings.Join(texts, " ")
}

// The node as it is stands first, then what it was, the last first, however long the pages are.
func TestRevisions(t *testing.T) {
	t.Parallel()
	l := open()
	n := rewritten(t, l)
	for _, q := range []library.RevisionsQuery{{MaxItems: 100, MaxBytes: 1 << 20}, {MaxItems: 1, MaxBytes: 1 << 20}, {MaxItems: 100, MaxBytes: 1}, {MaxItems: 2, MaxBytes: 1 << 20, Brief: true}} {
		q.Node = n.ID
		got := revisions(t, l, q)
		if contents(got) != "三 二 一 一" || got[0].Revision != (store.Revision{}) || got[1].Number <= got[2].Number || (got[3].Item.Characters != nil) != q.Brief {
			t.Errorf("%+v: %+v", q, got)
		}
	}
	_, err := l.Revisions(t.Context(), ns, library.RevisionsQuery{Node: id(404)})
	expect(t, &library.NotFoundError{Kind: store.KindNode, ID: id(404)}, err)
}

// A page goes on where the one before ended, also where that place is gone by then.
func TestRevisionsBehindAPlaceThatIsGone(t *testing.T) {
	t.Parallel()
	l := open()
	n := rewritten(t, l)
	all := revisions(t, l, library.RevisionsQuery{Node: n.ID, MaxItems: 100, MaxBytes: 1 << 20})
	for place, want := range map[store.Revision]string{
		{Number: all[1].Number + 1}: "二 一 一",
		{Number: -1}:                "",
		{Path: "nodes/000/009.xml", At: time.Unix(1, 0)}: "二 一 一",
	} {
		got := revisions(t, l, library.RevisionsQuery{Node: n.ID, MaxItems: 100, MaxBytes: 1 << 20, After: library.RevisionPlace{Began: true, Revision: place}})
		if contents(got) != want {
			t.Errorf("behind %v: %q, want %q", place, contents(got), want)
		}
	}
}

// What a node was comes back as it was, a stale summary as a stale one; what it was just before is a revision.
func TestRestoreRevision(t *testing.T) {
	t.Parallel()
	l := open()
	n := rewritten(t, l)
	all := revisions(t, l, library.RevisionsQuery{Node: n.ID, MaxItems: 100, MaxBytes: 1 << 20})
	in := library.Restoring{Node: n.ID, Number: all[1].Number, Etag: n.Etag(), Request: id(70)}
	var got node.Node
	for range 2 {
		var err error
		if got, err = l.RestoreRevision(t.Context(), ns, in); err != nil || got.Etag() != all[1].Item.Etag() || !got.Summary.Stale {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	stored, err := l.Node(t.Context(), ns, n.ID)
	if diff := cmp.Diff(got, stored); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if list := revisions(t, l, library.RevisionsQuery{Node: n.ID, MaxItems: 100, MaxBytes: 1 << 20}); contents(list) != "二 三 二 一 一" {
		t.Errorf("revisions are %q", contents(list))
	}
	_, err = l.RestoreRevision(t.Context(), ns, library.Restoring{Node: n.ID, Number: 1 << 40, Etag: "x"})
	expect(t, &library.ManyError{Errs: []error{
		&library.RevisionNotFoundError{Node: n.ID, Number: 1 << 40}, &etag.StaleError{Name: node.Name(n.ID), Given: "x", Current: got.Etag()},
	}}, err)
	_, err = l.RestoreRevision(t.Context(), ns, library.Restoring{Node: id(404), Number: 1})
	expect(t, &library.NotFoundError{Kind: store.KindNode, ID: id(404)}, err)
	_, err = l.RestoreRevision(t.Context(), ns, library.Restoring{Node: n.ID, Path: "../../etc/passwd"})
	if missing := (*library.RevisionNotFoundError)(nil); !errors.As(err, &missing) {
		t.Errorf("a file of somebody else: %v", err)
	}
	if slices.Contains(revisionNumbers(all), 0) {
		t.Errorf("numbers are %v", revisionNumbers(all))
	}
}

func revisionNumbers(list []library.NodeRevision) (numbers []int64) {
	for _, r := range list[1:] {
		numbers = append(numbers, r.Number)
	}
	return numbers
}
