package app_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// novel is a whole novel as one flow, a node for each line.
type novel struct {
	*testing.T
	c           flowstorev1.FlowStoreServiceClient
	flow        string
	lines, made []string
}

// A novel is kept as one flow of 1,320 nodes, over gRPC and from files: what is found is what a look through it finds, it is split, forked and
// compared, and it is read back byte for byte, also after a restart.
func TestANovelAsOneFlow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(testkit.Shared(t, "text/kokoro.txt"))
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	a := start(t, data)
	n := &novel{T: t, c: client(t, a), lines: slices.Collect(strings.Lines(string(text)))}
	if len(n.lines) != 1320 {
		t.Fatalf("the novel has %d lines", len(n.lines))
	}
	n.write()
	n.reads(n.flow, n.lines)
	half := n.split(700)
	n.forks(700)
	stop(t, a)
	a = start(t, data)
	defer stop(t, a)
	n.c = client(t, a)
	n.reads(n.flow, n.lines)
	n.parts(half, 700)
	n.finds(half)
}

func (n *novel) write() {
	n.Helper()
	n.flow = newFlow(n.T, n.c)
	var parents []string
	for _, line := range n.lines {
		name, err := add(n.c, n.flow, line, "", parents...)
		if err != nil {
			n.Fatal(err)
		}
		n.made, parents = append(n.made, name), []string{name}
	}
}

