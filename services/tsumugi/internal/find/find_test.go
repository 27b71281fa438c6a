package find

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

func TestSearch(t *testing.T) {
	t.Parallel()
	c := flowstoretest.Start(t)
	var ids []string
	for _, n := range []struct{ asked, answered, tag string }{
		{"汽笛は？", "風が止むと、\n遠くで 汽笛が鳴った。\x1b[2J", "夜"}, {"汽笛", strings.Repeat("長", 100) + "汽笛", "夜"}, {"駅", "灯がともる。", "朝"},
	} {
		made, err := c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{
			Tags: []string{n.tag}, Texts: []*flowstorev1.Text{{Role: "user", Content: n.asked}, {Role: "assistant", Content: n.answered}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made.GetName()+"  "+made.GetCreateTime().AsTime().Format("2006-01-02 15:04 MST")+"  #"+n.tag+"\n")
	}
	second := "\n" + ids[1] + "  user: »汽笛«\n  assistant: " + strings.Repeat("長", 30) + "»汽笛«\n"
	for _, ask := range []struct {
		query string
		nodes int
		want  string
	}{
		{"汽笛 tag:夜", 20, "nodes: 2\n" + second + "\n" + ids[0] + "  user: »汽笛«は？\n  assistant: 風が止むと、 遠くで »汽笛«が鳴った。␛[2J\n"},
		{"汽笛", 1, "nodes: 2\n" + second + "\n… there are more; --nodes N tells N\n"},
		{"tag:朝", 20, "nodes: 1\n\n" + ids[2] + "  assistant: 灯がともる。\n"},
		{"港", 20, "nodes: 0\n"},
		{"汽笛 after:2999 http://a", 20, "nodes: 0\nhttp: is no filter, and was looked for as a word; the filters are tag: model: role: flow: after: before:\n"},
		{"date:2020 汽笛 -Model:gemma　日付：2020", 20, "nodes: 0\ndate: is no filter, and was looked for as a word; the filters are tag: model: role: flow: after: before:\n" +
			"日付: is no filter, and was looked for as a word; the filters are tag: model: role: flow: after: before:\n"},
	} {
		var out bytes.Buffer
		if err := (Options{Query: ask.query, Nodes: ask.nodes, Out: &out}).search(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), ask.want; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", ask.query, got, want)
		}
	}
	err := (Options{Query: "role:nobody", Nodes: 1, Out: io.Discard}).search(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "names no role") {
		t.Error(err)
	}
}

// What is told to be a filter is one: none of them is looked for as a word.
func TestFiltersAreThoseOfFlowstore(t *testing.T) {
	t.Parallel()
	c := flowstoretest.Start(t)
	for _, filter := range filters {
		_, err := c.SearchNodes(t.Context(), &flowstorev1.SearchNodesRequest{Query: filter + ":"})
		if err == nil || misspelt(filter+":") != "" {
			t.Errorf("%s: %v, %q", filter, err, misspelt(filter+":"))
		}
	}
}

// What is approximate is not told as if it were not.
func TestApproximateTotals(t *testing.T) {
	t.Parallel()
	if got := total(&flowstorev1.SearchNodesResponse{TotalSize: 7, Approximate: true}); !strings.Contains(got, "about 7 (") {
		t.Error(got)
	}
}

func TestErrorsAreSentences(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), Options{Addr: "127.0.0.1:1", Query: "夜", Nodes: 1, Out: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "start `tsumugi serve`") {
		t.Errorf("%v", err)
	}
	for _, nodes := range []int{0, MaxNodes + 1} {
		if err := Run(t.Context(), Options{Nodes: nodes}); err == nil || !strings.Contains(err.Error(), "it must be 1 to 10000") {
			t.Errorf("%v", err)
		}
	}
}
