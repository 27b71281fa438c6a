package finder_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/finder"
)

// shelf is an engine whose nodes are texts.
type shelf struct {
	texts map[uuid.UUID]string
	flows map[uuid.UUID]string // their names
	stamp uint64
	err   error
	reads int
	slow  time.Duration // how long a node takes
	bad   map[uuid.UUID]error
	// onFlow runs before a flow is read.
	onFlow func(id uuid.UUID)
}

func (s *shelf) Stamped(id uuid.UUID) (node.Node, uint64, error) {
	s.reads++
	time.Sleep(s.slow)
	text, ok := s.texts[id]
	switch {
	case s.err != nil:
		return node.Node{}, 0, s.err
	case s.bad[id] != nil:
		return node.Node{}, 0, s.bad[id]
	case !ok:
		return node.Node{}, 0, store.ErrNodeNotFound
	}
	return node.Node{ID: id, Texts: []node.Text{{Role: "user", Content: text}}}, s.stamp, nil
}

func (*shelf) Zone() *time.Location { return time.UTC }

func (s *shelf) Flow(id uuid.UUID) (flow.Flow, error) {
	if s.onFlow != nil {
		s.onFlow(id)
	}
	s.reads++
	name, ok := s.flows[id]
	switch {
	case s.err != nil:
		return flow.Flow{}, s.err
	case !ok:
		return flow.Flow{}, store.ErrFlowNotFound
	}
	return flow.Flow{ID: id, Name: name}, nil
}

func (s *shelf) Flows(after store.Entry, _ int) (all []store.Entry) {
	if after != (store.Entry{}) {
		return nil
	}
	for id := range s.flows {
		all = append(all, store.Entry{ID: id})
	}
	return all
}

func newShelf(nodes int) (*shelf, []uuid.UUID) {
	s := &shelf{texts: map[uuid.UUID]string{}}
	var ids []uuid.UUID
	for i := range nodes {
		id := uuid.UUID{byte(i >> 8), byte(i), 1}
		s.texts[id] = fmt.Sprintf("夜 n%d", i)
		ids = append(ids, id)
	}
	return s, ids
}

