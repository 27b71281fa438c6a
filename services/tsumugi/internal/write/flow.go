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

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// maxFile is how many bytes a text of a node may have.
const maxFile = 4 << 20

// open finds the flow, or begins it, and the place to go on from. The error is everything that is wrong, also with the
// options, of which wrong is what was found before; nothing is stored then.
func (s *session) open(ctx context.Context, wrong error) error {
	text, err := s.look(ctx, wrong)
	if err != nil || s.File == "" {
		return err
	}
	return s.plain(s.begin(ctx, text))
}

// look reads what the session begins with, and gives the text of a new flow. Ctrl-C ends it.
func (s *session) look(ctx context.Context, wrong error) (text string, err error) {
	ctx, leave := s.untilInterrupted(ctx)
	defer leave()
	switch {
	case s.File != "":
		if text, err = readText(s.File); err != nil {
			err = fmt.Errorf("--file: %w", err)
		}
	case s.Flow != "":
		err = s.plain(s.find(ctx))
	}
	if s.File == "" && wrong == nil && err == nil {
		return "", nil
	}
	return text, once(wrong, err, s.check(ctx, cmp.Or(text, "…")))
}

// untilInterrupted is a context that Ctrl-C ends. leave it.
func (s *session) untilInterrupted(ctx context.Context) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.Interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-done
	}
}

// find finds the flow and the place to go on from.
func (s *session) find(ctx context.Context) error {
	var flow *flowstorev1.Flow
	err := s.patiently(ctx, func() (err error) {
		if s.flow, err = client.Resolve(ctx, s.flows, s.Flow); err != nil {
			return err
		}
		flow, err = s.flows.GetFlow(ctx, &flowstorev1.GetFlowRequest{Name: s.flow})
		return err
	})
	if missing := (*client.NoFlowError)(nil); errors.As(err, &missing) {
		return fmt.Errorf("%w\n`tsumugi write --file novel.txt NAME` begins a flow", err)
	}
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
func (s *session) begin(ctx context.Context, text string) error {
	name := s.Flow
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(s.File), filepath.Ext(s.File))
	}
	create := &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: name}, RequestId: uuid.NewString()}
	add := &flowstorev1.AddNodeRequest{Source: written(text), SetCurrent: true, RequestId: uuid.NewString()}
	var node string
	err := s.patiently(ctx, func() error {
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
	s.comeBack()
	return nil
}

// check finds what the services would refuse, before anything is stored: the agent tries the text without a flow.
func (s *session) check(ctx context.Context, text string) error {
	q := s.request(s.usual)
	q.Flow, q.Parent, q.DryRun, q.Text = "", "", true, text
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
	return s.plain(err)
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
	if err := checkText(path, text); err != nil {
		return "", err
	}
	return string(text), nil
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
