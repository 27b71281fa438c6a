package write

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/allinone"
)

// desk is a running Tsumugi with a model server that speaks llama.cpp's wire format, and a folder for files.
type desk struct {
	*testing.T
	addr, dir string
	model     *llmtest.Server
	flows     flowstorev1.FlowStoreServiceClient
}

func newDesk(t *testing.T, o llmtest.Options) *desk {
	t.Helper()
	d := &desk{T: t, dir: t.TempDir(), model: llmtest.New(t, o)}
	d.file("backends.yaml", "default: m\nbackends:\n  m: {kind: llamacpp, address: '"+d.model.URL+"'}\n")
	cfg := settings("127.0.0.1:0", d.dir)
	// A preset with a knob that llama.cpp does not have.
	cfg.PromptBuilder.Presets = d.file("presets.yaml", "presets: {smooth: {sampling: {smoothing: {factor: 0.2}}}}\n")
	p, err := allinone.Open(t.Context(), cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, lifecycle.Options{Signals: make(chan os.Signal)}) }()
	conn, err := grpcclient.Dial(p.GRPC(), grpcclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d.addr, d.flows = p.GRPC(), flowstorev1.NewFlowStoreServiceClient(conn)
	t.Cleanup(func() {
		conn.Close()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the services ended with %v", err)
		}
	})
	return d
}

func (d *desk) file(name, text string) string {
	d.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // some are programs
		d.Fatal(err)
	}
	return path
}

// write is a session in which the writer types these lines; it gives what was shown.
func (d *desk) write(o Options, typed ...string) (string, error) {
	d.Helper()
	var out bytes.Buffer
	o.Addr, o.Out, o.In = d.addr, &out, strings.NewReader(strings.Join(append(typed, ""), "\n"))
	err := Run(d.Context(), o)
	return out.String(), err
}

// must is a session that ends well.
func (d *desk) must(o Options, typed ...string) string {
	d.Helper()
	shown, err := d.write(o, typed...)
	if err != nil {
		d.Fatalf("%v\n%s", err, shown)
	}
	return shown
}

// shows fails for a session that does not show all of these.
func (d *desk) shows(shown string, want ...string) {
	d.Helper()
	for _, w := range want {
		if !strings.Contains(shown, w) {
			d.Errorf("%q is not shown:\n%s", w, shown)
		}
	}
}

var flowName = regexp.MustCompile(`tsumugi write (flows/[0-9a-f-]{36})`)

// story is the flow that a session told, as it is read to its current node.
func (d *desk) story(shown string) (flow *flowstorev1.Flow, text string) {
	d.Helper()
	name := flowName.FindStringSubmatch(shown)
	if name == nil {
		d.Fatalf("no flow is told:\n%s", shown)
	}
	flow, err := d.flows.GetFlow(d.Context(), &flowstorev1.GetFlowRequest{Name: name[1]})
	if err != nil {
		d.Fatal(err)
	}
	path, err := d.flows.ListPathNodes(d.Context(), &flowstorev1.ListPathNodesRequest{Flow: flow.Name, Node: flow.Current})
	if err != nil {
		d.Fatal(err)
	}
	for _, n := range path.Nodes {
		for _, t := range n.Node.Texts {
			text += t.Content
		}
	}
	return flow, text
}

// replies answers with `一`, `二` and so on.
func replies() func(string) []string {
	var mu sync.Mutex
	n := 0
	return func(string) []string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return []string{"第", string([]rune("一二三四五六七八九")[n-1]), "。"}
	}
}

