package generation_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// several begins the answers of a request.
func (w *world) several(req generation.Request) *generation.Answers {
	w.t.Helper()
	a, err := w.GenerateSeveral(w.t.Context(), ns, req)
	if err != nil {
		w.t.Fatalf("GenerateSeveral: %v", err)
	}
	return a
}

// answers are what a watcher of several answers read, by their numbers.
type answers struct {
	each   map[int]*reading
	failed map[int]error
	order  []int // the numbers of the events
	err    error
}

// readAll reads all answers to their end and detaches.
func (w *world) readAll(a *generation.Answers) answers {
	w.t.Helper()
	defer a.Close()
	all := answers{each: map[int]*reading{}, failed: map[int]error{}}
	texts := map[int]*strings.Builder{}
	all.err = a.Read(w.t.Context(), func(n int, e generation.Event) error {
		all.order = append(all.order, n)
		if f, ok := e.(generation.Broken); ok {
			all.failed[n] = f.Err
			return nil
		}
		if all.each[n] == nil {
			all.each[n], texts[n] = &reading{}, &strings.Builder{}
			if !isOpened(e) {
				w.t.Errorf("answer %d begins with %T", n, e)
			}
		}
		all.each[n].take(w.t, e, texts[n])
		return nil
	})
	for n, r := range all.each {
		r.text = texts[n].String()
	}
	return all
}

func TestVariantsAreSiblingsFromOneBuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ", "い"))
	root := w.flows.put(nil, "user", "夜。")
	req := w.request("そして")
	req.Parent, req.Variants = root, 3
	req.Sampling.Seed = ptr(^uint32(0))
	got := w.readAll(w.several(req))
	if got.err != nil || len(got.each) != 3 {
		t.Fatalf("%d answers, %v", len(got.each), got.err)
	}
	if len(w.prompts.builds) != 1 {
		t.Errorf("built %d times", len(w.prompts.builds))
	}
	for n, r := range got.each {
		node := r.stored.Node
		if node.ID != generation.NodeID(req.ID, n) || r.text != "あい" || r.opened.Answers != 3 || r.opened.Generation != node.ID {
			t.Errorf("answer %d is %+v, %q", n, node, r.text)
		}
		if want := ^uint32(0) + uint32(n); *node.Record.Sampling.Seed != want || *r.opened.Sampling.Seed != want {
			t.Errorf("answer %d was drawn with %d, want %d", n, *node.Record.Sampling.Seed, want)
		}
		if w.flows.parents[node.ID][0] != root || node.Record.RequestDigest != req.Digest() || node.Texts[0].Content != "そして" {
			t.Errorf("answer %d: %+v", n, node)
		}
	}
	w.restart()
	again := w.readAll(w.several(req))
	for n, r := range again.each {
		if !r.stored.Replayed || r.stored.Node.ID != got.each[n].stored.Node.ID {
			t.Errorf("answer %d, asked again: %+v", n, r.stored)
		}
	}
	if len(again.each) != 3 || w.model.calls() != 3 {
		t.Errorf("%d answers, %d calls of the model", len(again.each), w.model.calls())
	}
}

// TestVariantsThatAreMissingAreMade: of a request that broke off only the rest is made.
func TestVariantsThatAreMissingAreMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	req := w.request("夜")
	req.Variants = 3
	w.readAll(w.several(req))
	lost := generation.NodeID(req.ID, 1)
	w.flows.lose(lost)
	w.restart()
	got := w.readAll(w.several(req))
	if len(got.each) != 3 || got.err != nil || w.model.calls() != 4 {
		t.Fatalf("%d answers, %v, %d calls of the model", len(got.each), got.err, w.model.calls())
	}
	for n, r := range got.each {
		if r.stored.Replayed != (n != 1) {
			t.Errorf("answer %d: replayed %v", n, r.stored.Replayed)
		}
	}
	other := req
	other.Variants = 2
	if _, err := w.GenerateSeveral(t.Context(), ns, other); !errors.As(err, new(*generation.ReusedError)) {
		t.Errorf("another number of variants for the same id: %v", err)
	}
}

// TestVariantsNeedTheirPlaces: all of them or none.
func TestVariantsNeedTheirPlaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"), func(l *generation.Limits) { l.Running = 2 })
	req := w.request("夜")
	req.Variants = 3
	if _, err := w.GenerateSeveral(t.Context(), ns, req); !errors.As(err, new(*generation.BusyError)) {
		t.Errorf("3 of 2: %v", err)
	}
	if w.model.calls() != 0 {
		t.Error("some were begun")
	}
}