// reads wants the path to the current node of a flow to be these lines.
func (n *novel) reads(flow string, want []string) {
	n.Helper()
	var got []string
	req := &flowstorev1.ListPathNodesRequest{Flow: flow, PageSize: 500}
	for {
		page, err := n.c.ListPathNodes(n.Context(), req)
		if err != nil {
			n.Fatal(err)
		}
		for _, on := range page.GetNodes() {
			got = append(got, on.GetNode().GetTexts()[0].GetContent())
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		n.Errorf("%d lines were read, not the %d that were written", len(got), len(want))
	}
}

// split keeps the first half of a line, counted from 1, beside it.
func (n *novel) split(line int) (half string) {
	n.Helper()
	answer, err := n.c.SplitNode(n.Context(), &flowstorev1.SplitNodeRequest{
		Flow: n.flow, Node: n.made[line-1], TextIndex: proto.Int32(0), Offset: proto.Int32(int32(len([]rune(n.lines[line-1])) / 2)),
	})
	if err != nil {
		n.Fatal(err)
	}
	kept := answer.GetNode().GetTexts()[0].GetContent()
	if kept == "" || !strings.HasPrefix(n.lines[line-1], kept) || !slices.Equal(answer.GetParents(), n.made[line-2:line-1]) {
		n.Errorf("the first half of %q is %q, behind %v", n.lines[line-1], kept, answer.GetParents())
	}
	return answer.GetNode().GetName()
}

// forks makes a fork in each way, at a line with another one beside it.
func (n *novel) forks(line int) {
	n.Helper()
	for way, want := range map[flowstorev1.ForkWay]struct {
		nodes int
		path  []string
	}{
		flowstorev1.ForkWay_FORK_WAY_WHOLE: {len(n.lines) + 1, n.lines}, flowstorev1.ForkWay_FORK_WAY_PATH: {line, n.lines[:line]},
		flowstorev1.ForkWay_FORK_WAY_SIBLINGS: {line + 1, n.lines[:line]}, flowstorev1.ForkWay_FORK_WAY_SUBTREE: {len(n.lines) - line + 1, n.lines[line-1:]},
	} {
		req := &flowstorev1.ForkFlowRequest{Flow: n.flow, Way: way}
		if way != flowstorev1.ForkWay_FORK_WAY_WHOLE {
			req.Node = n.made[line-1]
		}
		fork, err := n.c.ForkFlow(n.Context(), req)
		if err != nil || len(fork.GetNodes()) != want.nodes {
			n.Errorf("%v: %d nodes, want %d: %v", way, len(fork.GetNodes()), want.nodes, err)
		}
		n.reads(fork.GetName(), want.path)
	}
}

// parts wants the line and its first half to differ in the second, and the way to the half to leave the novel before the line.
func (n *novel) parts(half string, line int) {
	n.Helper()
	diff, err := n.c.DiffNodes(n.Context(), &flowstorev1.DiffNodesRequest{Node: n.made[line-1], Other: half})
	if err != nil || len(diff.GetTexts()) != 1 {
		n.Fatalf("%v, %v", diff, err)
	}
	var whole, kept strings.Builder
	for _, part := range diff.GetTexts()[0].GetParts() {
		whole.WriteString(part.GetText())
		if part.GetOp() == flowstorev1.DiffPart_OP_EQUAL {
			kept.WriteString(part.GetText())
		}
	}
	if whole.String() != n.lines[line-1] || !strings.HasPrefix(n.lines[line-1], kept.String()) || kept.Len() == 0 || kept.Len() == whole.Len() {
		n.Errorf("the difference is %v", diff)
	}
	heads, err := n.c.DiffHeads(n.Context(), &flowstorev1.DiffHeadsRequest{Flow: n.flow, Node: n.made[len(n.made)-1], Other: half})
	if err != nil || len(heads.GetCommon()) != 1 || heads.GetCommon()[0].GetNode() != n.made[line-2] ||
		len(heads.GetOnlyNode()) != len(n.lines)-line+1 || len(heads.GetOnlyOther()) != 1 {
		n.Errorf("%v, %v", heads, err)
	}
}

// finds looks for words of one to eight characters that stand in the novel, and some that do not; the half line is found, too.
func (n *novel) finds(half string) {
	n.Helper()
	whole, err := n.c.GetNode(n.Context(), &flowstorev1.GetNodeRequest{Name: half})
	if err != nil {
		n.Fatal(err)
	}
	texts := append(slices.Clone(n.lines), whole.GetTexts()[0].GetContent())
	words := []string{"先生", "私", "奥さん", "襖", "精神的に向上心", "K", "ウィスキー", "存在しない言葉", "、", "海"}
	for i := 0; i < len(n.lines); i += 31 {
		line := []rune(n.lines[i])
		words = append(words, string(line[len(line)/2:min(len(line), len(line)/2+1+i%8)]))
	}
	for _, word := range words {
		folded := search.Fold(word)
		if strings.TrimSpace(folded) == "" {
			continue
		}
		want := 0
		for _, text := range texts {
			if strings.Contains(search.Fold(text), folded) {
				want++
			}
		}
		n.hits(word, want)
	}
}

// hits wants so many nodes with a word on the pages of a search, each with a place where it stands. The total may be another where it is told
// to be approximate (docs/search.md); the pages are not.
func (n *novel) hits(word string, want int) {
	n.Helper()
	seen := map[string]bool{}
	req := &flowstorev1.SearchNodesRequest{Query: "flow:" + strings.TrimPrefix(n.flow, "flows/") + ` "` + strings.ReplaceAll(word, `"`, `""`) + `"`, PageSize: 100}
	for {
		page, err := n.c.SearchNodes(n.Context(), req)
		if total := int(page.GetTotalSize()); err != nil || total != want && !page.GetApproximate() {
			n.Fatalf("%q: %d nodes, approximate %t, want %d: %v", word, page.GetTotalSize(), page.GetApproximate(), want, err)
		}
		for _, hit := range page.GetHits() {
			seen[hit.GetNode().GetName()] = true
			if !slices.ContainsFunc(hit.GetHighlights(), func(h *flowstorev1.Highlight) bool {
				return strings.Contains(search.Fold(h.GetSnippet()), search.Fold(word))
			}) {
				n.Errorf("%q: no highlight shows it: %v", word, hit)
			}
		}
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if len(seen) != want {
		n.Errorf("%q: %d nodes on the pages, want %d", word, len(seen), want)
	}
}
