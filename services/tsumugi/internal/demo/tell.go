package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/allinone"
)

// answerTokens is the length of a continuation in the demo: a few seconds on a small machine.
const answerTokens = 100

// story is the demo's work: a flow, its opening, and what the model made of it.
type story struct {
	flows         flowstorev1.FlowStoreServiceClient
	agent         agentv1.AgentServiceClient
	flow          string
	opening       *flowstorev1.Node
	first, second *flowstorev1.Node
}

// tell goes through the chapters.
func (p *page) tell(ctx context.Context, process *allinone.Process, data string, m server) error {
	conn, err := grpcclient.Dial(process.GRPC(), grpcclient.Options{})
	if err != nil {
		return err
	}
	defer conn.Close()
	s := &story{flows: flowstorev1.NewFlowStoreServiceClient(conn), agent: agentv1.NewAgentServiceClient(conn)}
	for _, chapter := range []func() error{
		func() error { return p.begin(ctx, s) },
		func() error { return p.prompt(ctx, s) },
		func() error { return p.continuation(ctx, s, m) },
		func() error { return p.retry(ctx, s) },
		func() error { return p.files(ctx, s, filepath.Join(data, "flowstore", namespace.Default)) },
		func() error { return p.readBack(ctx, s, process.HTTP()) },
	} {
		if err := chapter(); err != nil {
			return plain(err)
		}
	}
	return nil
}

// begin makes the flow and its first node.
func (p *page) begin(ctx context.Context, s *story) error {
	flow, err := s.flows.CreateFlow(ctx, &flowstorev1.CreateFlowRequest{
		Flow: &flowstorev1.Flow{DisplayName: work().GetTitle(), Story: work()},
	})
	if err != nil {
		return err
	}
	added, err := s.flows.AddNode(ctx, &flowstorev1.AddNodeRequest{
		Flow:       flow.Name,
		Source:     &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: opening}}}},
		SetCurrent: true,
	})
	if err != nil {
		return err
	}
	s.flow, s.opening = flow.Name, added.Node
	p.title("A flow, begun with the opening of a story: 「%s」", flow.DisplayName)
	p.quote(opening)
	return nil
}

// prompt shows what would be sent, without sending it.
func (p *page) prompt(ctx context.Context, s *story) error {
	p.title("The prompt that it makes")
	stream, err := s.agent.GenerateNode(ctx, s.request(1, true))
	if err != nil {
		return err
	}
	event, err := stream.Recv()
	if err != nil {
		return err
	}
	p.breakdown(event.GetOpened().GetBuild())
	return nil
}

// continuation shows an answer as it comes.
func (p *page) continuation(ctx context.Context, s *story, m server) (err error) {
	p.title("The continuation, as %s writes it", m.what)
	s.first, err = p.generate(ctx, s, 1)
	return err
}

// retry asks again from the same place: the flow branches.
func (p *page) retry(ctx context.Context, s *story) (err error) {
	p.title("A retry from the same place, with another seed")
	if s.second, err = p.generate(ctx, s, 2); err != nil {
		return err
	}
	flow, err := s.flows.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: s.flow})
	if err != nil {
		return err
	}
	p.title("It became a second branch of the flow")
	texts := map[string]string{}
	for _, n := range []*flowstorev1.Node{s.opening, s.first, s.second} {
		texts[n.Name] = n.Texts[len(n.Texts)-1].Content
	}
	p.graph(flow, func(node string) string { return beginning(texts[node], 30) })
	return nil
}

func (p *page) generate(ctx context.Context, s *story, seed uint32) (*flowstorev1.Node, error) {
	stream, err := s.agent.GenerateNode(ctx, s.request(seed, false))
	if err != nil {
		return nil, err
	}
	node, err := p.stream(lastLine(opening), stream.Recv)
	if err != nil {
		return nil, err
	}
	p.made(node)
	return node, nil
}

func (s *story) request(seed uint32, dry bool) *agentv1.GenerateNodeRequest {
	return &agentv1.GenerateNodeRequest{
		Flow: s.flow, Parent: s.opening.Name, RequestId: uuid.NewString(), PickSeed: 1, DryRun: dry,
		Sampling: &flowstorev1.Sampling{
			MaxTokens: answerTokens, Seed: proto.Uint32(seed), Temperature: proto.Float64(0.8), RepeatPenalty: proto.Float64(1.15),
			Stop: []string{"[INST]", "[/INST]", "```", "【", "［", "[この"}, // a base model likes to go on with the marks of the prompt
		},
	}
}

// files shows the tree on the disk, and one node of it.
func (p *page) files(ctx context.Context, s *story, tree string) error {
	if _, err := s.flows.FlushStore(ctx, &flowstorev1.FlushStoreRequest{}); err != nil {
		return err
	}
	p.title("What stands on the disk")
	if err := p.tree(tree); err != nil {
		return err
	}
	const continuation = "nodes/000/001.xml" // the first continuation: the opening is 000
	content, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(continuation)))
	if err != nil {
		return err
	}
	p.file(continuation, content)
	return nil
}

// readBack reads the path to the first continuation over REST.
func (p *page) readBack(ctx context.Context, s *story, address string) error {
	p.title("The same path, read back over REST")
	url := fmt.Sprintf("http://%s/v1/%s:listPathNodes?node=%s", address, s.flow, s.first.Name)
	p.line("curl -s '%s'", url)
	p.line("")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var path struct {
		Nodes []struct {
			Node struct {
				Name  string
				Texts []struct{ Role, Content string }
			}
		}
	}
	if err := json.Unmarshal(body, &path); err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("REST answered %s: %s", response.Status, beginning(string(body), 200))
	}
	var names []string
	for _, n := range path.Nodes {
		names = append(names, n.Node.Name)
		for _, t := range n.Node.Texts {
			p.line("%s  %-9s %s", short(n.Node.Name), t.Role, beginning(t.Content, 40))
		}
	}
	if want := []string{s.opening.Name, s.first.Name}; !slices.Equal(names, want) {
		return fmt.Errorf("REST told the path %v, it should be %v", names, want)
	}
	return nil
}

// plain turns an answer of a service into the sentence that it holds.
func plain(err error) error {
	if e, ok := apierr.FromStatus(err); ok {
		return e
	}
	return err
}