// TestOneVariantThatFailsLeavesItsSiblings: it is told, and the stream ends with its error.
func TestOneVariantThatFailsLeavesItsSiblings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ", "い"))
	dead := &llm.Error{Fault: llm.FaultCut, Message: "gone"}
	w.model.fail = func(req llm.Request) []step {
		if *req.Sampling.Seed == 11 {
			return []step{{text: "あ"}, {err: dead}}
		}
		return nil
	}
	req := w.request("夜")
	req.Variants, req.Sampling.Seed = 3, ptr(uint32(10))
	got := w.readAll(w.several(req))
	var cut *generation.CutError
	if !errors.As(got.err, &cut) || cut.Generation != generation.NodeID(req.ID, 1) || cut.Node == cut.Generation || !errors.As(got.failed[1], &cut) || len(got.failed) != 1 {
		t.Errorf("error %v, failed %v", got.err, got.failed)
	}
	if got.each[0].stored == nil || got.each[2].stored == nil || got.each[1].stored != nil {
		t.Errorf("stored: %v, %v, %v", got.each[0].stored, got.each[1].stored, got.each[2].stored)
	}
}

// TestWhatFailsBeforeAllIsOnlyTheError, as for one answer.
func TestWhatFailsBeforeAllIsOnlyTheError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	w.prompts.err = errors.New("no builder")
	req := w.request("夜")
	req.Variants = 4
	got := w.readAll(w.several(req))
	if !errors.Is(got.err, w.prompts.err) || len(got.order) != 0 {
		t.Errorf("events %v, %v", got.order, got.err)
	}
	if len(w.prompts.builds) != 1 {
		t.Errorf("built %d times, each in vain", len(w.prompts.builds))
	}
}

// TestCancellingOneVariantLeavesTheOthers, also where it is the one that makes the prompt for all.
func TestCancellingOneVariantLeavesTheOthers(t *testing.T) {
	t.Parallel()
	for gone := range 2 { // one of the two makes the prompt
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, says("あ"))
			w.prompts.wait = time.Minute
			req := w.request("夜")
			req.Variants = 2
			a := w.several(req)
			synctest.Wait()
			if _, err := w.Cancel(t.Context(), ns, generation.NodeID(req.ID, gone)); err != nil {
				t.Fatal(err)
			}
			got := w.readAll(a)
			if r := got.each[1-gone]; r == nil || r.stored == nil || got.each[gone] != nil {
				t.Errorf("%d is cancelled: %v", gone, got.err)
			}
			if cut := new(generation.CutError); !errors.As(got.err, &cut) || cut.Finish != generation.FinishCancelled {
				t.Errorf("%v", got.err)
			}
		})
	}
}

func TestEveryOptionIsABranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"), func(l *generation.Limits) { l.Options = 3 })
	pick := func(option int, text string) []generation.Pick {
		return []generation.Pick{{Field: "story.note", Options: []int{option}, Text: text}}
	}
	w.prompts.combinations = [][]generation.Pick{pick(0, "雨"), pick(1, "雪"), pick(2, "")}
	req := w.request("夜")
	req.EveryOption = true
	got := w.readAll(w.several(req))
	if got.err != nil || len(got.each) != 3 {
		t.Fatalf("%d answers, %v", len(got.each), got.err)
	}
	for n, want := range []string{"雨", "雪", "option 3"} {
		r, text := got.each[n], []string{" 雨", " 雪", ""}[n]
		if r.opened.Branch != want || r.opened.Answers != 3 || r.stored.Node.Record.Branch != want || !slices.Equal(r.stored.Node.Record.Picks, []string{"story.note#0=" + string(rune('0'+n)) + text}) {
			t.Errorf("branch %d: %+v, record %+v", n, r.opened, r.stored.Node.Record)
		}
		if b := w.prompts.builds[n+1]; b.Picks[0].Text != w.prompts.combinations[b.Picks[0].Options[0]][0].Text {
			t.Errorf("asked for %+v, whatever it says", b.Picks)
		}
	}
	w.restart(func(l *generation.Limits) { l.Options = 3 })
	w.prompts.combinations = [][]generation.Pick{pick(0, "霧"), pick(1, "風"), pick(2, "")} // the story says something else by now
	v, err := w.Watch(t.Context(), ns, got.each[1].stored.Node.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if r := w.read(v, 0); r.opened.Branch != "雪" {
		t.Errorf("watched: %+v", r.opened)
	}
	if again := w.readAll(w.several(req)); again.each[1].opened.Branch != "雪" || !again.each[1].stored.Replayed {
		t.Errorf("asked again: %+v", again.each[1])
	}
	if o, err := w.Preview(t.Context(), ns, req); err != nil || o.Answers != 3 {
		t.Errorf("%+v, %v", o, err)
	}

	w.prompts.combinations = append(w.prompts.combinations, pick(3, "霧"))
	req.ID = uuid.New()
	options := new(generation.OptionsError)
	if _, err := w.GenerateSeveral(t.Context(), ns, req); !errors.As(err, &options) || options.Limit != 3 || !strings.Contains(err.Error(), "4 combinations") {
		t.Errorf("above the limit: %v", err)
	}
	if _, err := w.Preview(t.Context(), ns, req); !errors.As(err, &options) {
		t.Errorf("a preview above the limit: %v", err)
	}
	w.prompts.combinations, w.prompts.more = w.prompts.combinations[:3], true
	if _, err := w.GenerateSeveral(t.Context(), ns, req); !errors.As(err, &options) || !options.Large || strings.Contains(err.Error(), "at most 3") {
		t.Errorf("fewer than may be asked for, and too long to be listed: %v", err)
	}
	w.prompts.combinations = slices.Repeat(w.prompts.combinations, 2)
	if _, err := w.GenerateSeveral(t.Context(), ns, req); !errors.As(err, &options) || options.Large || !strings.Contains(err.Error(), "more than 6") {
		t.Errorf("more than are listed: %v", err)
	}
}

func TestRepeatMakesAChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	root := w.flows.put(nil, "user", "夜。")
	req := w.request("雨、")
	req.Parent, req.Repeat, req.SetCurrent = root, 3, true
	req.Sampling.Seed = ptr(uint32(7))
	got := w.readAll(w.several(req))
	if got.err != nil || len(got.each) != 3 || !slices.IsSorted(got.order) {
		t.Fatalf("%d answers in the order %v, %v", len(got.each), got.order, got.err)
	}
	parent := root
	for n, prompt := range []string{"<>夜。雨、", "<>夜。雨、あ", "<>夜。雨、ああ"} {
		node := got.each[n].stored.Node
		if node.ID != generation.NodeID(req.ID, n) || w.flows.parents[node.ID][0] != parent || w.model.requests[n].Prompt != prompt {
			t.Errorf("step %d: %s behind %s, prompt %q", n, node.ID, w.flows.parents[node.ID], w.model.requests[n].Prompt)
		}
		if *node.Record.Sampling.Seed != 7+uint32(n) || !w.flows.adds[n].SetCurrent {
			t.Errorf("step %d: %+v", n, node.Record)
		}
		if b := w.prompts.builds[n]; n > 0 && (len(b.Picks) != 1 || b.Picks[0].Field != "story.note" || b.Picks[0].Options[0] != 1 || b.Picks[0].Text != "雨") {
			t.Errorf("step %d draws anew: %+v", n, b.Picks)
		}
		parent = node.ID
	}
}

// TestRepeatGoesOnAfterARestart where it was, as if nothing had been.
func TestRepeatGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	req := w.request("夜")
	req.Repeat = 4 // the first seed is drawn
	first := w.readAll(w.several(req))
	for n := 2; n < 4; n++ {
		w.flows.lose(generation.NodeID(req.ID, n))
	}
	w.restart()
	got := w.readAll(w.several(req))
	if got.err != nil || len(got.each) != 4 || w.model.calls() != 6 {
		t.Fatalf("%d answers, %v, %d calls of the model", len(got.each), got.err, w.model.calls())
	}
	for n, r := range got.each {
		if r.stored.Replayed != (n < 2) || *r.stored.Node.Record.Sampling.Seed != *first.each[0].stored.Node.Record.Sampling.Seed+uint32(n) {
			t.Errorf("step %d: replayed %v, seed %d", n, r.stored.Replayed, *r.stored.Node.Record.Sampling.Seed)
		}
	}
	for n := 2; n < 4; n++ {
		if !reflect.DeepEqual(w.model.requests[n+2], w.model.requests[n]) {
			t.Errorf("step %d is asked differently: %+v", n, w.model.requests[n+2])
		}
	}
}

