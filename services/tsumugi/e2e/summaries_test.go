package e2e

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// formed has the small model, which keeps to no form by itself, reply in the form that is asked for, with three tags of which no two are
// one. What it says in the middle of a sentence is its own: a few words, as each token under a grammar is dear, and as whole sentences of
// its own are refused now and then, and asked for up to three times.
const formed = `root ::= "要約: 私は先生の手紙を読み、" [ぁ-ん一-龠]{8,12} "と思った。\nタグ: " ("先生" | "私") "、" ("手紙" | "海") "、" ("物語" | "秘密" | "旅")`

// novel gives nodes of a novel: n of 400 characters each, or all of it for 0, in nodes of 1,600.
func (w *world) novel(t *testing.T, flow string, n int) (nodes []string) {
	t.Helper()
	text, err := os.ReadFile(testkit.Shared(t, "text/kokoro.txt"))
	if err != nil {
		t.Fatal(err)
	}
	size := 400
	if n == 0 {
		size = 1600
	}
	for rest := []rune(string(text)); len(rest) > 0 && (n == 0 || len(nodes) < n); {
		said := rest[:min(size, len(rest))]
		rest = rest[len(said):]
		half := len(said) / 2
		added, err := w.flows.AddNode(w.ctx, &flowstorev1.AddNodeRequest{
			Flow: flow, Parents: nodes[max(0, len(nodes)-1):],
			Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{Texts: []*flowstorev1.Text{
				{Role: "user", Content: string(said[:half])}, {Role: "assistant", Content: string(said[half:])},
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, added.Node.Name)
	}
	return nodes
}

// summaries is what a call of BuildSummaries told.
type summaries struct {
	total   int32
	done    map[string]*agentv1.SummaryDone
	skipped map[string]agentv1.SummarySkipped_Reason
	failed  map[string]*agentv1.SummaryFailed
	report  *agentv1.SummariesReport
	err     error
}

// summarise makes summaries, and calls after with each event.
func (w *world) summarise(t *testing.T, c agentv1.AgentServiceClient, q *agentv1.BuildSummariesRequest, after func(*agentv1.BuildSummariesEvent)) summaries {
	t.Helper()
	s := summaries{done: map[string]*agentv1.SummaryDone{}, skipped: map[string]agentv1.SummarySkipped_Reason{}, failed: map[string]*agentv1.SummaryFailed{}}
	var stream grpc.ServerStreamingClient[agentv1.BuildSummariesEvent]
	if stream, s.err = c.BuildSummaries(w.ctx, q); s.err != nil {
		return s
	}
	for {
		e, err := stream.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
			return s
		}
		switch e := e.Event.(type) {
		case *agentv1.BuildSummariesEvent_Begun:
			s.total = e.Begun.Total
		case *agentv1.BuildSummariesEvent_Done:
			s.done[e.Done.Name] = e.Done
		case *agentv1.BuildSummariesEvent_Skipped:
			s.skipped[e.Skipped.Name] = e.Skipped.Reason
		case *agentv1.BuildSummariesEvent_Failed:
			s.failed[e.Failed.Name] = e.Failed
		case *agentv1.BuildSummariesEvent_Report:
			s.report = e.Report
		}
		after(e)
	}
}

func nothing(*agentv1.BuildSummariesEvent) {}

// agree finds out whether the nodes are what was told of them, and were written just once.
func (w *world) agree(t *testing.T, s summaries) {
	t.Helper()
	if s.err != nil || s.report == nil || int(s.total) != len(s.done)+len(s.failed)+len(s.skipped) {
		t.Fatalf("%+v", s)
	}
	r := s.report
	if int(r.Done) != len(s.done) || int(r.Failed) != len(s.failed) || int(r.Skipped) != len(s.skipped) || r.Asked < r.Done+r.Failed {
		t.Errorf("the report %v of %+v", r, s)
	}
	for name, d := range s.done {
		n := w.node(t, name)
		if n.Summary.GetStale() || n.Summary.GetText() != d.Summary || !cmp.Equal(n.Tags, d.Tags) || len(d.Tags) < 3 {
			t.Errorf("told was %v, and the node is %v, %v", d, n.Summary, n.Tags)
		}
		if size := utf8.RuneCountInString(d.Summary); size < 20 || size > 200 {
			t.Errorf("a summary of %d characters", size)
		}
	}
	for name, f := range s.failed {
		if n := w.node(t, name); !n.Summary.GetStale() || n.Summary.GetText() != "" || f.Reason == "" || f.Message == "" {
			t.Errorf("told was %v, and the node is %v", f, n.Summary)
		}
	}
}

// writes is how often a node was changed.
func (w *world) writes(t *testing.T, name string) int {
	t.Helper()
	r, err := w.flows.ListNodeRevisions(w.ctx, &flowstorev1.ListNodeRevisionsRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return len(r.Revisions) - 1
}

// patient is for scenarios in which a small model on a processor takes a minute or more: once is enough, unless asked for.
func patient(t *testing.T, m mode) {
	t.Helper()
	if m.name != oneProcess.name && os.Getenv("TSUMUGI_SUMMARIES") == "" {
		t.Skip("takes a minute or more, and is tried in one process: set TSUMUGI_SUMMARIES=some, or all for the whole novel")
	}
}

// summarising is a world whose model replies in form.
func summarising(t *testing.T, m mode, background bool) *world {
	t.Helper()
	w := prepare(t, m, gemma(t, m))
	w.settings.grammar, w.settings.background = formed, background
	w.start(t)
	return w
}

// The real model summarises the nodes of a real novel; what is told is what is stored. TSUMUGI_SUMMARIES=all takes all of the
// novel, which needs most of an hour.
func summarised(t *testing.T, m mode) {
	patient(t, m)
	w := summarising(t, m, false)
	count := 4
	if os.Getenv("TSUMUGI_SUMMARIES") == "all" {
		count = 0
	}
	flow := w.newFlow(t)
	nodes := w.novel(t, flow, count)
	w.say(t, w.newFlow(t), "これは別の話である。")
	s := w.summarise(t, w.agents, &agentv1.BuildSummariesRequest{Flow: flow}, nothing)
	w.agree(t, s)
	if int(s.total) != len(nodes) || len(s.done) == 0 {
		t.Errorf("%d of %d nodes, %d are done", s.total, len(nodes), len(s.done))
	}
	for name := range s.done {
		if n := w.writes(t, name); n != 1 {
			t.Errorf("%s was written %d times", name, n)
		}
	}
	// An edit makes one of them stale, and over REST it is the only one that is done again.
	edited := w.edit(t, nodes[0], "先生は海で泳いだ。")
	again := w.summarise(t, agentv1.NewAgentServiceClient(overREST{w}), &agentv1.BuildSummariesRequest{Nodes: nodes, Parallel: 1}, nothing)
	w.agree(t, again)
	for name := range s.done {
		if name != edited.Name && again.skipped[name] != agentv1.SummarySkipped_REASON_FRESH {
			t.Errorf("%s was fresh: %+v", name, again)
		}
	}
	if again.done[edited.Name] == nil && again.failed[edited.Name] == nil {
		t.Errorf("the node that was edited: %+v", again)
	}
}

// edit gives a node another first text.
func (w *world) edit(t *testing.T, name, text string) *flowstorev1.Node {
	t.Helper()
	n, err := w.flows.UpdateNode(w.ctx, &flowstorev1.UpdateNodeRequest{
		Node:       &flowstorev1.Node{Name: name, Texts: []*flowstorev1.Text{{Role: "user", Content: text}}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"texts"}},
	})
	if err != nil || !n.Summary.GetStale() {
		t.Fatalf("%v, %v", n, err)
	}
	return n
}

// A node that is edited while the model replies stays stale, and nothing of the reply is stored.
func editedMeanwhile(t *testing.T, m mode) {
	model := gemma(t, m)
	w := summarising(t, m, false)
	node := w.novel(t, w.newFlow(t), 1)[0]
	edited := make(chan *flowstorev1.Node, 1)
	s := w.summarise(t, w.agents, &agentv1.BuildSummariesRequest{Nodes: []string{node}}, func(e *agentv1.BuildSummariesEvent) {
		if e.GetBegun() != nil {
			w.eventually(t, "the model replies", func() bool {
				for _, s := range w.slots(t, model) {
					if s.Processing {
						return true
					}
				}
				return false
			})
			edited <- w.edit(t, node, "別の文章である。")
		}
	})
	if s.err != nil || s.skipped[node] != agentv1.SummarySkipped_REASON_CHANGED {
		t.Fatalf("%+v", s)
	}
	if diff := cmp.Diff(<-edited, w.node(t, node), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// Killed in the middle, the services have what was told as done, and the same call goes on with the rest: nothing is lost,
// and nothing is made twice.
func summariesKilled(t *testing.T, m mode) {
	patient(t, m)
	w := summarising(t, m.killable(), false)
	flow := w.newFlow(t)
	nodes := w.novel(t, flow, 4)
	q := &agentv1.BuildSummariesRequest{Flow: flow}
	ends := 0
	before := w.summarise(t, w.agents, q, func(e *agentv1.BuildSummariesEvent) {
		if e.GetDone() == nil && e.GetFailed() == nil {
			return
		}
		if ends++; ends == 2 {
			if err := w.stop(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	})
	if before.err == nil || before.report != nil {
		t.Fatalf("nobody was killed: %+v", before)
	}
	w.start(t)
	after := w.summarise(t, w.agents, q, nothing)
	w.agree(t, after)
	if int(after.total) > len(nodes)-len(before.done) {
		t.Errorf("%d nodes are left of %d, %d were done", after.total, len(nodes), len(before.done))
	}
	for name, d := range before.done {
		if n := w.node(t, name); n.Summary.GetStale() || n.Summary.GetText() != d.Summary || after.done[name] != nil {
			t.Errorf("%s was told as %v, and is %v", name, d, n.Summary)
		}
	}
	for _, name := range nodes {
		n := w.node(t, name)
		if writes := w.writes(t, name); n.Summary.GetStale() != (after.failed[name] != nil) || !n.Summary.GetStale() != (writes == 1) {
			t.Errorf("%s was written %d times: %v", name, writes, n.Summary)
		}
	}
}

// In the background nodes are summarised as they are stored and edited, behind a restart too.
func summarisedUnasked(t *testing.T, m mode) {
	w := summarising(t, m, true)
	node := w.novel(t, w.newFlow(t), 1)[0]
	fresh := func() bool { return !w.node(t, node).Summary.GetStale() }
	w.eventually(t, "a summary", fresh)
	first := w.node(t, node).Summary.Text
	w.edit(t, node, strings.Repeat("先生は海で泳いだ。", 20))
	w.eventually(t, "another summary", fresh)
	w.restart(t)
	if n := w.writes(t, node); n != 3 || w.node(t, node).Summary.Text == "" || first == "" {
		t.Errorf("%d writes", n)
	}
}
