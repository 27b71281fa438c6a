package write

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// TestNothingWritten is an error where nobody is asked.
func TestNothingWritten(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: func(string) []string { return nil }})
	for name, o := range map[string]Options{"one": {}, "three": {Variants: "3"}, "a chain": {Repeat: 2}} {
		o.File, o.Yes = d.file("夜.txt", "夜、"), true
		shown, err := d.write(o)
		if err == nil || !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("%s: %v\n%s", name, err, shown)
		}
	}
}

// TestTheLineThatGoesOn is seen: an answer behind a line feed stands on a line of its own.
func TestTheLineThatGoesOn(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: replies()})
	for text, want := range map[string]string{
		"夜、":         "…夜、第",
		"港\n夜。\n":    "…夜。\n第",
		"夜。\r\n":     "…夜。\n第",
		"夜。\n\n\n\n": "…夜。\n\n第",
		"\n":         "…\n第",
	} {
		d.shows(d.must(Options{File: d.file("夜.txt", text), Yes: true}), want)
	}
	// The answers of a chain too stand behind the line that they continue.
	d.shows(d.must(Options{File: d.file("夜.txt", "夜。\n"), Yes: true, Repeat: 2}), "…夜。\n第六。", "…第六。第七。")
}

// TestTheSummary adds up what was told of each answer, and of what each prompt cost, also the one for trial.
func TestTheSummary(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: replies()})
	d.sums(d.must(Options{File: d.file("夜.txt", "夜、"), Repeat: 2}, "k", "t", "s"), 7) // two, two and three answers
	d = newDesk(t, llmtest.Options{Reply: replies()})
	d.sums(d.must(Options{File: d.file("夜.txt", "夜、"), Variants: "all", Note: "{雨|雪}が降る"}, "s"), 2)
	d.shows(d.must(Options{File: d.file("夜.txt", "夜、"), Yes: true}), "in all: 答え 1 answers", "a prompt for trial: 数えた回数 counts: ")
}

// sums fails where the summary is not the sum of what was shown.
func (d *desk) sums(shown string, answers int) {
	d.Helper()
	var read, cached, counts, characters int
	for _, m := range regexp.MustCompile(`読み直し (\d+) read again、キャッシュ (\d+) cached\n`).FindAllStringSubmatch(shown, -1) {
		read, cached = read+number(m[1]), cached+number(m[2])
	}
	for _, m := range regexp.MustCompile(`counts: (\d+)、送った字 characters sent: (\d+)`).FindAllStringSubmatch(shown, -1) {
		counts, characters = counts+number(m[1]), characters+number(m[2])
	}
	in := regexp.MustCompile(`in all: 答え (\d+) answers、プロンプト prompt tokens: 読み直し (\d+) read again、キャッシュ (\d+) cached、数えた回数 (\d+) counts、送った字 (\d+) characters`).FindStringSubmatch(shown)
	if in == nil {
		d.Fatalf("no summary:\n%s", shown)
	}
	if number(in[1]) != answers || number(in[2]) != read || number(in[3]) != cached || read == 0 || cached == 0 ||
		number(in[4]) != counts || counts == 0 || number(in[5]) != characters {
		d.Errorf("told %d read, %d cached, %d counts, %d characters:\n%s", read, cached, counts, characters, shown)
	}
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// TestTheCutIsHandedOn: the state of each prompt goes to the next, which is cut at the same line.
func TestTheCutIsHandedOn(t *testing.T) {
	d := newDesk(t, llmtest.Options{Window: 600, Reply: replies()})
	conn, err := grpcclient.Dial(d.addr, grpcclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var out bytes.Buffer
	var novel strings.Builder
	for n := range 200 {
		fmt.Fprintf(&novel, "第%d行の夜。\n", n)
	}
	s, err := newSession(Options{File: d.file("夜.txt", novel.String()), Slack: 25, Tokens: 20, In: strings.NewReader(""), Out: &out}, conn)
	if err == nil {
		err = s.open(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if state := s.request(shape{}).GetBuild().GetState(); state != "" {
		t.Errorf("the first prompt has the state %q", state)
	}
	var states []string
	for range 2 {
		r := s.plan(shape{})
		if err := s.round(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := s.keep(t.Context(), r, r.usual()); err != nil {
			t.Fatal(err)
		}
		told := r.answers[0].opened.GetBuild().GetState()
		if next := s.request(shape{}).GetBuild().GetState(); told == "" || next != told {
			t.Errorf("the prompt after one with the state %q has %q", told, next)
		}
		states = append(states, told)
	}
	if states[0] != states[1] {
		t.Errorf("the cut moved: %q", states)
	}
}

// TestWhenToComeAgain is told where a service tells it.
func TestWhenToComeAgain(t *testing.T) {
	d := newDesk(t, llmtest.Options{})
	flow := d.must(Options{File: d.file("夜.txt", "夜、"), Yes: true})
	d.model.Break(llmtest.Faults{Busy: 1000})
	shown, err := d.write(Options{Flow: flowName.FindStringSubmatch(flow)[1]}, "s")
	d.shows(shown, "秒後にもう一度どうぞ try again in ")
	if err != nil {
		t.Errorf("%v", err)
	}
}

// TestWhatIsMissing: the same request goes out again only where that makes something.
func TestWhatIsMissing(t *testing.T) {
	t.Parallel()
	trouble := errors.New("trouble")
	whole, cut, gone, cancelled := &answer{node: "n", whole: true}, &answer{node: "n"}, &answer{}, &answer{node: "n", cancelled: true}
	for name, c := range map[string]struct {
		r    round
		want bool
	}{
		"all is well":                {round{answers: []*answer{whole}, total: 1}, false},
		"nothing was opened":         {round{err: trouble}, true},
		"the writer stopped it":      {round{err: trouble, stopping: true}, false},
		"nothing is kept":            {round{err: trouble, answers: []*answer{gone}, total: 1}, true},
		"half of it is kept":         {round{err: trouble, answers: []*answer{cut}, total: 1}, true},
		"somebody cancelled it":      {round{err: trouble, answers: []*answer{cancelled}, total: 1}, false},
		"one of two was opened":      {round{err: trouble, answers: []*answer{whole}, total: 2}, true},
		"a chain that can go on":     {round{err: trouble, answers: []*answer{whole}, total: 2, shape: shape{repeat: 2}}, true},
		"half of a chain":            {round{err: trouble, answers: []*answer{cut}, total: 2, shape: shape{repeat: 2}}, true},
		"a chain that was cancelled": {round{err: trouble, answers: []*answer{cancelled}, total: 2, shape: shape{repeat: 2}}, false},
		"half of both side by side":  {round{err: trouble, answers: []*answer{cut, cut}, total: 2}, true},
		"one of both was cancelled":  {round{err: trouble, answers: []*answer{whole, cancelled}, total: 2}, false},
	} {
		if got := c.r.missing(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