func TestAWriterKeepsAsksAgainAndEdits(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: replies()})
	editor := d.file("editor", "#!/bin/sh\nprintf '%s\\n' \"書き直した。\" > \"$1\"\n")
	novel := d.file("夜.txt", "前の行\n夜の港で、\r\n彼は")
	// 一 is kept, 二 is not, 三 is edited, 四 is not kept, 五 六 七 are three ways of which one is kept, 八 stays a branch.
	shown := d.must(Options{File: novel, Editor: editor}, "k", "a", "x", "e", "t", "k", "2", "s")
	d.shows(shown, "「夜」", "the whole text", "…彼は第一。", "残しました kept", "…彼は第一。第二。", "…彼は第一。第三。", "三つの案", "which one?", "[3/3]", "読み直し", "nothing is lost", "第八。")
	flow, text := d.story(shown)
	if !regexp.MustCompile("^前の行\n夜の港で、\r\n彼は第一。書き直した。第[五六七]。$").MatchString(text) {
		t.Errorf("the story is %q", text)
	}
	if len(flow.Nodes) != 10 { // the novel, eight answers and the edited one
		t.Errorf("the flow has %d nodes", len(flow.Nodes))
	}

	shown = d.must(Options{Flow: strings.TrimPrefix(flow.Name, "flows/")}, "s")
	d.shows(shown, "「夜」", "第九。")
}

func TestScriptsAreNotAsked(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: replies()})
	novel := d.file("夜.txt", "夜、")
	shown := d.must(Options{File: novel, Yes: true, Repeat: 3, Flow: "夜話"})
	if flow, text := d.story(shown); text != "夜、第一。第二。第三。" || flow.DisplayName != "夜話" {
		t.Errorf("the story is %q, 「%s」", text, flow.DisplayName)
	}
	shown = d.must(Options{File: novel, Yes: true, Variants: "ALL", Note: "{雨|雪}が降る"})
	d.shows(shown, "[1/2] 雨", "[2/2] 雪")
	if flow, _ := d.story(shown); len(flow.Nodes) != 3 || flow.Current == "" {
		t.Errorf("the flow is %v", flow)
	}
	if shown, err := d.write(Options{File: novel, Yes: true, Variants: "9"}); err == nil || !strings.Contains(err.Error(), "--variants: must be from 2 to 8") {
		t.Errorf("%v\n%s", err, shown)
	}
}

// TestCtrlCEndsTheAnswer and not the session; what has come is kept.
func TestCtrlCEndsTheAnswer(t *testing.T) {
	d := newDesk(t, llmtest.Options{Stepped: true, Reply: func(string) []string { return []string{"灯台", "の", "光"} }})
	interrupts := make(chan os.Signal)
	in, typing := io.Pipe()
	out := newWatch()
	ended := make(chan error, 1)
	novel := d.file("夜.txt", "夜、")
	go func() {
		ended <- Run(t.Context(), Options{Addr: d.addr, File: novel, In: in, Out: out, Interrupts: interrupts})
	}()
	d.model.Step(t)
	out.until("灯台", 1)
	interrupts <- os.Interrupt
	out.until("was cancelled", 1)
	if _, err := typing.Write([]byte("k\n")); err != nil {
		t.Fatal(err)
	}
	out.until("残しました", 1)
	d.model.Step(t)
	out.until("灯台灯台", 1)
	interrupts <- os.Interrupt
	out.until("was cancelled", 2)
	interrupts <- os.Interrupt // at the question: ends the session
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, out.text())
	}
	typing.Close()
	flow, text := d.story(out.text())
	if text != "夜、灯台" || len(flow.Nodes) != 3 {
		t.Errorf("the story is %q, of %d nodes\n%s", text, len(flow.Nodes), out.text())
	}
}

