package library_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const ns = "default"

// counting gives ids 1, 2, 3 and so on.
type counting struct{ last atomic.Uint32 }

func (c *counting) NewID() uuid.UUID { return id(c.last.Add(1)) }

func id(n uint32) uuid.UUID {
	u := uuid.UUID{6: 0x70, 8: 0x80}
	binary.BigEndian.PutUint32(u[12:], n)
	return u
}

func clock() time.Time { return time.Date(2025, 5, 9, 6, 48, 6, 0, time.UTC) }

func open() *library.Library { return library.New(memory.New(clock), &counting{}) }

func said(text string) node.Node {
	return node.Node{Texts: []node.Text{{Role: "user", Content: text}}}
}

func newFlow(t *testing.T, l *library.Library) uuid.UUID {
	t.Helper()
	f, err := l.CreateFlow(t.Context(), ns, library.NewFlow{Flow: flow.Flow{Name: "n"}, ID: id(1000)})
	if err != nil {
		t.Fatal(err)
	}
	return f.ID
}

// add puts a new node with a text into a flow.
func add(t *testing.T, l *library.Library, flowID uuid.UUID, text string, parents ...uuid.UUID) uuid.UUID {
	t.Helper()
	n := said(text)
	placed, err := l.AddNode(t.Context(), ns, library.Addition{Flow: flowID, New: &n, Parents: parents, SetCurrent: true})
	if err != nil {
		t.Fatal(err)
	}
	return placed.Node.ID
}

// path follows pages to the end and gives the texts.
func path(t *testing.T, l *library.Library, q library.PathQuery) string {
	t.Helper()
	var words []string
	for pages := 0; ; pages++ {
		page, err := l.Path(t.Context(), ns, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range page.Nodes {
			words = append(words, n.Node.Texts[0].Content)
		}
		if q.After = page.Next; page.Next == (library.Place{}) {
			return strings.Join(words, " ")
		}
		if pages > 100 {
			t.Fatal("there is no end of pages")
		}
	}
}

func expect(t *testing.T, want, got error) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error: %s", diff)
	}
}

func TestCreateNode(t *testing.T) {
	t.Parallel()
	l := open()
	in := said("a")
	in.Texts[0].Duration = 1.6523210000000002
	in.ID, in.Created, in.Summary = id(99), clock().Add(time.Hour), node.Summary{Text: "not by its maker"}
	made, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: in})
	if err != nil {
		t.Fatal(err)
	}
	want := node.Node{ID: id(1), Created: clock(), Texts: []node.Text{{Role: "user", Content: "a", Duration: 1.652321}}, Summary: node.Summary{Stale: true}}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
	read, err := l.Node(t.Context(), ns, made.ID)
	if diff := cmp.Diff(made, read); diff != "" || err != nil {
		t.Error(err, diff)
	}
	_, err = l.CreateNode(t.Context(), ns, library.NewNode{Node: in, ID: id(1)})
	expect(t, &library.TakenError{Kind: store.KindNode, ID: id(1)}, err)
	_, err = l.Node(t.Context(), ns, id(2))
	expect(t, &library.NotFoundError{Kind: store.KindNode, ID: id(2)}, err)
	_, err = l.Node(t.Context(), "other", id(1))
	expect(t, &library.NotFoundError{Kind: store.KindNode, ID: id(1)}, err)
}

func TestCreateFlow(t *testing.T) {
	t.Parallel()
	l := open()
	title := "題"
	in := library.NewFlow{Flow: flow.Flow{Name: "n", Description: "d", Story: flow.Story{Title: &title}, Current: 7}}
	made, err := l.CreateFlow(t.Context(), ns, in)
	if err != nil {
		t.Fatal(err)
	}
	want := flow.Flow{ID: id(1), Name: "n", Description: "d", Story: in.Flow.Story, Created: clock(), Updated: clock(), Next: 1}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
	in.ID = id(1)
	_, err = l.CreateFlow(t.Context(), ns, in)
	expect(t, &library.TakenError{Kind: store.KindFlow, ID: id(1)}, err)
	_, err = l.Flow(t.Context(), ns, id(5))
	expect(t, &library.NotFoundError{Kind: store.KindFlow, ID: id(5)}, err)
}

