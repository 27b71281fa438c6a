package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/localmodel"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// ownModel starts a model server that may be killed.
func ownModel(t *testing.T, port int) *localmodel.Server {
	t.Helper()
	s, err := localmodel.Start(t.Context(), localmodel.Options{Dir: testkit.ModelDir(t), Model: "gemma", Port: port})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// The model server dies in the middle: what it wrote is kept, the error says which server, and when it is back all goes on.
func modelDied(t *testing.T, m mode) {
	model := ownModel(t, 0)
	w := open(t, m, model.URL())
	flow := w.newFlow(t)
	r := w.generate(counting(flow, long))
	r.upto(t, 3)
	model.Kill()
	away := refusal{code: codes.Unavailable, reason: "BACKEND_UNAVAILABLE"}
	w.kept(t, r, away, "backend_error")
	if e := told(t, r.err); e.Metadata["address"] != model.URL() || e.Metadata["backend"] != "gemma" || e.RetryAfter <= 0 {
		t.Errorf("told was %v, again after %s", e.Metadata, e.RetryAfter)
	}
	before := w.flow(t, flow)
	away.metadata = map[string]string{"address": model.URL(), "backend": "gemma"}
	for _, q := range []*agentv1.GenerateNodeRequest{counting(flow, long), short(flow, before.Nodes[0].Node)} {
		r = w.generate(q)
		r.rest(t)
		away.check(t, r.err)
	}
	if diff := cmp.Diff(before, w.flow(t, flow), protocmp.Transform()); diff != "" {
		t.Errorf("what failed changed the flow: %s", diff)
	}
	address, err := url.Parse(model.URL())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	ownModel(t, port)
	w.generate(short(flow, before.Nodes[0].Node)).node(t)
}

// We are stopped in the middle: the streams say so and name the node, every process ends well, what nobody watched is kept
// too, and afterwards the node answers for the generation.
func stopped(t *testing.T, m mode) {
	w := open(t, m, gemma(t, m))
	flow := w.newFlow(t)
	q := counting(flow, long)
	r := w.generate(q)
	r.upto(t, 3)
	overSSE := w.watchOver(r.opened.Generation, 0)
	overSSE.upto(t, 3)
	unwatched := counting(flow, long)
	unwatched.OnDisconnect = agentv1.OnDisconnect_ON_DISCONNECT_CONTINUE
	gone := w.generate(unwatched)
	gone.upto(t, 3)
	gone.leave()

	var ends sync.WaitGroup
	for _, reader := range []*reading{r, overSSE} {
		ends.Go(func() { reader.rest(t) })
	}
	if err := w.stop(syscall.SIGTERM); err != nil {
		t.Errorf("the stop did not end well: %v", err)
	}
	ends.Wait()
	node := keptIn(r.err)
	draining := refusal{code: codes.Unavailable, reason: "DRAINING"}
	draining.check(t, overSSE.err)
	draining.metadata = map[string]string{"generation": r.opened.Generation}
	draining.check(t, r.err)
	if !strings.HasPrefix(r.text, overSSE.text) {
		t.Errorf("over SSE came %q, over gRPC %q", overSSE.text, r.text)
	}

	w.start(t)
	kept := w.node(t, node)
	if got := answer(kept); got != r.text || kept.GetGeneration().GetFinishReason() != "shutdown" {
		t.Errorf("the node holds %q (%s), received was %q", got, kept.GetGeneration().GetFinishReason(), r.text)
	}
	lone := w.node(t, w.generation(t, gone.opened.Generation).Node)
	if got := answer(lone); !strings.HasPrefix(got, gone.text) || lone.GetGeneration().GetFinishReason() != "shutdown" {
		t.Errorf("what nobody watched holds %q (%s), received was %q", got, lone.GetGeneration().GetFinishReason(), gone.text)
	}
	if g := w.generation(t, r.opened.Generation); g.State != agentv1.Generation_STATE_FAILED || g.Node != node || g.FinishReason != "shutdown" || g.Error == "" {
		t.Errorf("the generation is %v", g)
	}
	for name, again := range map[string]*reading{
		"WatchGeneration": w.watch(r.opened.Generation, r.last), "SSE": w.watchOver(r.opened.Generation, 2),
	} {
		again.rest(t)
		if diff := cmp.Diff(kept, again.stored.GetNode(), protocmp.Transform()); diff != "" || !again.stored.GetReplayed() || again.pieces > 0 {
			t.Errorf("%s: replayed %v, %d pieces, %s", name, again.stored.GetReplayed(), again.pieces, diff)
		}
		refusal{code: codes.Unavailable, reason: "DRAINING"}.check(t, again.err)
	}
	if got := len(w.flow(t, flow).Nodes); got != 2 {
		t.Errorf("the flow has %d nodes; want 2", got)
	}
	anew := w.generate(q)
	anew.upto(t, 3)
	if anew.opened.Generation != r.opened.Generation || anew.stored != nil {
		t.Errorf("the same request gives %v", anew.opened)
	}
	anew.leave()
}

// keptIn is the node that keeps what was received, as the end of a stream tells it.
func keptIn(err error) string {
	if e, ok := apierr.FromStatus(err); ok {
		return e.Metadata["node"]
	}
	return ""
}

// All four programs get SIGTERM at one moment, as when a machine goes down, and flowstore is gone before the agent has
// waited for load balancers: what was received is kept all the same.
func stoppedTogether(t *testing.T, m mode) {
	if m.name != fourProcesses.name {
		t.Skip("there is one process, which stops its parts in their order")
	}
	w := prepare(t, m, gemma(t, m))
	w.settings.delay = map[string]time.Duration{"flowstore": time.Second, "agent": 2 * time.Second}
	w.start(t)
	flow := w.newFlow(t)
	q := counting(flow, long)
	r := w.generate(q)
	r.upto(t, 3)
	var end sync.WaitGroup
	end.Go(func() { r.rest(t) })
	w.running = false
	if err := w.stopTogether(); err != nil {
		t.Errorf("the stop did not end well: %v", err)
	}
	end.Wait()
	refusal{
		code: codes.Unavailable, reason: "DRAINING", metadata: map[string]string{"generation": r.opened.Generation},
	}.check(t, r.err)
	node := keptIn(r.err)

	w.start(t)
	kept := w.node(t, node)
	if got := answer(kept); got != r.text || kept.GetGeneration().GetFinishReason() != "shutdown" {
		t.Errorf("the node holds %q (%s), received was %q", got, kept.GetGeneration().GetFinishReason(), r.text)
	}
}

// Everything is killed while writers write: whatever was acknowledged is there afterwards.
func killed(t *testing.T, m mode) {
	w := open(t, m.killable(), nobody)
	const writers, enough = 8, 200
	flows := make([]string, writers)
	acknowledged := make([][]*flowstorev1.AddNodeResponse, writers)
	for i := range flows {
		flows[i] = w.newFlow(t)
	}
	reached := make(chan struct{})
	var count atomic.Int32
	var all sync.WaitGroup
	for i, flow := range flows {
		all.Go(func() {
			var last []string
			for n := 0; ; n++ {
				added, err := w.flows.AddNode(w.ctx, &flowstorev1.AddNodeRequest{
					Flow: flow, Parents: last, SetCurrent: true,
					Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said(fmt.Sprintf("%d行目。\n", n))},
				})
				if err != nil {
					return // killed
				}
				acknowledged[i] = append(acknowledged[i], added)
				last = []string{added.Node.Name}
				if count.Add(1) == enough {
					close(reached)
				}
			}
		})
	}
	select {
	case <-reached:
	case <-w.ctx.Done():
		t.Fatal("nothing is written")
	}
	err := w.stop(syscall.SIGKILL)
	all.Wait()
	if err != nil {
		t.Fatal(err)
	}
	w.start(t)
	for i, flow := range flows {
		for _, added := range acknowledged[i] {
			if diff := cmp.Diff(added.Node, w.node(t, added.Node.Name), protocmp.Transform()); diff != "" {
				t.Errorf("%s: %s", added.Node.Name, diff)
			}
		}
		// One more may have been written whose answer was lost.
		n, path := len(acknowledged[i]), w.wholePath(t, flow, "")
		if len(path) != n && len(path) != n+1 {
			t.Fatalf("the path has %d nodes; acknowledged were %d", len(path), n)
		}
		for j, added := range acknowledged[i] {
			if got := path[j]; got.Node.Name != added.Node.Name || got.Index != added.Index || !cmp.Equal(got.Parents, added.Parents) {
				t.Errorf("node %d on the path is %v; want %v", j, got, added)
			}
		}
	}
	w.restart(t) // what was replayed is not replayed again
	if got := len(w.wholePath(t, flows[0], "")); got < len(acknowledged[0]) {
		t.Errorf("after another start the path has %d nodes; acknowledged were %d", got, len(acknowledged[0]))
	}
}