// TestCtrlCBetweenTwoAnswers of a chain ends it: the next one is cancelled as soon as it is opened.
func TestCtrlCBetweenTwoAnswers(t *testing.T) {
	var counting sync.Mutex // held: the server counts nothing
	d := newDesk(t, llmtest.Options{Stepped: true, Reply: replies(), Cut: func(text string) []string {
		counting.Lock()
		defer counting.Unlock()
		return servertest.Runes(text)
	}})
	interrupts, out := make(chan os.Signal), newWatch()
	in, typing := io.Pipe()
	ended := make(chan error, 1)
	novel := d.file("夜.txt", "夜、")
	go func() {
		ended <- Run(t.Context(), Options{Addr: d.addr, File: novel, Repeat: 5, In: in, Out: out, Interrupts: interrupts})
	}()
	for range 3 {
		d.model.Step(t)
	}
	out.until("第一。", 1)
	counting.Lock()
	d.model.Step(t) // the end of the first answer
	out.until("(stop)", 1)
	interrupts <- os.Interrupt
	counting.Unlock()
	out.until("? :", 1)
	if _, err := typing.Write([]byte("s\n")); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, out.text())
	}
	typing.Close()
	// What the writer stopped is not missing.
	d.shows(out.text(), "was cancelled", "a もう一度 again", "すべて保存済み")
	if n := strings.Count(out.text(), "was cancelled"); n != 1 {
		t.Errorf("it is told %d times\n%s", n, out.text())
	}
	if flow, _ := d.story(out.text()); len(flow.Nodes) != 2 {
		t.Errorf("the flow has %d nodes\n%s", len(flow.Nodes), out.text())
	}
}

// watch is an output that can be waited for.
type watch struct {
	mu   sync.Mutex
	more *sync.Cond
	all  bytes.Buffer
}

func newWatch() *watch {
	w := &watch{}
	w.more = sync.NewCond(&w.mu)
	return w
}

func (w *watch) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(text)
	w.more.Broadcast()
	return len(text), nil
}

// until waits until a text was shown so often.
func (w *watch) until(want string, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for strings.Count(w.all.String(), want) < times {
		w.more.Wait()
	}
}

