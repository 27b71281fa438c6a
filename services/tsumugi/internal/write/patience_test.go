package write

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// soon are waits that are over at once; each is noted, and n of them call then.
func soon(noted *[]time.Duration, n int, then func()) func(time.Duration) <-chan time.Time {
	past := make(chan time.Time)
	close(past)
	return func(d time.Duration) <-chan time.Time {
		if *noted = append(*noted, d); len(*noted) == n {
			then()
		}
		return past
	}
}

// TestScriptsWaitForABusyServer as long as they are told, say so, and lose nothing; a writer is asked instead.
func TestScriptsWaitForABusyServer(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: replies()})
	d.model.Break(llmtest.Faults{Busy: 1 << 20})
	var waited []time.Duration
	var told bytes.Buffer
	o := Options{File: d.file("夜.txt", "夜、"), Yes: true, Err: &told, after: soon(&waited, 4, func() { d.model.Break(llmtest.Faults{}) })}
	shown := d.must(o)
	flow, text := d.story(shown)
	if text != "夜、第一。" || len(flow.Nodes) != 2 || len(waited) != 4 || waited[3] < 4*time.Second {
		t.Errorf("the story is %q, of %d nodes; waited %v\n%s", text, len(flow.Nodes), waited, shown)
	}
	if n := strings.Count(told.String(), "今は受けられません not now: "); n != 4 || strings.Contains(shown, "not now") {
		t.Errorf("told %d times\n%s\n%s", n, told.String(), shown)
	}
	d.shows(shown, "the story stands at: "+flow.Current, "すべて保存済み", "come back with: tsumugi write "+flow.Name)
}

// TestScriptsDoNotWaitForEver: what stays busy is an error in the end, and so is Ctrl-C.
func TestScriptsDoNotWaitForEver(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: replies()})
	flow, _ := d.story(d.must(Options{File: d.file("夜.txt", "夜、"), Yes: true}))
	d.model.Break(llmtest.Faults{Busy: 1 << 20})
	var waited []time.Duration
	shown, err := d.write(Options{Flow: flow.Name, Yes: true, after: soon(&waited, 0, nil)})
	var total time.Duration
	for _, w := range waited {
		total += w
	}
	if err == nil || !strings.Contains(err.Error(), "try again in") || total > patience || total < patience/2 {
		t.Errorf("waited %v in all: %v", total, err)
	}
	d.shows(shown, "すべて保存済み")

	interrupts := make(chan os.Signal, 1)
	never := func(time.Duration) <-chan time.Time { interrupts <- os.Interrupt; return nil }
	if _, err := d.write(Options{Flow: flow.Name, Yes: true, Interrupts: interrupts, after: never}); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("Ctrl-C: %v", err)
	}
}

// TestScriptsGetHalfAnAnswerWhole: the same request makes it anew, and the half stays beside it.
func TestScriptsGetHalfAnAnswerWhole(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: replies()})
	d.model.Break(llmtest.Faults{Break: servertest.BreakCut, BreakAfter: 2})
	var waited []time.Duration
	o := Options{File: d.file("夜.txt", "夜、"), Yes: true, after: soon(&waited, 1, func() { d.model.Break(llmtest.Faults{}) })}
	shown := d.must(o)
	flow, text := d.story(shown)
	if text != "夜、第二。" || len(flow.Nodes) != 3 || len(waited) != 1 {
		t.Errorf("the story is %q, of %d nodes; waited %v\n%s", text, len(flow.Nodes), waited, shown)
	}
	d.shows(shown, "makes the answer anew", "答え 2 answers", "ほかに 1 件の分は不明", "すべて保存済み")

	o.Repeat, waited = 2, nil
	d.model.Break(llmtest.Faults{Break: servertest.BreakCut, BreakAfter: 2})
	shown = d.must(o)
	if _, text := d.story(shown); text != "夜、第四。第五。" {
		t.Errorf("the chain is %q\n%s", text, shown)
	}
}

// TestHowLongToWait is as the service says, and not less each time; a connection that breaks has few tries.
func TestHowLongToWait(t *testing.T) {
	t.Parallel()
	busy := func(after time.Duration) error {
		e := apierr.New(codes.ResourceExhausted, "BACKEND_BUSY", "busy")
		e.RetryAfter = after
		return e.GRPCStatus().Err()
	}
	w := retries{unasked: true}
	for i, c := range []struct {
		err  error
		want time.Duration
		ok   bool
	}{
		{busy(7 * time.Second), 7 * time.Second, true},
		{busy(time.Second), 2 * time.Second, true},
		{busy(time.Minute), time.Minute, true},
		{busy(time.Second), 8 * time.Second, true},
		{busy(time.Second), lastWait, true},
		{busy(time.Second), lastWait, true},
		{busy(time.Hour), time.Hour, false},
		{busy(0), 0, false},
		{nil, 0, false},
	} {
		if got, ok := w.after(c.err); got != c.want || ok != c.ok {
			t.Errorf("%d: %v %v, not %v %v", i, got, ok, c.want, c.ok)
		}
	}
	if _, ok := (&retries{}).after(busy(time.Second)); ok {
		t.Error("a writer who can be asked is not")
	}
}

// TestUnknownCostIsNoCost: what nobody told is not counted as nothing.
func TestUnknownCostIsNoCost(t *testing.T) {
	t.Parallel()
	half, whole := &answer{node: "n", text: "半"}, &answer{node: "n", whole: true, cost: &cost{3, 4}}
	remade := &answer{node: "n", whole: true, cost: &cost{1, 2}, broke: true, tries: 1}
	for want, answers := range map[string][]*answer{
		"prompt tokens: 読み直し 3 read again、キャッシュ 4 cached、数":             {whole},
		"prompt tokens: 不明 unknown (2 件の答え answers)、数":                  {half, {text: "途"}},
		"prompt tokens: 読み直し 4 read again、キャッシュ 6 cached (ほかに 2 件の分は不明": {half, whole, remade},
		"prompt tokens: 読み直し 0 read again、キャッシュ 0 cached、数":             nil,
	} {
		var sum totals
		sum.round(&round{answers: answers})
		if got := sum.String(); !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// TestATryBeforeTheFirstPiece is one of which nothing is lost, and whose cost nobody knows.
func TestATryBeforeTheFirstPiece(t *testing.T) {
	t.Parallel()
	r := &round{answers: []*answer{{opened: &agentv1.Opened{}}}, total: 1}
	for range 3 {
		r.resume() // of three tries again only the first was opened before
	}
	var sum totals
	sum.round(r)
	if got := sum.String(); !strings.Contains(got, "不明 unknown (1 件の答え answers)") || sum.broke != 0 {
		t.Errorf("%d broke off: %s", sum.broke, got)
	}
	*r.answers[0] = answer{node: "n", whole: true, cost: &cost{3, 4}, tries: r.answers[0].tries}
	sum = totals{}
	sum.round(r)
	if got := sum.String(); !strings.Contains(got, "ほかに 1 件の分は不明") {
		t.Errorf("%s", got)
	}
}