// wholePath reads the path to a node, or to the current one, page by page.
func (w *world) wholePath(t *testing.T, flow, node string) (all []*flowstorev1.PathNode) {
	t.Helper()
	q := &flowstorev1.ListPathNodesRequest{Flow: flow, Node: node, PageSize: 7}
	for {
		page, err := w.flows.ListPathNodes(w.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Nodes...)
		if q.PageToken = page.NextPageToken; q.PageToken == "" {
			return all
		}
	}
}

// nobody is an address on which no server is, and on which none of the tests beside can come to be: free ports are larger.
const nobody = "http://127.0.0.1:1"

// Without a model server everything starts and says what is missing; what needs none works.
func modelAbsent(t *testing.T, m mode) {
	model := nobody
	w := open(t, m, model)
	missing := false
	for _, admin := range w.admin {
		status, checks := w.readyz(t, admin)
		if status != http.StatusOK {
			t.Errorf("/readyz answers %d: %v", status, checks)
		}
		for _, c := range checks {
			if c.OK != (c.Name != "backend gemma") {
				t.Errorf("/readyz says %+v", c)
			}
			missing = missing || c.Name == "backend gemma" && strings.Contains(c.Message, model)
		}
	}
	if !missing {
		t.Errorf("no /readyz says that the model server at %s is missing", model)
	}

	flow := w.newFlow(t)
	root := w.say(t, flow, opening)
	before := w.flow(t, flow)
	away := refusal{code: codes.Unavailable, reason: "BACKEND_UNAVAILABLE", metadata: map[string]string{"address": model, "backend": "gemma"}}
	for _, r := range []*reading{w.generate(short(flow, root)), w.generate(counting(flow, 5)), w.generateOver(t, sse, short(flow, root))} {
		r.rest(t)
		away.check(t, r.err)
	}
	_, err := w.prompts.BuildStory(w.ctx, &promptbuilderv1.BuildStoryRequest{Body: opening})
	away.check(t, err)
	a := w.post(t, "/v1/prompts:countTokens", &promptbuilderv1.CountTokensRequest{Texts: []string{"夜"}})
	away.check(t, a.err())
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("over REST: %d, %v", a.status, a.header)
	}
	if diff := cmp.Diff(before, w.flow(t, flow), protocmp.Transform()); diff != "" {
		t.Errorf("what failed changed the flow: %s", diff)
	}
}

// check is one check of /readyz.
type check struct {
	Name    string
	OK      bool
	Message string
}

func (w *world) readyz(t *testing.T, admin string) (status int, checks []check) {
	t.Helper()
	q, err := http.NewRequestWithContext(w.ctx, http.MethodGet, "http://"+admin+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	var body struct{ Checks []check }
	if err := errors.Join(err, json.Unmarshal(text, &body)); err != nil || len(body.Checks) == 0 {
		t.Fatalf("%v in %s", err, text)
	}
	return r.StatusCode, body.Checks
}
