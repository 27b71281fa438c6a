package transport

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
)

// largestMessage is what every server sends and takes, however it is set.
const largestMessage = int(grpcserver.MinMessageBytes)

// The largest node that can be made fits a message, and Size, by which pages end, does not tell too little.
func TestLargestNodeFits(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("x", node.MaxLabel)
	score := -1000.0
	n := node.Node{Model: label, Score: &score, Note: strings.Repeat("x", node.MaxNote), Summary: node.Summary{
		Text: strings.Repeat("x", node.MaxSummary), Stale: true, Built: time.Now(),
	}, Warnings: []string{label, label}, Generation: &node.Generation{
		Backend: label, Kind: label, Address: label, Tokenizer: label, Model: label, PromptDigest: label, Task: label, Finish: label, Fault: label, Branch: label,
		RequestDigest: label, Error: strings.Repeat("x", node.MaxError), Window: 1 << 30, PromptTokens: 1 << 30, PromptSeconds: 1,
	}}
	for range node.MaxTexts {
		n.Texts = append(n.Texts, node.Text{Role: "assistant", Content: strings.Repeat("x", node.MaxAllTexts/node.MaxTexts), Count: 1 << 30, Duration: 1, Rate: 1})
	}
	for range node.MaxTags {
		n.Tags = append(n.Tags, strings.Repeat("x", node.MaxTag))
	}
	for range node.MaxPicks {
		n.Generation.Picks = append(n.Generation.Picks, strings.Repeat("x", node.MaxAllPicks/node.MaxPicks))
	}
	if found := n.Check(); len(found) > 0 {
		t.Errorf("not within the limits: %v", found)
	}
	if size := proto.Size(fromNode(n)); size > n.Size() || n.Size() > node.MaxSize {
		t.Errorf("%d bytes, Size says %d, the most is %d", size, n.Size(), node.MaxSize)
	}
	if around := maxNeighbours * proto.Size(&flowstorev1.AddNodeResponse{Parents: []string{node.Name(uuid.Max)}}); node.MaxSize+around > largestMessage {
		t.Errorf("a node of %d bytes and %d around it are more than a message may have", node.MaxSize, around)
	}
}

func TestLargestFlowFits(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", flow.MaxStoryText)
	f := flow.Flow{
		Name: strings.Repeat("長", flow.MaxName), Description: strings.Repeat("x", flow.MaxDescription), Problems: make([]string, 1000),
		Story:   flow.Story{Title: &text, Synopsis: &text, Setting: &text, Plot: &text, Note: &text, DialogueLevel: &text},
		Members: make([]flow.Member, flow.MaxMembers), Edges: make([]flow.Edge, flow.MaxEdges),
	}
	for i := range f.Members {
		f.Members[i].Index = flow.MaxIndex
	}
	for i := range f.Edges {
		f.Edges[i] = flow.Edge{From: flow.MaxIndex, To: flow.MaxIndex}
	}
	for i := range f.Problems {
		f.Problems[i] = strings.Repeat("x", 500)
	}
	if size := proto.Size(fromFlow(f)); size > largestMessage {
		t.Errorf("%d bytes", size)
	}
}
