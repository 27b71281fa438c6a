package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// severalReading is what one watcher of several answers has received so far.
type severalReading struct {
	each   map[int32]*reading
	stored map[string]*flowstorev1.Node
	failed int
	err    error
	leave  func()
	step   func() bool
}

// several calls GenerateNode for several answers.
func (w *world) several(q *agentv1.GenerateNodeRequest) *severalReading {
	one := w.generate(q)
	s := &severalReading{each: map[int32]*reading{}, stored: map[string]*flowstorev1.Node{}, err: one.err, leave: one.leave}
	s.step = func() bool {
		if s.err != nil {
			return false
		}
		event, err := one.receive()
		if err != nil {
			s.err = err
			s.leave()
			return false
		}
		r := s.each[event.GetIndex()]
		if r == nil {
			r = &reading{}
			s.each[event.GetIndex()] = r
		}
		if r.fault = r.take(event); event.Index == nil {
			r.fault = fmt.Errorf("%v is about no answer", event)
		}
		if event.GetFailed() != nil {
			s.failed++
		}
		if n := event.GetStored().GetNode(); n != nil {
			s.stored[n.Name] = n
		}
		return true
	}
	return s
}

// until reads until it is enough.
func (s *severalReading) until(t *testing.T, enough func() bool) {
	t.Helper()
	for !enough() {
		if !s.step() {
			t.Fatalf("the stream ended early: %v", s.err)
		}
	}
}

// rest reads to the end, which must be a good one with so many answers.
func (s *severalReading) rest(t *testing.T, answers int) {
	t.Helper()
	for s.step() {
	}
	for n, r := range s.each {
		if r.fault != nil {
			t.Errorf("answer %d: %v", n, r.fault)
		}
	}
	if status := fmt.Sprint(s.err); status != "EOF" || len(s.stored) != answers || s.failed > 0 {
		t.Fatalf("%d answers are stored and %d failed, the stream ended with %s", len(s.stored), s.failed, status)
	}
}

// pieces is how many pieces of text came, of all answers.
func (s *severalReading) pieces() (n int) {
	for _, r := range s.each {
		n += r.pieces
	}
	return n
}

// Three ways to go on, and a node for each option of a dynamic prompt: every answer is a node behind the same parent.
func severalAnswers(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	root := w.say(t, flow, opening)
	q := short(flow, root)
	q.Variants, q.Sampling.Temperature = 3, proto.Float64(0.9)
	r := w.several(q)
	r.rest(t, 3)
	seeds := map[uint32]bool{}
	for name, n := range r.stored {
		seeds[n.Generation.Sampling.GetSeed()] = true
		if got := parents(w.flow(t, flow), name); !slices.Equal(got, []string{root}) {
			t.Errorf("%s continues %q", name, got)
		}
	}
	if !seeds[1] || !seeds[2] || !seeds[3] {
		t.Errorf("drawn with the seeds %v", seeds)
	}
	if last := r.each[2].stored; last.PromptTokensRead == nil || last.PromptTokensCached == nil {
		t.Error("the stream does not tell what the model server read")
	}

	q = short(flow, root)
	q.EveryOption, q.Text = true, "{雨|雪}が降り、{朝|夜}に、"
	r = w.several(q)
	r.rest(t, 4)
	for n, want := range []string{"雨 / 朝", "雨 / 夜", "雪 / 朝", "雪 / 夜"} {
		if got := r.each[int32(n)].opened; got.Branch != want || got.Answers != 4 {
			t.Errorf("branch %d of %d is named %q, want %q", n, got.Answers, got.Branch, want)
		}
	}
	q = short(flow, root)
	q.EveryOption, q.Text = true, "{1|2|3|4|5|6|7|8|9}{1|2}"
	r = w.several(q)
	for r.step() {
	}
	refusal{code: codes.InvalidArgument, reason: "INVALID_FIELD"}.in("every_option").check(t, r.err)

	q = short(flow, root)
	q.Build = &promptbuilderv1.BuildStoryRequest{Wrapping: &promptbuilderv1.Wrapping{Name: "nonsense"}, Seed: 1}
	one := w.generate(q)
	one.rest(t)
	refusal{code: codes.InvalidArgument, reason: "INVALID_FIELD"}.in("build.seed", "build.wrapping.name").check(t, one.err)
	q.Build.Seed = 0
	one = w.generate(q)
	one.rest(t)
	refusal{code: codes.InvalidArgument, reason: "INVALID_FIELD"}.in("build.wrapping.name").check(t, one.err)
	q.Build.Wrapping.Name = "gemma"
	if stop := w.generate(q).node(t).Generation.Sampling.Stop; !slices.Equal(stop, []string{"<start_of_turn>", "<end_of_turn>"}) {
		t.Errorf("the node tells the stop strings %q", stop)
	}
}

// Everything is killed in the middle of several answers, twice: the same request goes on, nothing is lost and nothing is
// made twice.
func severalKilled(t *testing.T, m mode) {
	const variants, steps = 3, 5
	for name, c := range map[string]struct {
		answers int
		change  func(q *agentv1.GenerateNodeRequest)
		// behind is the answer that an answer continues; -1 for the root.
		behind func(n int) int
	}{
		"variants": {variants, func(q *agentv1.GenerateNodeRequest) { q.Variants = variants }, func(int) int { return -1 }},
		"repeat":   {steps, func(q *agentv1.GenerateNodeRequest) { q.Repeat = steps }, func(n int) int { return n - 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, m.killable(), gemma(t, m))
			flow := w.newFlow(t)
			root := w.say(t, flow, opening)
			q := short(flow, root)
			q.Sampling.Temperature, q.Sampling.MaxTokens = proto.Float64(0.7), 40
			c.change(q)
			acknowledged := map[string]*flowstorev1.Node{}
			kill := func(enough func(r *severalReading) bool) {
				r := w.several(q)
				r.until(t, func() bool { return enough(r) })
				for name, node := range r.stored {
					acknowledged[name] = node
				}
				if err := w.stop(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				r.leave()
				w.start(t)
			}
			kill(func(r *severalReading) bool { return r.pieces() > 3 })
			kill(func(r *severalReading) bool { return len(r.stored) > 0 && r.pieces() > 0 })

			r := w.several(q)
			r.rest(t, c.answers)
			now := w.flow(t, flow)
			for n := range c.answers {
				name := "nodes/" + uuid.NewSHA1(uuid.MustParse(q.RequestId), []byte(strconv.Itoa(n))).String()
				node, parent := r.stored[name], root
				if b := c.behind(n); b >= 0 {
					parent = "nodes/" + uuid.NewSHA1(uuid.MustParse(q.RequestId), []byte(strconv.Itoa(b))).String()
				}
				if got := parents(now, name); !slices.Equal(got, []string{parent}) {
					t.Errorf("answer %d continues %q, want %s", n, got, parent)
				}
				if node.GetGeneration().GetSampling().GetSeed() != uint32(1+n) || r.each[int32(n)].stored.Node.Name != name {
					t.Errorf("answer %d is %v", n, node)
				}
				if was := acknowledged[name]; was != nil {
					if diff := cmp.Diff(was, node, protocmp.Transform()); diff != "" || !r.each[int32(n)].stored.Replayed {
						t.Errorf("answer %d was acknowledged, and is made again: %s", n, diff)
					}
				}
			}
			if len(now.Nodes) != c.answers+1 || len(acknowledged) == 0 {
				t.Errorf("the flow has %d nodes, %d were acknowledged before the kills", len(now.Nodes), len(acknowledged))
			}
		})
	}
}
