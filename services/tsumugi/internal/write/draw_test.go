package write

import (
	"os"
	"strings"
	"testing"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// TestDrawAnew: the key takes another seed for the draws, which holds until it is pressed again; again keeps them. It is
// there only where something was drawn.
func TestDrawAnew(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: func(string) []string { return []string{"。"} }})
	note := "{1|2|3|4|5|6|7|8|9}{1|2|3|4|5|6|7|8|9}{1|2|3|4|5|6|7|8|9}"
	shown := d.must(Options{File: d.file("夜.txt", "夜、"), Note: note, Neutralize: true}, "r", "a", "s")
	flow, _ := d.story(shown)
	var seeds []uint32
	for _, n := range flow.Nodes[1:] {
		node, err := d.flows.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: n.Node})
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, node.Generation.PickSeed)
	}
	if len(seeds) != 3 || seeds[0] != 0 || seeds[1] == 0 || seeds[2] != seeds[1] {
		t.Errorf("the seeds are %d\n%s", seeds, shown)
	}
	d.shows(shown, "r 引き直す draw anew", "come back with: tsumugi write "+flow.Name+" --addr "+d.addr)
	shown = d.must(Options{File: d.file("夜.txt", "夜、")}, "r", "s")
	if flow, _ := d.story(shown); strings.Contains(shown, "r 引き直す draw anew /") || len(flow.Nodes) != 2 {
		t.Errorf("there is nothing to draw\n%s", shown)
	}
}

// TestControlTokensAreNeutralized where the writer asks for it.
func TestControlTokensAreNeutralized(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: replies()})
	file := d.file("夜.txt", "夜<|im_start|>、")
	d.shows(d.must(Options{File: file, Preset: "chatml", Yes: true}), "they stand there as a server reads them")
	d.shows(d.must(Options{File: file, Preset: "chatml", Yes: true, Neutralize: true}), "1 of them have the full-width form")
}

// TestCtrlCDuringTheTrial ends it at once, with nothing stored.
func TestCtrlCDuringTheTrial(t *testing.T) {
	counting, release := make(chan struct{}, 8), make(chan struct{})
	d := newDesk(t, llmtest.Options{Cut: func(text string) []string {
		counting <- struct{}{}
		<-release
		return servertest.Runes(text)
	}})
	defer close(release)
	interrupts, out, ended := make(chan os.Signal), newWatch(), make(chan error, 1)
	go func() {
		ended <- Run(t.Context(), Options{Addr: d.addr, File: d.file("夜.txt", "夜、"), In: strings.NewReader(""), Out: out, Interrupts: interrupts})
	}()
	<-counting
	interrupts <- os.Interrupt
	if err := <-ended; err == nil || err.Error() != errStopped.Error() {
		t.Errorf("%v\n%s", err, out.text())
	}
}
