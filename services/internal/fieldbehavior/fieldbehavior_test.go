package fieldbehavior

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

func TestMissing(t *testing.T) {
	t.Parallel()
	text := func(role string) *flowstorev1.Text { return &flowstorev1.Text{Role: role} }
	for name, tt := range map[string]struct {
		message proto.Message
		want    []string
	}{
		"empty text":                {&flowstorev1.GetNodeRequest{}, []string{"name"}},
		"nothing missing":           {&flowstorev1.GetNodeRequest{Name: "nodes/x"}, nil},
		"absent message":            {&flowstorev1.CreateNodeRequest{}, []string{"node"}},
		"empty list":                {&flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{}}, []string{"node.texts"}},
		"item of a list":            {&flowstorev1.CreateNodeRequest{Node: &flowstorev1.Node{Texts: []*flowstorev1.Text{text("user"), text("")}}}, []string{"node.texts[1].role"}},
		"member of a oneof":         {&flowstorev1.AddNodeRequest{Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{}}}, []string{"flow", "new_node.texts"}},
		"list of texts":             {&promptbuilderv1.CountTokensRequest{}, []string{"texts"}},
		"inside output is not ours": {&agentv1.Stored{Node: &flowstorev1.Node{}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			Missing(tt.message, func(path string, _ protoreflect.FieldDescriptor) bool {
				got = append(got, path)
				return true
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMissingStops(t *testing.T) {
	t.Parallel()
	m := &flowstorev1.Node{Texts: []*flowstorev1.Text{{}, {}, {}}}
	calls := 0
	Missing(m, func(string, protoreflect.FieldDescriptor) bool { calls++; return calls < 2 })
	if calls != 2 {
		t.Errorf("report was called %d times after it said stop at 2", calls)
	}
}

func TestClearOutputOnly(t *testing.T) {
	t.Parallel()
	got := &flowstorev1.CreateFlowRequest{
		Flow: &flowstorev1.Flow{
			Name: "flows/kept", DisplayName: "kept", CreateTime: timestamppb.Now(), Current: "nodes/x",
			Edges: []*flowstorev1.Edge{{From: 1, To: 2}},
		},
	}
	ClearOutputOnly(got)
	want := &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{Name: "flows/kept", DisplayName: "kept"}}
	if !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	nested := &flowstorev1.AddNodeRequest{Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{CreateTime: timestamppb.Now(), Model: "m"}}}
	ClearOutputOnly(nested)
	if n := nested.GetNewNode(); n.CreateTime != nil || n.Model != "m" {
		t.Errorf("nested: got %v", n)
	}
}
