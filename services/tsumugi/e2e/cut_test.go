package e2e

import (
	"encoding/json"
	"net/http"
	"testing"

	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// slot is a place for a request in the model server.
type slot struct {
	Processing bool  `json:"is_processing"`
	Task       int64 `json:"id_task"` // number of its last request for an answer
}

// slots asks the model server what it is doing.
func (w *world) slots(t *testing.T, model string) (all []slot) {
	t.Helper()
	q, err := http.NewRequestWithContext(w.ctx, http.MethodGet, model+"/slots", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// idle waits until the model server works on nothing.
func (w *world) idle(t *testing.T, model string) {
	t.Helper()
	w.eventually(t, "the model server becomes idle", func() bool {
		for _, s := range w.slots(t, model) {
			if s.Processing {
				return false
			}
		}
		return true
	})
}

// working says whether the model server works on an answer.
func (w *world) working(t *testing.T, model string) bool {
	t.Helper()
	for _, s := range w.slots(t, model) {
		if s.Processing {
			return true
		}
	}
	return false
}

// kept holds the node of an answer that was cut to what was received, and the end of the stream to want. The answer's own
// node is that of a person's cancel: after every other end it is still free for the whole.
func (w *world) kept(t *testing.T, r *reading, want refusal, finish string) {
	t.Helper()
	r.rest(t)
	node := keptIn(r.err)
	want.metadata = map[string]string{"generation": r.opened.Generation}
	want.check(t, r.err)
	if own := node == "nodes/"+r.opened.Generation[len("generations/"):]; own != (finish == "cancelled") {
		t.Errorf("%s is kept in %s", r.opened.Generation, node)
	}
	stored := w.node(t, node)
	if got := answer(stored); got != r.text || r.text == "" {
		t.Errorf("the node holds %q, received was %q", got, r.text)
	}
	if got := stored.GetGeneration(); got.GetFinishReason() != finish || got.GetError() == "" {
		t.Errorf("the node says %q, %q; want %q and why", got.GetFinishReason(), got.GetError(), finish)
	}
}

// Whoever cancels, over gRPC or REST, keeps what was written so far, and the model server is free at once.
func cancelled(t *testing.T, m mode) {
	model := gemma(t, m)
	w := open(t, m, model)
	flow := w.newFlow(t)
	for name, cancel := range map[string]func(generation string) *agentv1.Generation{
		"gRPC": func(generation string) *agentv1.Generation {
			g, err := w.agents.CancelGeneration(w.ctx, &agentv1.CancelGenerationRequest{Name: generation})
			if err != nil {
				t.Fatal(err)
			}
			return g
		},
		"REST": func(generation string) *agentv1.Generation {
			g := &agentv1.Generation{}
			w.post(t, "/v1/"+generation+":cancelGeneration", &agentv1.CancelGenerationRequest{}).into(t, g)
			return g
		},
	} {
		r := w.generate(counting(flow, long))
		r.upto(t, 3)
		if !w.working(t, model) {
			t.Fatalf("%s: the model server is not working", name)
		}
		g := cancel(r.opened.Generation)
		if g.State != agentv1.Generation_STATE_CANCELLED || g.FinishReason != "cancelled" || g.Node == "" {
			t.Errorf("%s: the generation is %v", name, g)
		}
		w.kept(t, r, refusal{code: codes.Canceled, reason: "GENERATION_CANCELLED"}, "cancelled")
		w.idle(t, model)
		if again := cancel(r.opened.Generation); again.FinishReason != "cancelled" || again.Node != g.Node {
			t.Errorf("%s: cancelled twice it is %v", name, again)
		}
	}
	if n := len(w.flow(t, flow).Nodes); n != 2 {
		t.Errorf("the flow has %d nodes; want 2", n)
	}
}

// A client that leaves ends its generation, over gRPC and SSE, unless it asked for the opposite.
func left(t *testing.T, m mode) {
	model := gemma(t, m)
	w := open(t, m, model)
	flow := w.newFlow(t)
	for name, begin := range map[string]func(*agentv1.GenerateNodeRequest) *reading{
		"gRPC": w.generate,
		"SSE":  func(q *agentv1.GenerateNodeRequest) *reading { return w.generateOver(t, sse, q) },
	} {
		r := begin(counting(flow, long))
		r.upto(t, 3)
		r.leave()
		g := w.ended(t, r.opened.Generation)
		if g.State != agentv1.Generation_STATE_CANCELLED || g.FinishReason != "disconnected" {
			t.Fatalf("%s: the generation is %v", name, g)
		}
		// More may have come than the client read before it left.
		if got := answer(w.node(t, g.Node)); len(got) < len(r.text) || got[:len(r.text)] != r.text {
			t.Errorf("%s: the node holds %q, received was %q", name, got, r.text)
		}
		w.idle(t, model)
	}
	q := counting(flow, 150)
	q.OnDisconnect = agentv1.OnDisconnect_ON_DISCONNECT_CONTINUE
	r := w.generate(q)
	r.upto(t, 3)
	r.leave()
	whole := w.watch(r.opened.Generation, 0)
	node := whole.node(t)
	if g := node.GetGeneration(); whole.text != answer(node) || g.GetFinishReason() != "length" || g.GetAnswerTokens() != 150 {
		t.Errorf("the answer that went on is %q, %v", whole.text, g)
	}
	if n := len(w.flow(t, flow).Nodes); n != 3 {
		t.Errorf("the flow has %d nodes; want 3", n)
	}
}

// ended waits for the end of a generation.
func (w *world) ended(t *testing.T, name string) (g *agentv1.Generation) {
	t.Helper()
	w.eventually(t, "the generation ends", func() bool {
		g = w.generation(t, name)
		return g.State != agentv1.Generation_STATE_RUNNING
	})
	return g
}

// Others watch an answer while it is written: from the beginning, from where they were, over gRPC and SSE. Everybody
// ends with the same bytes.
func attached(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	q := counting(flow, 200)
	r := w.generate(q)
	r.upto(t, 3)

	elsewhere := *w // another client
	elsewhere.agents = agentv1.NewAgentServiceClient(w.dial(t, w.agent))
	generation := r.opened.Generation
	watchers := map[string]struct {
		reading *reading
		had     string
	}{
		"WatchGeneration, where the first is": {elsewhere.watch(generation, r.last), r.text},
		"WatchGeneration, from the beginning": {elsewhere.watch(generation, 0), ""},
		"the same request":                    {elsewhere.generate(q), ""},
		"SSE with Last-Event-ID":              {elsewhere.watchOver(generation, r.last), r.text},
		"the same request over SSE":           {elsewhere.generateOver(t, sse, q), ""},
	}
	for name, other := range watchers { // while it is written
		if !other.reading.step() || other.reading.opened == nil {
			t.Fatalf("%s: %v", name, other.reading.err)
		}
	}
	if g := w.generation(t, generation); g.State != agentv1.Generation_STATE_RUNNING {
		t.Fatalf("the answer ended before it was watched: %v", g)
	}
	node := r.node(t)
	for name, other := range watchers {
		if got := other.reading.node(t); got.Name != node.Name || other.had+other.reading.text != answer(node) || other.reading.stored.Replayed {
			t.Errorf("%s: %s with %q; want %s with %q", name, got.Name, other.had+other.reading.text, node.Name, answer(node))
		}
	}
	if r.text != answer(node) {
		t.Errorf("the first watcher has %q; want %q", r.text, answer(node))
	}
	beyond := w.watch(generation, r.last+1)
	beyond.rest(t)
	refusal{code: codes.OutOfRange, reason: "EVENT_OUT_OF_RANGE", metadata: map[string]string{"last": ""}}.in("after").check(t, beyond.err)
	if n := len(w.flow(t, flow).Nodes); n != 1 {
		t.Errorf("the flow has %d nodes; want 1", n)
	}
}