func (w *watch) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// TestErrorsAreSentences that say what to do.
func TestErrorsAreSentences(t *testing.T) {
	d := newDesk(t, llmtest.Options{})
	big := d.file("big.txt", strings.Repeat("x", maxFile+1))
	for name, c := range map[string]struct {
		o    Options
		want []string
	}{
		"nothing":   {Options{Variants: "x", Repeat: 1, Tokens: -1, Slack: 80}, []string{"--slack: must be", "--file novel.txt", "only one of them", "--repeat: must be from 2", "--tokens: must be", "--variants must be"}},
		"no flow":   {Options{Flow: "夜"}, []string{`no flow is called "夜"`, "--file"}},
		"bad id":    {Options{Flow: "flows/x"}, []string{`"flows/x" is not a flow`, "--file"}},
		"gone flow": {Options{Flow: "flows/0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41"}, []string{"flows/0192f0c1"}},
		"no file":   {Options{File: filepath.Join(d.dir, "x.txt")}, []string{"x.txt", "no such file"}},
		"a folder":  {Options{File: d.dir}, []string{"no file with a text"}},
		"empty":     {Options{File: d.file("empty.txt", "")}, []string{"is empty"}},
		"too large": {Options{File: big}, []string{"4 MiB"}},
		"Shift JIS": {Options{File: d.file("sjis.txt", "a\n\x96\xe9")}, []string{"not UTF-8 (line 2)"}},
		"backend":   {Options{File: d.file("a.txt", "夜、"), Backend: "x"}, []string{`no backend "x"`}},
		"options":   {Options{File: d.file("a.txt", "夜、"), Variants: "9", Preset: "nope"}, []string{"--variants: must be from 2 to 8", "--preset: ", "nope"}},
		"none":      {Options{File: d.file("a.txt", "夜、"), Variants: "all"}, []string{"--variants all: must be for 1 to 16 combinations", "has 0"}},
		"many":      {Options{File: d.file("b.txt", "{雨|雪}の夜、"), Variants: "all", Note: "{1|2|3}{1|2|3}"}, []string{"--variants all: must be for 1 to 16 combinations", "has 18"}},
		"knob":      {Options{File: d.file("a.txt", "夜、"), Preset: "smooth"}, []string{"--preset: must be one without smoothing"}},
		"twice":     {Options{File: d.file("a.txt", "夜、"), Preset: "nope", Note: "{雨|雪"}, []string{"--note", "--preset"}},
		"tokens":    {Options{File: d.file("a.txt", "夜、"), Tokens: 5000}, []string{"--tokens"}},
		"note":      {Options{File: d.file("a.txt", "夜、"), Note: "{雨|雪"}, []string{"--note"}},
		"all":       {Options{File: d.dir, Repeat: 51, Backend: "x"}, []string{"no file with a text", "--repeat: must be from 2 to 50", `--backend: must be one of m, or empty for the default, is "x"`}},
		"at once":   {Options{File: d.file("a.txt", "夜、"), Variants: "99", Preset: "nope", Backend: "zz", Note: "{雨|雪", Slack: 99}, []string{"--variants: ", "--preset: ", "--backend: ", "--note: ", "--slack: "}},
		"budget":    {Options{File: d.file("a.txt", "夜、"), Variants: "99", Preset: "nope", Tokens: 99999}, []string{"--variants: ", "--preset: ", "--tokens: must be smaller than 4096"}},
		"of a flow": {Options{Flow: "夜", Variants: "99", Preset: "nope", Backend: "zz"}, []string{"no flow is called", "--variants: ", "--preset: ", "--backend: "}},
		"no name":   {Options{File: d.file("a.txt", "夜、"), Flow: "flows/x", Preset: "nope"}, []string{`"flows/x" is what a flow is known by`, "leave out --file", "--preset: "}},
		"a UUID":    {Options{File: d.file("a.txt", "夜、"), Flow: "0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41"}, []string{"leave out --file"}},
		"no UTF-8":  {Options{File: d.file("sjis.txt", "a\n\x96\xe9"), Note: "\x96\xe9", Preset: "nope"}, []string{"--note must be UTF-8", "not UTF-8 (line 2)", "--preset: "}},
	} {
		shown, err := d.write(c.o)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if strings.Contains(shown, "a new flow") {
			t.Errorf("%s: a flow was made before the options were looked at:\n%s", name, shown)
		}
		for _, w := range append(c.want, "") {
			if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "rpc error") {
				t.Errorf("%s: %v; want %q", name, err, w)
			}
		}
	}
	for name, o := range map[string]Options{
		"a gone flow":    {Flow: "flows/0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41"},
		"a file in SJIS": {File: d.file("sjis.txt", "a\n\x96\xe9")},
	} {
		if _, err := d.write(o); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s is told more than once: %v", name, err)
		}
	}
	err := Run(t.Context(), Options{Addr: "127.0.0.1:1", Flow: "flows/0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41", In: strings.NewReader(""), Out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "nobody answers at 127.0.0.1:1 (nothing listens there)") || !strings.Contains(err.Error(), "start `tsumugi serve`") {
		t.Errorf("nobody there: %v", err)
	}
}

// A flow is continued by what it is called, as long as one alone is called so; a name that several have is told with their ids
// (field/flowstore.md row 25), before anything is asked of a model.
func TestAFlowByItsName(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: replies()})
	first, _ := d.story(d.must(Options{File: d.file("a.txt", "夜、"), Flow: "夜話", Yes: true}))
	if again, _ := d.story(d.must(Options{Flow: "夜話", Yes: true})); again.GetName() != first.GetName() || len(again.GetNodes()) != 3 {
		t.Errorf("%v was continued, not %v", again, first)
	}
	second, _ := d.story(d.must(Options{File: d.file("a.txt", "夜、"), Flow: "夜話", Yes: true}))
	_, err := d.write(Options{Flow: "夜話", Yes: true})
	for _, want := range []string{"2 flows are called", first.GetName(), second.GetName()} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell %s", err, want)
		}
	}
}
