package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// maxFile is how many bytes a text of a node may have.
const maxFile = 4 << 20

// open finds the flow, or begins it, and the place to go on from.
func (s *session) open(ctx context.Context) error {
	if s.File != "" {
		return s.begin(ctx)
	}
	id := strings.TrimPrefix(s.Flow, "flows/")
	if _, err := uuid.Parse(id); err != nil || len(id) != 36 {
		return fmt.Errorf("%.80q is not a flow: it must be flows/ and a UUID, or the UUID, as `tsumugi write --file novel.txt` tells it", s.Flow)
	}
	s.flow = "flows/" + id
	var flow *flowstorev1.Flow
	err := s.patiently(ctx, func() (err error) {
		flow, err = s.flows.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: s.flow})
		return err
	})
	if err != nil {
		return err
	}
	s.say("「%s」 %s", flow.DisplayName, s.flow)
	place := flow.Current
	if place == "" {
		if place = newestEnd(flow); place != "" {
			s.say("どこを読んでいたかの記録がないので、一番新しい枝から続けます no place is recorded: from the newest branch, %s", place)
		}
	}
	if place == "" {
		return nil
	}
	var node *flowstorev1.Node
	err = s.patiently(ctx, func() (err error) {
		node, err = s.flows.GetNode(ctx, &flowstorev1.GetNodeRequest{Name: place})
		return err
	})
	if err != nil {
		return err
	}
	text := ""
	for _, t := range node.Texts {
		text += t.Content
	}
	s.stand(place, text)
	return nil
}

// newestEnd is the node that was added last of those that nothing continues; empty in a flow without nodes.
func newestEnd(f *flowstorev1.Flow) string {
	continued := map[int32]bool{}
	for _, e := range f.Edges {
		continued[e.From] = true
	}
	end := ""
	for _, n := range f.Nodes { // by index, which grows
		if !continued[n.Index] {
			end = n.Node
		}
	}
	return end
}

// begin makes a flow from a text, byte for byte.
func (s *session) begin(ctx context.Context) error {
	text, err := readText(s.File)
	if err != nil {
		err = fmt.Errorf("--file: %w", err)
	}
	if err := errors.Join(err, s.check(ctx, cmp.Or(text, "…"))); err != nil {
		return err
	}
	name := s.Flow
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(s.File), filepath.Ext(s.File))
	}
	create := &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: name}, RequestId: uuid.NewString()}
	add := &flowstorev1.AddNodeRequest{Source: written(text), SetCurrent: true, RequestId: uuid.NewString()}
	var node string
	err = s.patiently(ctx, func() error {
		flow, err := s.flows.CreateFlow(ctx, create)
		if err != nil {
			return err
		}
		add.Flow = flow.Name
		added, err := s.flows.AddNode(ctx, add)
		node = added.GetNode().GetName()
		return err
	})
	if err != nil {
		return err
	}
	s.flow = add.Flow
	s.stand(node, text)
	s.say("新しい作品 a new flow: 「%s」", name)
	s.say("続きは come back with: tsumugi write %s", s.flow)
	return nil
}

// check finds what the services would refuse, before anything is stored: the agent tries the text without a flow. What it
// finds in the request itself hides what promptbuilder has to say, so that one is asked for the prompt of a short text.
func (s *session) check(ctx context.Context, text string) error {
	q := s.request(s.usual)
	q.DryRun, q.Text = true, text
	err := s.patiently(ctx, func() error {
		stream, err := s.agents.GenerateNode(ctx, q)
		if err != nil {
			return err
		}
		e, err := stream.Recv()
		built := e.GetOpened().GetBuild()
		s.total.prompt(built)
		if cost := finding(built); cost != "" {
			s.say("試しの組み立て a prompt for trial: %s", cost)
		}
		return err
	})
	if e, ok := apierr.FromStatus(err); !ok || e.Code != codes.InvalidArgument {
		return s.plain(err)
	}
	build := q.Build
	build.Backend, build.Story, build.Body, build.LenientBody = q.Backend, q.Story, "…", true
	build.MaxTokens = q.Sampling.GetMaxTokens()
	unfit := s.patiently(ctx, func() error {
		_, err := s.prompts.BuildStory(ctx, build)
		return err
	})
	return once(s.plain(err), s.plain(unfit))
}

// written is a node with what a person wrote.
func written(text string) *flowstorev1.AddNodeRequest_NewNode {
	return &flowstorev1.AddNodeRequest_NewNode{NewNode: &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: text}}}}
}

// readText reads a text that may stand in a node.
func readText(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("the text cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no file with a text", path)
	case info.Size() > maxFile:
		return "", fmt.Errorf("%s has %d bytes; one text may have %d (4 MiB)", path, info.Size(), maxFile)
	}
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("the text cannot be read: %w", err)
	case len(text) == 0:
		return "", fmt.Errorf("%s is empty", path)
	}
	return string(text), checkText(path, text)
}

// checkText says in which line a text is not UTF-8.
func checkText(path string, text []byte) error {
	for line := 1; len(text) > 0; {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			return fmt.Errorf("%s is not UTF-8 (line %d): save it in UTF-8, or convert it with iconv", path, line)
		}
		if r == '\n' {
			line++
		}
		text = text[n:]
	}
	return nil
}

// errNoEditor says how to get one.
var errNoEditor = errors.New("エディタがありません no editor: set EDITOR, such as EDITOR=nano")
