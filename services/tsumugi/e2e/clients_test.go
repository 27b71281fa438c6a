package e2e

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	commonv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/common/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// opening is the beginning of a story. It ends in the middle of a sentence.
const opening = `夜の図書館には、司書が一人だけ残っていた。
名を千草という。閉館の鐘はとうに鳴り終えている。
「誰かいるのですか」と、千草は暗い書架に声をかけた。
返事はなく、ただ紙をめくる音がした。
千草は灯りを手に、奥の書架へ向かって`

// newFlow makes a flow with story fields.
func (w *world) newFlow(t *testing.T) string {
	t.Helper()
	flow, err := w.flows.CreateFlow(w.ctx, &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{
		DisplayName: "夜の図書館",
		Story:       &commonv1.Story{Title: proto.String("夜の図書館"), Keywords: []string{"本", "灯り"}, Genres: []string{"幻想"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return flow.Name
}

// say adds what a writer wrote behind the given nodes.
func (w *world) say(t *testing.T, flow, text string, parents ...string) (node string) {
	t.Helper()
	added, err := w.flows.AddNode(w.ctx, &flowstorev1.AddNodeRequest{
		Flow: flow, Parents: parents,
		Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said(text)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return added.Node.Name
}

// said is a node with what a writer wrote.
func said(text string) *flowstorev1.Node {
	return &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: text}}}
}

func (w *world) flow(t *testing.T, name string) *flowstorev1.Flow {
	t.Helper()
	flow, err := w.flows.GetFlow(w.ctx, &flowstorev1.GetFlowRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return flow
}

func (w *world) node(t *testing.T, name string) *flowstorev1.Node {
	t.Helper()
	node, err := w.flows.GetNode(w.ctx, &flowstorev1.GetNodeRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func (w *world) generation(t *testing.T, name string) *agentv1.Generation {
	t.Helper()
	g, err := w.agents.GetGeneration(w.ctx, &agentv1.GetGenerationRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// parents gives the nodes that a node of a flow continues.
func parents(flow *flowstorev1.Flow, node string) (names []string) {
	place := map[int32]string{}
	for _, n := range flow.Nodes {
		place[n.Index] = n.Node
	}
	for _, e := range flow.Edges {
		if place[e.To] == node {
			names = append(names, place[e.From])
		}
	}
	return names
}

// refusal is what a caller has to be told.
type refusal struct {
	code   codes.Code
	reason string
	// fields are all that are named as wrong, sorted.
	fields []string
	// metadata has to be there; an empty value stands for any that is not.
	metadata map[string]string
}

// told gives what an error, of gRPC or REST, tells.
func told(t *testing.T, err error) *apierr.Error {
	t.Helper()
	got, ok := apierr.FromStatus(err)
	if !ok {
		t.Fatalf("the error has no reason of ours: %v", err)
	}
	return got
}

// check holds an error to what has to be told.
func (want refusal) check(t *testing.T, err error) {
	t.Helper()
	got := told(t, err)
	if got.Code != want.code || got.Reason != want.reason {
		t.Errorf("%s %s (%v); want %s %s", got.Code, got.Reason, got, want.code, want.reason)
	}
	var fields []string
	for _, v := range got.Violations {
		fields = append(fields, v.Field)
		if v.Description == "" {
			t.Errorf("%s: nothing says what would be right", v.Field)
		}
	}
	slices.Sort(fields)
	if !slices.Equal(fields, want.fields) {
		t.Errorf("fields %q; want %q (%v)", fields, want.fields, got)
	}
	for key, value := range want.metadata {
		if have := got.Metadata[key]; have == "" || value != "" && have != value {
			t.Errorf("metadata %s is %q; want %q (%v)", key, have, value, got)
		}
	}
	if got.Message == "" {
		t.Error("the error has no sentence for people")
	}
}
