package show

import (
	"bytes"
	"io"
	"strings"
	"testing"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/flowstoretest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func shown(t *testing.T, c flowstorev1.FlowStoreServiceClient, flow string, nodes int) string {
	t.Helper()
	var out bytes.Buffer
	if err := (Options{Flow: flow, Nodes: nodes, Out: &out}).show(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestShow(t *testing.T) {
	t.Parallel()
	c := flowstoretest.Start(t)
	flow, err := c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "夜\n話"}})
	if err != nil {
		t.Fatal(err)
	}
	head := "「夜 話」 " + flow.GetName() + "\n"
	if got, want := shown(t, c, "夜\n話", 100), head+"nodes: 0, edges: 0\n\n\n"; got != want {
		t.Errorf("an empty flow:\n%s", got)
	}
	var names []string
	for _, n := range []struct {
		text    string
		parents []int
		current bool
	}{{"夜。\n\n 静かだった。", nil, false}, {strings.Repeat("長", 36), []int{0}, true}, {"\x1b[2J", []int{0}, false}, {"", []int{1, 2}, false}} {
		add := &flowstorev1.AddNodeRequest{Flow: flow.GetName(), SetCurrent: n.current, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{
			Texts: []*flowstorev1.Text{{Role: "user", Content: "asked"}, {Role: "assistant", Content: n.text}},
		}}}
		for _, p := range n.parents {
			add.Parents = append(add.Parents, names[p])
		}
		placed, err := c.AddNode(t.Context(), add)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, placed.GetNode().GetName())
	}
	if _, err := c.BranchFlow(t.Context(), &flowstorev1.BranchFlowRequest{Flow: flow.GetName(), Node: names[2], DisplayName: "雨"}); err != nil {
		t.Fatal(err)
	}
	drawn := head + "nodes: 4, edges: 4\n3: 雨\n\n1<\n  1<2>4\n  1<3>4\n>4\n\n"
	lines := []string{"     1  夜。 静かだった。\n", ">    2  " + strings.Repeat("長", 35) + "…\n", "     3  ␛[2J\n", "     4\n"}
	for nodes, want := range map[int]string{
		100: strings.Join(lines, ""), 4: strings.Join(lines, ""), 1: lines[0] + "… 3 more; --nodes N tells N\n", 0: "… 4 more; --nodes N tells N\n",
	} {
		if got := shown(t, c, flow.GetName(), nodes); got != drawn+want {
			t.Errorf("%d nodes:\n%s\nwant\n%s", nodes, got, drawn+want)
		}
	}
	for flow, want := range map[string]string{"朝": "no flow is called", "flows/0192f0c1-7d3a-7c52-9b1e-3f6a5c0d2e41": "does not exist"} {
		if err := (Options{Flow: flow, Out: io.Discard}).show(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flow, err)
		}
	}
}

// A flow that is one long line is drawn so far that its nodes are still seen.
func TestALongLineIsCut(t *testing.T) {
	t.Parallel()
	c := flowstoretest.Start(t)
	flow, err := c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "夜"}})
	if err != nil {
		t.Fatal(err)
	}
	var last []string
	for range 300 {
		placed, err := c.AddNode(t.Context(), &flowstorev1.AddNodeRequest{Flow: flow.GetName(), Parents: last, Source: &flowstorev1.AddNodeRequest_NewNode{
			NewNode: &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: "x"}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		last = []string{placed.GetNode().GetName()}
	}
	lines := strings.Split(shown(t, c, flow.GetName(), 1), "\n")
	if drawn := []rune(lines[3]); len(drawn) != mostDrawn+1 || drawn[mostDrawn] != '…' || !strings.HasPrefix(lines[3], "1→2→3→") {
		t.Errorf("%q", lines)
	}
}

func TestErrorsAreSentences(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), Options{Addr: "127.0.0.1:1", Flow: "夜", Out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "nobody answers at 127.0.0.1:1 (nothing listens there): start `tsumugi serve`") {
		t.Errorf("%v", err)
	}
	if err := Run(t.Context(), Options{Nodes: -1}); err == nil || err.Error() != "--nodes is -1; it must be 0 or more" {
		t.Errorf("%v", err)
	}
}