// The same request again is answered as the first time and changes nothing; the same id for something else is refused.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	text := said("a")
	calls := map[string]func(request, other uuid.UUID) (string, error){
		"CreateNode": func(request, other uuid.UUID) (string, error) {
			n, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: text, ID: other, Request: request})
			return fmt.Sprint(n), err
		},
		"CreateFlow": func(request, other uuid.UUID) (string, error) {
			n, err := l.CreateFlow(t.Context(), ns, library.NewFlow{ID: other, Request: request})
			return fmt.Sprint(n), err
		},
		"AddNode": func(request, other uuid.UUID) (string, error) {
			n, err := l.AddNode(t.Context(), ns, library.Addition{Flow: f, New: &text, Node: other, Request: request})
			return fmt.Sprint(n), err
		},
	}
	request := uint32(2000)
	for name, call := range calls {
		for _, chosen := range []uuid.UUID{{}, id(request + 500)} {
			request++
			first, err := call(id(request), chosen)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again, err := call(id(request), chosen)
			if err != nil || again != first {
				t.Errorf("%s again: %v\n%s\nat first\n%s", name, err, again, first)
			}
			_, err = call(id(request), id(request+700))
			expect(t, &library.RequestReusedError{Request: id(request)}, err)
		}
	}
	got, err := l.Flow(t.Context(), ns, f)
	if err != nil || len(got.Members) != 2 {
		t.Errorf("two nodes were added, the flow has %d (%v)", len(got.Members), err)
	}
	for i, call := range []func() error{
		func() error { _, err := l.CreateNode(t.Context(), ns, library.NewNode{Request: id(2999)}); return err },
		func() error { _, err := l.CreateFlow(t.Context(), ns, library.NewFlow{Request: id(2999)}); return err },
	} {
		if err := call(); (err != nil) != (i == 1) {
			t.Errorf("one id for two kinds of requests, call %d: %v", i, err)
		}
	}
}

func TestRefusedRequestIsNotRemembered(t *testing.T) {
	t.Parallel()
	l := open()
	text := said("a")
	in := library.Addition{Flow: id(1000), New: &text, Request: id(7)}
	_, err := l.AddNode(t.Context(), ns, in)
	expect(t, &library.NotFoundError{Kind: store.KindFlow, ID: id(1000)}, err)
	newFlow(t, l)
	if _, err := l.AddNode(t.Context(), ns, in); err != nil {
		t.Errorf("the same request, now possible: %v", err)
	}
}

func TestOneRequestFromManyCallers(t *testing.T) {
	t.Parallel()
	l := open()
	var group sync.WaitGroup
	made := make([]uuid.UUID, 32)
	for i := range made {
		group.Go(func() {
			n, err := l.CreateNode(context.Background(), ns, library.NewNode{Node: said("a"), Request: id(7)})
			if err != nil {
				t.Error(err)
			}
			made[i] = n.ID
		})
	}
	group.Wait()
	for _, m := range made {
		if m != made[0] {
			t.Fatalf("one request made two nodes: %v", made)
		}
	}
}

func TestSetCurrent(t *testing.T) {
	t.Parallel()
	l := open()
	f := newFlow(t, l)
	a := add(t, l, f, "a")
	b := add(t, l, f, "b", a)
	before, err := l.Flow(t.Context(), ns, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		node    uuid.UUID
		current int
		changes bool
	}{{b, 2, false}, {a, 1, true}, {uuid.UUID{}, 0, true}, {uuid.UUID{}, 0, false}, {b, 2, true}} {
		got, err := l.SetCurrent(t.Context(), ns, f, c.node)
		if err != nil || got.Current != c.current {
			t.Errorf("current is %d (%v), want %d", got.Current, err, c.current)
		}
		if changed := got.Updated.After(before.Updated); changed != c.changes {
			t.Errorf("to %d: changed is %v", c.current, changed)
		}
		stored, err := l.Flow(t.Context(), ns, f)
		if diff := cmp.Diff(stored, got); diff != "" || err != nil {
			t.Errorf("the answer is not what is stored: %v %s", err, diff)
		}
		before = got
	}
	alone, err := l.CreateNode(t.Context(), ns, library.NewNode{Node: said("alone")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.SetCurrent(t.Context(), ns, f, alone.ID)
	expect(t, &flow.NotMemberError{Flow: f, Nodes: []uuid.UUID{alone.ID}}, err)
	_, err = l.SetCurrent(t.Context(), ns, f, id(500))
	expect(t, &library.NotFoundError{Kind: store.KindNode, ID: id(500)}, err)
	_, err = l.SetCurrent(t.Context(), ns, id(500), a)
	expect(t, &library.NotFoundError{Kind: store.KindFlow, ID: id(500)}, err)
	_, err = l.SetCurrent(t.Context(), ns, id(500), id(501))
	expect(t, &library.ManyError{Errs: []error{
		&library.NotFoundError{Kind: store.KindFlow, ID: id(500)}, &library.NotFoundError{Kind: store.KindNode, ID: id(501)},
	}}, err)
}

// A store whose time is over says so through every operation.
func TestClosedStore(t *testing.T) {
	t.Parallel()
	s := memory.New(clock)
	l := library.New(s, &counting{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text := said("a")
	_, create := l.CreateNode(t.Context(), ns, library.NewNode{Node: text})
	_, add := l.AddNode(t.Context(), ns, library.Addition{Flow: id(1), New: &text})
	_, page := l.Path(t.Context(), ns, library.PathQuery{Flow: id(1)})
	_, flush := l.Flush(t.Context(), ns)
	for _, err := range []error{create, add, page, flush} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}
