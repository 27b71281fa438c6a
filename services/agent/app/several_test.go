package app_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// several reads the answers of a request, by their index.
func (r *rig) several(q *agentv1.GenerateNodeRequest) (each map[int32]*reading, failed map[int32]*agentv1.Failed, why *apierr.Error) {
	r.Helper()
	s, err := r.agent.GenerateNode(r.Context(), q)
	if err != nil {
		r.Fatal(err)
	}
	each, failed = map[int32]*reading{}, map[int32]*agentv1.Failed{}
	for {
		e, err := s.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				why, _ = apierr.FromStatus(err)
			}
			return each, failed, why
		}
		if e.Index == nil {
			r.Fatalf("%v is about no answer", e)
		}
		n := e.GetIndex()
		if each[n] == nil {
			each[n] = &reading{}
		}
		got := each[n]
		got.text += e.GetText().GetText()
		if o := e.GetOpened(); o != nil {
			got.opened = o
		}
		if st := e.GetStored(); st != nil {
			got.stored = st
		}
		if f := e.GetFailed(); f != nil {
			failed[n] = f
		}
	}
}

func TestEveryEventSaysWhichAnswerItIsAbout(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Reply: func(string) []string { return []string{"港", "へ"} }})
	for name, change := range map[string]func(*agentv1.GenerateNodeRequest){
		"variants":     func(q *agentv1.GenerateNodeRequest) { q.Variants = 2 },
		"every_option": func(q *agentv1.GenerateNodeRequest) { q.EveryOption = true },
	} {
		q := r.request("夜の")
		change(q)
		each, failed, err := r.several(q)
		if len(each) != 2 || len(failed) != 0 || err != nil {
			t.Fatalf("%s: %d answers, %v, %v", name, len(each), failed, err)
		}
		for n, got := range each {
			id := uuid.NewSHA1(uuid.MustParse(q.RequestId), []byte{byte('0' + n)}).String()
			if got.stored.GetNode().GetName() != "nodes/"+id || got.opened.Generation != "generations/"+id || got.opened.Answers != 2 || got.text != "港へ" {
				t.Errorf("%s %d: %+v", name, n, got)
			}
			picks, branch := []string{"story.note#1=2,0 雨"}, ""
			if name == "every_option" {
				branch = []string{"雨", "雪"}[n]
				picks = []string{"story.note#0=" + string('0'+n) + " " + branch}
			}
			if got.opened.Branch != branch || !slices.Equal(got.stored.Node.Generation.Picks, picks) {
				t.Errorf("%s %d: branch %q, picks %q", name, n, got.opened.Branch, got.stored.Node.Generation.Picks)
			}
		}
	}
	asked := map[promptbuilderv1.Sampler]int{}
	for _, b := range r.prompts.builds {
		asked[b.Sampler]++
	}
	if asked[promptbuilderv1.Sampler_SAMPLER_ALL] != 1 || asked[promptbuilderv1.Sampler_SAMPLER_UNSPECIFIED] != 3 {
		t.Errorf("built with the samplers %v", asked)
	}
}

func TestAChainTakesItsPicksAlong(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Reply: func(string) []string { return []string{"港"} }})
	r.flows.grows = true
	q := r.request("夜の")
	q.Repeat = 3
	q.Build = &promptbuilderv1.BuildStoryRequest{Sampler: promptbuilderv1.Sampler_SAMPLER_CYCLIC}
	each, _, err := r.several(q)
	if err != nil || len(each) != 3 {
		t.Fatalf("%d answers, %v", len(each), err)
	}
	for n, b := range r.prompts.builds[1:] {
		if len(b.Picks) != 1 || b.Picks[0].Field != "story.note" || b.Picks[0].Group != 1 || !slices.Equal(b.Picks[0].Options, []int32{2, 0}) || b.Picks[0].Text != "雨" || b.Sampler != q.Build.Sampler {
			t.Errorf("step %d is built from %v", n+1, b)
		}
	}
	for n, add := range r.flows.added()[1:] {
		if want := each[int32(n)].stored.Node.Name; len(add.Parents) != 1 || add.Parents[0] != want {
			t.Errorf("step %d is behind %v, want %s", n+1, add.Parents, want)
		}
	}
}

func TestAnAnswerThatFailsIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Reply: func(string) []string { return []string{"港"} }})
	r.flows.fail = []error{apierr.New(codes.NotFound, "FLOW_NOT_FOUND", "it went away", "flow", r.flows.flow)}
	q := r.request("夜の")
	q.Variants = 3
	q.Sampling = &flowstorev1.Sampling{Seed: proto.Uint32(1)}
	each, failed, err := r.several(q)
	if len(each) != 3 || len(failed) != 1 || err == nil || err.Reason != "NOT_STORED" {
		t.Fatalf("%d answers, failed %v, %v", len(each), failed, err)
	}
	for n, f := range failed {
		if f.Reason != "NOT_STORED" || f.Message == "" || each[n].stored != nil {
			t.Errorf("answer %d: %v", n, f)
		}
	}
	if len(r.flows.added()) != 2 {
		t.Errorf("%d nodes; want 2", len(r.flows.added()))
	}
}

// TestRepeatAfterAGracefulStop: the same request makes what is missing, and what was cut anew.
func TestRepeatAfterAGracefulStop(t *testing.T) {
	t.Parallel()
	r := newRig(t, llmtest.Options{Stepped: true, Reply: func(string) []string { return []string{"港", "へ"} }})
	r.flows.grows = true
	q := r.request("夜の")
	q.Repeat = 4
	s, err := r.agent.GenerateNode(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 4 { // the first answer, and a piece of the second
			r.model.Step(t)
		}
	}()
	for {
		e, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if e.GetIndex() == 1 && e.GetText() != nil {
			break
		}
	}
	r.server.Drain()
	for err == nil {
		_, err = s.Recv()
	}
	if why, _ := apierr.FromStatus(err); why == nil || why.Reason != "DRAINING" {
		t.Errorf("the stop ends with %v", err)
	}
	after := newRig(t, llmtest.Options{Reply: func(string) []string { return []string{"港", "へ"} }})
	step := func(n string) string {
		return "nodes/" + uuid.NewSHA1(uuid.MustParse(q.RequestId), []byte(n)).String()
	}
	after.flows.flow, after.flows.nodes, after.flows.path, after.flows.grows = r.flows.flow, r.flows.nodes, r.flows.path, true
	for range 2 {
		each, failed, why := after.several(q)
		if len(each) != 4 || len(failed) != 0 || why != nil {
			t.Fatalf("%d answers, failed %v, %v", len(each), failed, why)
		}
		if n := each[1].stored.GetNode(); n.Texts[len(n.Texts)-1].Content != "港へ" || n.Generation.FinishReason != "stop" || n.Name != step("1") {
			t.Errorf("the answer that was cut is %v", n)
		}
	}
	if n := after.flows.added(); len(n) != 3 || n[0].Parents[0] != step("0") || n[1].Parents[0] != step("1") {
		t.Errorf("made again: %v", n)
	}
}
