package library_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

// texts goes through all pages and gives the first texts of the nodes, with a bar behind each page.
func texts(t *testing.T, l *library.Library, q library.ListQuery, full bool) string {
	t.Helper()
	var b strings.Builder
	for {
		page, err := l.Nodes(t.Context(), ns, q, library.NodeFilter{}, full)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			b.WriteString(item.Item.Texts[0].Content + " ")
		}
		if q.After = page.Next; q.After == (store.Entry{}) {
			return strings.TrimSpace(b.String())
		}
		b.WriteString("| ")
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	l := open()
	if got := texts(t, l, library.ListQuery{MaxItems: 10}, true); got != "" {
		t.Errorf("an empty namespace: %q", got)
	}
	for _, text := range []string{"a", "bb", "ccc", "dddd"} {
		if _, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: said(text)}); err != nil {
			t.Fatal(err)
		}
	}
	base := said("").Size()
	for name, c := range map[string]struct {
		items, bytes int
		want         string
	}{
		"all on one":   {4, 4*base + 10, "dddd ccc bb a"},
		"by count":     {3, 1 << 20, "dddd ccc bb | a"},
		"by bytes":     {4, 2*base + 7, "dddd ccc | bb a"},
		"no room":      {0, 0, "dddd | ccc | bb | a"},
		"two and room": {2, 1 << 20, "dddd ccc | bb a"},
	} {
		for _, full := range []bool{true, false} {
			if got := texts(t, l, library.ListQuery{MaxItems: c.items, MaxBytes: c.bytes}, full); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}

// What cannot be read is told in its place; a node that is too large to be sent whole has a beginning.
func TestListWithDamage(t *testing.T) {
	t.Parallel()
	d := damaged{memory.New(clock), map[uuid.UUID]error{}}
	l := library.New(d, &counting{})
	var ids []uuid.UUID
	for _, text := range []string{"a", "b", strings.Repeat("x", node.MaxSize)} {
		n, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: said(text)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, n.ID)
	}
	d.errs[ids[0]] = &store.UnreadableError{Path: "nodes/000/000.xml", Reason: "holds no element"}
	d.errs[ids[1]] = store.ErrNodeNotFound
	q := library.ListQuery{MaxItems: 10, MaxBytes: 1 << 20}
	for full, large := range map[bool]string{false: "", true: "nodes/" + ids[2].String() + " is about 12583300 bytes long; the largest that can be sent is 12582912 bytes; ask for parts of its texts"} {
		page, err := l.Nodes(t.Context(), ns, q, library.NodeFilter{}, full)
		if err != nil {
			t.Fatal(err)
		}
		var got [][2]string
		for i, item := range page.Items {
			got = append(got, [2]string{item.Problem, item.File})
			if item.ID != ids[2-i] {
				t.Errorf("%v stands in place of %v", item.ID, ids[2-i])
			}
		}
		want := [][2]string{{large}, {"its file is missing"}, {"nodes/000/000.xml cannot be read: holds no element", "nodes/000/000.xml"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("full=%t: %s", full, diff)
		}
	}
	broken := errors.New("the disk is gone")
	d.errs[ids[1]] = broken
	if _, err := l.Nodes(t.Context(), ns, q, library.NodeFilter{}, false); !errors.Is(err, broken) {
		t.Errorf("any other trouble ends the call: %v", err)
	}
}

func TestListFlows(t *testing.T) {
	t.Parallel()
	l := open()
	for _, name := range []string{"a", "b"} {
		if _, err := l.CreateFlow(t.Context(), ns, library.NewFlow{Flow: flow.Flow{Name: name, Description: "d"}}); err != nil {
			t.Fatal(err)
		}
	}
	size := flow.Flow{Name: "b", Description: "d"}.WordsSize()
	var names []string
	for q := (library.ListQuery{MaxItems: 10, MaxBytes: 2*size - 1}); len(names) < 3; {
		page, err := l.Flows(t.Context(), ns, q, library.FlowFilter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			names = append(names, item.Item.Name)
		}
		if len(page.Items) != 1 {
			t.Errorf("%d flows on a page that has room for one", len(page.Items))
		}
		if q.After = page.Next; q.After == (store.Entry{}) {
			break
		}
	}
	if diff := cmp.Diff([]string{"b", "a"}, names); diff != "" {
		t.Error(diff)
	}
}