func TestRepeatEndsWithAnAnswerThatIsNotWholeOrEmpty(t *testing.T) {
	t.Parallel()
	dead := &llm.Error{Fault: llm.FaultCut, Message: "gone"}
	for name, c := range map[string]struct {
		second []step
		failed bool
	}{
		"not whole": {[]step{{text: "い"}, {err: dead}}, true},
		"empty":     {[]step{{}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, says("あ"))
			w.model.fail = func(req llm.Request) []step {
				if *req.Sampling.Seed == 1 {
					return c.second
				}
				return nil
			}
			req := w.request("夜")
			req.Repeat, req.Sampling.Seed = 5, ptr(uint32(0))
			got := w.readAll(w.several(req))
			if len(got.each) != 2 || (got.err != nil) != c.failed || (got.failed[1] != nil) != c.failed {
				t.Errorf("%d answers, %v, failed %v", len(got.each), got.err, got.failed)
			}
			w.restart()
			w.model.fail = nil
			again := w.readAll(w.several(req))
			want := 2
			if c.failed {
				want = 5
			}
			if len(again.each) != want || again.err != nil || again.each[1].stored.Replayed == c.failed {
				t.Errorf("asked again: %d answers, %v", len(again.each), again.err)
			}
		})
	}
}

// TestRepeatWithoutReaders ends with the answer that nobody reads, or goes on where it was asked to.
func TestRepeatWithoutReaders(t *testing.T) {
	t.Parallel()
	for _, lasting := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := says()
			m.steps = []step{{text: "あ"}, {wait: time.Minute, text: "い"}, {}}
			w := newWorld(t, m)
			req := w.request("夜")
			req.Repeat, req.Continue = 3, lasting
			a := w.several(req)
			ctx, leave := context.WithCancel(t.Context())
			var pieces sync.Once
			err := a.Read(ctx, func(_ int, e generation.Event) error {
				if _, ok := e.(generation.Text); ok {
					pieces.Do(leave)
				}
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("left with %v", err)
			}
			a.Close()
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			added := w.flows.added()
			if lasting && (len(added) != 3 || w.model.calls() != 3) {
				t.Errorf("%d nodes, %d calls of the model; want 3", len(added), w.model.calls())
			}
			if !lasting && (len(added) != 1 || added[0].Node.Record.Finish != generation.FinishDisconnected) {
				t.Errorf("nodes %+v", added)
			}
		})
	}
}

// TestTwoReadersOfOneChain make every answer once.
func TestTwoReadersOfOneChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"), func(l *generation.Limits) { l.Running = 1 })
	req := w.request("夜")
	req.Repeat = 10
	a := []*generation.Answers{w.several(req), w.several(req)}
	var readers sync.WaitGroup
	got := make([]answers, len(a))
	for i := range a {
		readers.Go(func() { got[i] = w.readAll(a[i]) })
	}
	readers.Wait()
	for i := range got {
		if got[i].err != nil || len(got[i].each) != 10 {
			t.Errorf("reader %d: %d answers, %v", i, len(got[i].each), got[i].err)
		}
	}
	if w.model.calls() != 10 || len(w.flows.added()) != 10 {
		t.Errorf("%d calls of the model, %d nodes", w.model.calls(), len(w.flows.added()))
	}
}

func TestEveryOptionNeedsOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, says("あ"))
	for _, none := range [][][]generation.Pick{nil, {nil}} {
		w.prompts.combinations = none
		req := w.request("夜")
		req.EveryOption = true
		options := new(generation.OptionsError)
		if _, err := w.GenerateSeveral(t.Context(), ns, req); !errors.As(err, &options) || options.Count != 0 {
			t.Errorf("%v: %v", none, err)
		}
		if _, err := w.Preview(t.Context(), ns, req); !errors.As(err, &options) {
			t.Errorf("a preview of %v: %v", none, err)
		}
	}
}

// TestAnswersAreOpenedInOrder, also where the prompt of a later one is ready first.
func TestAnswersAreOpenedInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, says("あ"))
		for n := range 5 {
			w.prompts.combinations = append(w.prompts.combinations, []generation.Pick{{Field: "story.note", Options: []int{n}}})
		}
		w.prompts.waitFor = func(q generation.BuildRequest) time.Duration {
			if len(q.Picks) == 0 {
				return 0
			}
			return time.Duration(10-q.Picks[0].Options[0]) * time.Second
		}
		req := w.request("夜")
		req.EveryOption = true
		var opened []int
		a := w.several(req)
		defer a.Close()
		if err := a.Read(t.Context(), func(n int, e generation.Event) error {
			if isOpened(e) {
				opened = append(opened, n)
			}
			return nil
		}); err != nil || !slices.Equal(opened, []int{0, 1, 2, 3, 4}) {
			t.Errorf("opened %v, %v", opened, err)
		}
	})
}
