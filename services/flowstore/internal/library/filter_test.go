package library_test

import (
	order "cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

// writeAll stores nodes and flows as they are.
func writeAll(t testing.TB, s store.Store, nodes []node.Node, flows ...flow.Flow) {
	t.Helper()
	if err := s.Update(t.Context(), ns, func(tx store.Tx) error {
		for _, n := range nodes {
			if err := tx.CreateNode(n); err != nil {
				return err
			}
		}
		for _, f := range flows {
			if err := tx.CreateFlow(f); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// made is a node of a second of the clock's minute.
func made(n uint32, second int, role, model string, tags ...string) node.Node {
	return node.Node{ID: id(n), Created: clock().Add(time.Duration(second) * time.Second), Model: model, Tags: tags, Texts: []node.Text{{Role: role}, {Role: "assistant"}}}
}

// number is what id made an id of.
func number(id uuid.UUID) string { return fmt.Sprint(binary.BigEndian.Uint32(id[12:])) }

// numbers goes through all pages and gives the numbers of the nodes.
func numbers(t testing.TB, l *library.Library, q library.ListQuery, f library.NodeFilter) []string {
	t.Helper()
	var got []string
	for pages := 0; ; pages++ {
		page, err := l.Nodes(t.Context(), ns, q, f, false)
		if err != nil || pages > 1000 {
			t.Fatal(pages, err)
		}
		for _, item := range page.Items {
			got = append(got, number(item.ID))
		}
		if q.After = page.Next; q.After == (store.Entry{}) {
			return got
		}
	}
}

func TestNodeFilter(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	l := library.New(s, &counting{})
	writeAll(t, s, []node.Node{
		made(1, 1, "user", "Gemma-3", "夜", "draft"), made(2, 2, "system", "phi", "ＤＲＡＦＴ"), made(3, 3, "user", "", "港"), made(4, 4, "tool", "ＧＥＭＭＡ", "夜"),
	}, flow.Flow{ID: id(100), Name: "f", Members: []flow.Member{{Index: 1, Node: id(1)}, {Index: 2, Node: id(3)}}, Next: 3})
	at := func(second float64) time.Time { return clock().Add(time.Duration(second * float64(time.Second))) }
	for name, c := range map[string]struct {
		q    library.ListQuery
		f    library.NodeFilter
		want string
	}{
		"all":                    {want: "4 3 2 1"},
		"oldest first":           {q: library.ListQuery{Order: store.OldestFirst}, want: "1 2 3 4"},
		"a flow":                 {f: library.NodeFilter{Flow: id(100)}, want: "3 1"},
		"a role":                 {f: library.NodeFilter{Role: "system"}, want: "2"},
		"a role that all have":   {f: library.NodeFilter{Role: "assistant"}, want: "4 3 2 1"},
		"a model":                {f: library.NodeFilter{ModelContains: "gemma"}, want: "4 1"},
		"a model in another way": {f: library.NodeFilter{ModelContains: "ＰＨＩ"}, want: "2"},
		"a tag":                  {f: library.NodeFilter{AllTags: []string{"Draft"}}, want: "2 1"},
		"both tags":              {f: library.NodeFilter{AllTags: []string{"夜", "draft"}}, want: "1"},
		"one of the tags":        {f: library.NodeFilter{AnyTags: []string{"港", "夜"}}, want: "4 3 1"},
		"tags of both kinds":     {f: library.NodeFilter{AllTags: []string{"夜"}, AnyTags: []string{"draft", "港"}}, want: "1"},
		"everything at once":     {f: library.NodeFilter{Flow: id(100), Role: "user", ModelContains: "3", AllTags: []string{"夜"}}, want: "1"},
		"nothing":                {f: library.NodeFilter{AllTags: []string{"nowhere"}}},
		"from a time on":         {q: library.ListQuery{Made: library.Span{From: at(3)}}, want: "4 3"},
		"before a time":          {q: library.ListQuery{Made: library.Span{Before: at(3)}}, want: "2 1"},
		"between":                {q: library.ListQuery{Order: store.OldestFirst, Made: library.Span{From: at(2), Before: at(4)}}, want: "2 3"},
		"between two of them":    {q: library.ListQuery{Made: library.Span{From: at(2.1), Before: at(2.9)}}},
		// A caller's clock may tell nanoseconds; ours are microseconds.
		"just behind":  {q: library.ListQuery{Order: store.OldestFirst, Made: library.Span{From: at(3).Add(1)}}, want: "4"},
		"just before":  {q: library.ListQuery{Made: library.Span{Before: at(3).Add(1)}}, want: "3 2 1"},
		"from, newest": {q: library.ListQuery{Made: library.Span{From: at(3).Add(1)}}, want: "4"},
	} {
		for _, size := range []int{1, 2, 100} {
			c.q.MaxItems, c.q.MaxBytes = size, 1<<20
			if got := strings.Join(numbers(t, l, c.q, c.f), " "); got != c.want {
				t.Errorf("%s, pages of %d: %s, want %s", name, size, got, c.want)
			}
		}
	}
	var missing *library.NotFoundError
	if _, err := l.Nodes(t.Context(), ns, library.ListQuery{}, library.NodeFilter{Flow: id(7)}, false); !errors.As(err, &missing) || missing.ID != id(7) {
		t.Errorf("a flow that is not there: %v", err)
	}
}

// Pages of any size and order, put together, are what a filter leaves of everything.
func TestFilteredPagesAreTheList(t *testing.T) {
	t.Parallel()
	roles, models, tags := []string{"user", "system"}, []string{"", "gemma", "phi"}, []string{"夜", "港", "draft"}
	rapid.Check(t, func(r *rapid.T) {
		s := memory.New(clock)
		var nodes []node.Node
		for i := range rapid.IntRange(0, 12).Draw(r, "nodes") {
			nodes = append(nodes, made(uint32(i+1), rapid.IntRange(0, 5).Draw(r, "second"), rapid.SampledFrom(roles).Draw(r, "role"),
				rapid.SampledFrom(models).Draw(r, "model"), rapid.SliceOfNDistinct(rapid.SampledFrom(tags), 0, 2, rapid.ID).Draw(r, "tags")...))
		}
		writeAll(t, s, nodes)
		q := library.ListQuery{Order: store.Order(rapid.Bool().Draw(r, "order")), MaxItems: rapid.IntRange(1, 5).Draw(r, "page"), MaxBytes: 1 << 20}
		bound := func(name string) time.Time {
			if second := rapid.IntRange(-1, 5).Draw(r, name); second >= 0 {
				return clock().Add(time.Duration(second) * time.Second)
			}
			return time.Time{}
		}
		q.Made = library.Span{From: bound("from"), Before: bound("before")}
		f := library.NodeFilter{
			Role: rapid.SampledFrom([]string{"", "user"}).Draw(r, "asked role"), ModelContains: rapid.SampledFrom([]string{"", "g", "phi"}).Draw(r, "asked model"),
			AllTags: rapid.SliceOfN(rapid.SampledFrom(tags), 0, 1).Draw(r, "all"), AnyTags: rapid.SliceOfN(rapid.SampledFrom(tags), 0, 2).Draw(r, "any"),
		}
		slices.SortFunc(nodes, func(a, b node.Node) int {
			return order.Or(a.Created.Compare(b.Created), strings.Compare(a.ID.String(), b.ID.String()))
		})
		if q.Order == store.NewestFirst {
			slices.Reverse(nodes)
		}
		var want []string
		for _, n := range nodes {
			in := func(tag string) bool { return slices.Contains(n.Tags, tag) }
			if (f.Role == "" || n.Texts[0].Role == f.Role) && strings.Contains(n.Model, f.ModelContains) &&
				(len(f.AllTags) == 0 || in(f.AllTags[0])) && (len(f.AnyTags) == 0 || slices.ContainsFunc(f.AnyTags, in)) &&
				!n.Created.Before(q.Made.From) && (q.Made.Before.IsZero() || n.Created.Before(q.Made.Before)) {
				want = append(want, number(n.ID))
			}
		}
		if diff := cmp.Diff(want, numbers(t, library.New(s, &counting{}), q, f), cmpopts.EquateEmpty()); diff != "" {
			r.Error(diff)
		}
	})
}

// reads counts the nodes that are read.
type reads struct {
	store.Store
	nodes *int
}

func (r reads) Node(ctx context.Context, ns string, id uuid.UUID) (node.Node, error) {
	*r.nodes++
	return r.Store.Node(ctx, ns, id)
}

// A filter that nothing satisfies reads no more for a page than any other: the page is empty and tells where it ended.
func TestPagesGoByPlace(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	var count int
	l := library.New(reads{s, &count}, &counting{})
	nodes := make([]node.Node, 2500)
	for i := range nodes {
		nodes[i] = made(uint32(i+1), i, "user", "")
	}
	nodes[0].Tags = []string{"rare"}
	writeAll(t, s, nodes, flow.Flow{ID: id(1 << 20), Name: "f", Members: []flow.Member{{Index: 1, Node: id(1)}}, Next: 2})
	q := library.ListQuery{MaxItems: 1000, MaxBytes: 1 << 20}
	rare := library.NodeFilter{AllTags: []string{"rare"}}
	first, err := l.Nodes(t.Context(), ns, q, rare, false)
	if err != nil || len(first.Items) != 0 || first.Next == (store.Entry{}) || count > 2000 || count < 1900 {
		t.Fatalf("%d items, next %v, %d nodes read, %v", len(first.Items), first.Next, count, err)
	}
	q.After = first.Next
	rest, err := l.Nodes(t.Context(), ns, q, rare, false)
	if err != nil || len(rest.Items) != 1 || rest.Next != (store.Entry{}) || count != len(nodes) {
		t.Errorf("%d items, next %v, %d nodes read, %v", len(rest.Items), rest.Next, count, err)
	}
	// What is not in the flow is passed over unread.
	count, q.After = 0, store.Entry{}
	if got := numbers(t, l, q, library.NodeFilter{Flow: id(1 << 20)}); len(got) != 1 || count != 1 {
		t.Errorf("%v, %d nodes read", got, count)
	}
	// Long texts end a page earlier.
	long := memory.New(clock)
	for i := range nodes[:100] {
		nodes[i].Texts[0].Content = strings.Repeat("x", 4<<20)
	}
	writeAll(t, long, nodes[:100])
	count = 0
	page, err := library.New(reads{long, &count}, &counting{}).Nodes(t.Context(), ns, library.ListQuery{MaxItems: 1000, MaxBytes: 1 << 20}, rare, false)
	if err != nil || page.Next == (store.Entry{}) || count > 26 {
		t.Errorf("%d nodes of 4 MiB read, %v", count, err)
	}
}

// What cannot be read may be asked for, so it is told; but not of another flow, nor of another time.
func TestFilterWithDamage(t *testing.T) {
	t.Parallel()
	d := damaged{memory.New(clock), map[uuid.UUID]error{id(2): store.ErrNodeNotFound}}
	l := library.New(d, &counting{})
	writeAll(t, d, []node.Node{made(1, 1, "user", ""), made(2, 2, "user", "")},
		flow.Flow{ID: id(100), Name: "f", Members: []flow.Member{{Index: 1, Node: id(1)}}, Next: 2})
	q := library.ListQuery{MaxItems: 10, MaxBytes: 1 << 20}
	broken := number(id(2))
	if diff := cmp.Diff([]string{broken}, numbers(t, l, q, library.NodeFilter{Role: "tool"})); diff != "" {
		t.Error(diff)
	}
	if got := numbers(t, l, q, library.NodeFilter{Role: "tool", Flow: id(100)}); len(got) > 0 {
		t.Errorf("of another flow: %v", got)
	}
	q.Made.Before = clock().Add(2 * time.Second)
	if got := numbers(t, l, q, library.NodeFilter{Role: "tool"}); len(got) > 0 {
		t.Errorf("of another time: %v", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Nodes(ended, ns, library.ListQuery{MaxItems: 10}, library.NodeFilter{}, false); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that is gone: %v", err)
	}
}

func TestFlowFilter(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	l := library.New(s, &counting{})
	second := func(n int) time.Time { return clock().Add(time.Duration(n) * time.Second) }
	writeAll(t, s, nil,
		flow.Flow{ID: id(1), Name: "夜明けの町", Created: second(1), Updated: second(9), Next: 1},
		flow.Flow{ID: id(2), Name: "ＮＯＶＥＬ 夜", Created: second(2), Updated: second(5), Next: 1},
		flow.Flow{ID: id(3), Name: "a novel", Created: second(3), Updated: second(7), Next: 1})
	for name, c := range map[string]struct {
		q    library.ListQuery
		f    library.FlowFilter
		want []uuid.UUID
	}{
		"all":           {want: []uuid.UUID{id(3), id(2), id(1)}},
		"oldest first":  {q: library.ListQuery{Order: store.OldestFirst}, want: []uuid.UUID{id(1), id(2), id(3)}},
		"a name":        {f: library.FlowFilter{NameContains: "Novel"}, want: []uuid.UUID{id(3), id(2)}},
		"another name":  {f: library.FlowFilter{NameContains: "夜"}, want: []uuid.UUID{id(2), id(1)}},
		"changed since": {f: library.FlowFilter{UpdatedFrom: second(7)}, want: []uuid.UUID{id(3), id(1)}},
		"both":          {f: library.FlowFilter{UpdatedFrom: second(7), NameContains: "novel"}, want: []uuid.UUID{id(3)}},
		"made before":   {q: library.ListQuery{Made: library.Span{Before: second(3)}}, want: []uuid.UUID{id(2), id(1)}},
	} {
		c.q.MaxItems, c.q.MaxBytes = 10, 1<<20
		page, err := l.Flows(t.Context(), ns, c.q, c.f)
		var got []uuid.UUID
		for _, item := range page.Items {
			got = append(got, item.ID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}