func parsed(t *testing.T, query string) *search.Query {
	t.Helper()
	q, err := search.Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func look(t *testing.T, f *finder.Finder, query string) search.Result {
	t.Helper()
	r, err := f.Search(t.Context(), parsed(t, query), search.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// While an index is made anew searches go on and say so, and what is touched meanwhile is found at once.
func TestSearchesAreApproximateWhileNodesAreMissing(t *testing.T) {
	t.Parallel()
	s, ids := newShelf(200)
	f := finder.New(s, search.New())
	f.Miss(ids[1:])
	f.Touch(ids[0])
	if r := look(t, f, "夜"); !r.Approximate || r.Total != 1 {
		t.Errorf("%+v", r)
	}
	if page, err := f.Tags(t.Context(), "", "", 10); err != nil || !page.Approximate {
		t.Error(page, err)
	}
	rounds := 0
	for more := true; more; rounds++ {
		var err error
		if more, err = f.FoldMissing(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := look(t, f, "夜"); r.Approximate != more {
			t.Errorf("round %d: %+v", rounds, r)
		}
	}
	if r := look(t, f, "夜"); r.Total != 200 || rounds != 4 {
		t.Errorf("%d after %d rounds", r.Total, rounds)
	}
}

// From a slow disk no more is read for a total than 10 ms allow, unless the page says how much may be.
func TestATotalFromASlowDisk(t *testing.T) {
	t.Parallel()
	s, ids := newShelf(200)
	for _, id := range ids {
		s.texts[id] = "全文検索"
	}
	f := finder.New(s, search.New())
	f.Touch(ids...)
	look(t, f, "夜")
	s.slow, s.reads = time.Millisecond, 0
	if r := look(t, f, "全文検索"); !r.Approximate || r.Total != 200 || len(r.Hits) != search.DefaultPage || s.reads != 50 {
		t.Errorf("%d reads, %d of %d, approximate: %v", s.reads, len(r.Hits), r.Total, r.Approximate)
	}
	r, err := f.Search(t.Context(), parsed(t, "全文検索"), search.Page{Reads: search.DefaultReads})
	if err != nil || r.Approximate || r.Total != 200 {
		t.Error(r.Approximate, r.Total, err)
	}
}

// A node of which the index knows the contents is not put again, so that an index stays as its snapshot where nothing changed.
func TestWhatIsAsItWasIsNoChange(t *testing.T) {
	t.Parallel()
	s, ids := newShelf(3)
	f := finder.New(s, search.New())
	f.Touch(ids...)
	look(t, f, "夜")
	f.Touch(ids...)
	f.Touch(uuid.UUID{9})
	look(t, f, "夜")
	if n := f.Changes(); n != 3 {
		t.Errorf("%d changes for three nodes", n)
	}
	s.stamp++
	delete(s.texts, ids[1])
	f.Touch(ids[:2]...)
	if r := look(t, f, "夜"); r.Total != 2 || f.Changes() != 5 {
		t.Errorf("%+v, %d changes", r, f.Changes())
	}
}

// A disk that fails takes nothing out of the index; results say that they may miss something, until it can be read.
func TestADiskThatFails(t *testing.T) {
	t.Parallel()
	s, ids := newShelf(2)
	f := finder.New(s, search.New())
	f.Touch(ids...)
	look(t, f, "夜")
	s.err = errors.New("input/output error")
	f.Touch(ids[0])
	if err := f.Fold(t.Context()); err != nil {
		t.Fatal(err)
	}
	if partial, why := f.Partial(); !partial || !errors.Is(why, s.err) || f.Index().Len() != 2 {
		t.Error(partial, why, f.Index().Len())
	}
	s.err = &store.UnreadableError{Path: "nodes/000/000.xml", Reason: "it is empty"}
	if err := f.Fold(t.Context()); err != nil {
		t.Fatal(err)
	}
	if partial, _ := f.Partial(); partial || f.Index().Len() != 1 {
		t.Error(partial, f.Index().Len())
	}
}

// A node that cannot be read is told until it was read, also while a search has it queued to be read again.
func TestANodeThatCannotBeReadStaysTold(t *testing.T) {
	t.Parallel()
	s, ids := newShelf(finder.MaxAwaited + 2)
	f := finder.New(s, search.New())
	broken := errors.New("input/output error")
	s.bad = map[uuid.UUID]error{}
	for _, id := range ids[1:] {
		s.bad[id] = broken
	}
	f.Touch(ids[1:]...)
	if err := f.Fold(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Touch(ids[0])
	if r := look(t, f, "n0"); r.Total != 1 || !r.Approximate {
		t.Errorf("a search with more unreadable nodes than it waits for, and a new one: %+v", r)
	}
	if unread := f.Unread(); len(unread) != len(ids)-1 || !errors.Is(unread[ids[1]], broken) {
		t.Errorf("unread are %v", unread)
	}
	s.bad = map[uuid.UUID]error{ids[1]: broken}
	for range 2 { // some of them are read by it, and some wait
		if partial, why := f.Partial(); !partial || !errors.Is(why, broken) {
			t.Errorf("partial: %v, %v", partial, why)
		}
		look(t, f, "n0")
	}
	s.bad = nil
	if r := look(t, f, "夜"); r.Total != len(ids) || r.Approximate {
		t.Errorf("%+v", r)
	}
	if partial, why := f.Partial(); partial || why != nil || len(f.Unread()) > 0 {
		t.Error(why)
	}
}

// Fold reads all that was touched before, however long the texts are.
func TestFoldOfLongTexts(t *testing.T) {
	t.Parallel()
	s, ids := newShelf(20)
	for id := range s.texts {
		s.texts[id] = strings.Repeat("夜の駅 ", 20_000)
	}
	f := finder.New(s, search.New())
	f.Touch(ids...)
	if err := f.Fold(t.Context()); err != nil || f.Index().Len() != len(ids) {
		t.Errorf("%d of %d nodes: %v", f.Index().Len(), len(ids), err)
	}
}

// A question for the name of a flow waits for the first one, which reads all flows, as long as its context lasts.
func TestAQuestionForANameThatWaits(t *testing.T) {
	t.Parallel()
	s, _ := newShelf(0)
	slow, beside := uuid.UUID{1}, uuid.UUID{2}
	s.flows = map[uuid.UUID]string{slow: "slow"}
	ctx, cancel := context.WithCancel(t.Context())
	reading, goOn := make(chan struct{}), make(chan struct{})
	s.onFlow = func(id uuid.UUID) {
		if id == beside {
			cancel() // when it is about to ask for a name
			return
		}
		reading <- struct{}{}
		<-goOn
	}
	f := finder.New(s, search.New())
	first := make(chan error)
	slowly := parsed(t, "flow:slow")
	go func() {
		_, err := f.Search(t.Context(), slowly, search.Page{})
		first <- err
	}()
	<-reading
	second := make(chan error, 1)
	both := parsed(t, "flow:"+beside.String()+" flow:slow")
	go func() {
		_, err := f.Search(ctx, both, search.Page{})
		second <- err
	}()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s.onFlow = nil
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// A search whose caller has gone reads nothing more, and loses nothing of what was touched.
func TestACallerThatHasGone(t *testing.T) {
	t.Parallel()
	s, ids := newShelf(50)
	f := finder.New(s, search.New())
	f.Touch(ids...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q, err := search.Parse("夜")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Search(ctx, q, search.Page{}); !errors.Is(err, context.Canceled) || s.reads > 0 {
		t.Error(err, s.reads)
	}
	if r := look(t, f, "夜"); r.Total != 50 || r.Approximate {
		t.Errorf("%+v", r)
	}
}

// A search waits for no more than what was touched last, says so, and finds the rest when it was read beside.
func TestASearchAfterABurstOfWrites(t *testing.T) {
	t.Parallel()
	s, ids := newShelf(1000)
	f := finder.New(s, search.New())
	f.Touch(ids...)
	if r := look(t, f, "n999"); !r.Approximate || r.Total != 1 {
		t.Errorf("the newest: %+v", r)
	}
	if s.reads != finder.MaxAwaited+1 { // and the hit of the page
		t.Errorf("%d nodes were read", s.reads)
	}
	if page, err := f.Tags(t.Context(), "", "", 10); err != nil || !page.Approximate {
		t.Error(page, err)
	}
	if err := f.Fold(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := look(t, f, "夜"); r.Approximate || r.Total != 1000 || f.Changes() != 1000 {
		t.Errorf("%+v after %d changes", r, f.Changes())
	}
}

// Texts count as well: of long ones fewer are awaited.
func TestASearchAfterLongTexts(t *testing.T) {
	t.Parallel()
	s, ids := newShelf(20)
	for id := range s.texts {
		s.texts[id] = strings.Repeat("夜の駅 ", 20_000)
	}
	f := finder.New(s, search.New())
	f.Touch(ids...)
	if r := look(t, f, "tag:none"); !r.Approximate || s.reads != 6 {
		t.Errorf("%+v, %d nodes were read", r, s.reads)
	}
}

// Names of flows are read once, and again of the flows that were touched.
func TestNamesOfFlows(t *testing.T) {
	t.Parallel()
	s, _ := newShelf(0)
	s.flows = map[uuid.UUID]string{}
	for i := range 50 {
		s.flows[uuid.UUID{byte(i)}] = fmt.Sprint("flow ", i)
	}
	f := finder.New(s, search.New())
	s.err = errors.New("input/output error")
	if _, err := f.Search(t.Context(), parsed(t, `flow:"flow 7"`), search.Page{}); !errors.Is(err, s.err) {
		t.Error(err)
	}
	s.err, s.reads = nil, 0
	look(t, f, `flow:"flow 7"`)
	look(t, f, `flow:"flow 8"`)
	if s.reads != 50+2 {
		t.Errorf("%d flows were read for two names", s.reads)
	}
	s.flows[uuid.UUID{7}], s.flows[uuid.UUID{99}] = "flow 8", "new"
	f.TouchFlow(uuid.UUID{7})
	f.TouchFlow(uuid.UUID{99})
	s.reads = 0
	look(t, f, "flow:new")
	var wrong *search.QueryError
	for query, says := range map[string]string{`flow:"flow 7"`: "names no flow", `flow:"flow 8"`: flow.Name(uuid.UUID{7}) + ", " + flow.Name(uuid.UUID{8})} {
		if _, err := f.Search(t.Context(), parsed(t, query), search.Page{}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if s.reads != 3 {
		t.Errorf("%d flows were read where two were touched", s.reads)
	}
}
