package app_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/testing/protocmp"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func start(t *testing.T, data string) *app.App {
	t.Helper()
	a, err := app.New(t.Context(), app.Config{Data: data}, app.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func stop(t *testing.T, a *app.App) {
	t.Helper()
	if err := a.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func client(t *testing.T, a *app.App) flowstorev1.FlowStoreServiceClient {
	t.Helper()
	return flowstorev1.NewFlowStoreServiceClient(testkit.Serve(t, func(r grpc.ServiceRegistrar) { a.Register(r) }))
}

func newFlow(t *testing.T, c flowstorev1.FlowStoreServiceClient) string {
	t.Helper()
	f, err := c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "夜明けの町"}})
	if err != nil {
		t.Fatal(err)
	}
	return f.GetName()
}

// add puts a node into a flow, a new one or, by name, a stored one.
func add(c flowstorev1.FlowStoreServiceClient, flow, content, stored string, parents ...string) (string, error) {
	req := &flowstorev1.AddNodeRequest{Flow: flow, Parents: parents, SetCurrent: true}
	if stored != "" {
		req.Source = &flowstorev1.AddNodeRequest_Node{Node: stored}
	} else {
		req.Source = &flowstorev1.AddNodeRequest_NewNode{
			NewNode: &flowstorev1.Node{Texts: []*flowstorev1.Text{{Role: "user", Content: content}}},
		}
	}
	answer, err := c.AddNode(context.Background(), req)
	return answer.GetNode().GetName(), err
}

func path(t *testing.T, c flowstorev1.FlowStoreServiceClient, flow string) *flowstorev1.ListPathNodesResponse {
	t.Helper()
	answer, err := c.ListPathNodes(t.Context(), &flowstorev1.ListPathNodesRequest{Flow: flow})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// What was acknowledged is there after a restart, and a person finds it in the files.
func TestRestart(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "made", "for it")
	a := start(t, data)
	c := client(t, a)
	flow := newFlow(t, c)
	first, err := add(c, flow, "夜明け前の町は静かだった。", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add(c, flow, "鳥が鳴いた。", "", first); err != nil {
		t.Fatal(err)
	}
	before := path(t, c, flow)
	stop(t, a)
	for _, name := range []string{flow, first} {
		if id, err := uuid.Parse(name[strings.Index(name, "/")+1:]); err != nil || id.Version() != 7 {
			t.Errorf("%s is not named by a UUIDv7: %v", name, err)
		}
	}

	text, err := os.ReadFile(filepath.Join(data, "default", "nodes", "000", "000.xml"))
	if err != nil || !strings.Contains(string(text), "\n夜明け前の町は静かだった。\n") {
		t.Errorf("%v\n%s", err, text)
	}
	a = start(t, data)
	defer stop(t, a)
	if diff := cmp.Diff(before, path(t, client(t, a), flow), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	for _, check := range a.Ready(t.Context()) {
		if !check.OK {
			t.Errorf("%+v", check)
		}
	}
	// Another beginning, which is nobody's child, is one of the same flow.
	if _, err := add(client(t, a), flow, "朝だった。", ""); err != nil {
		t.Fatal(err)
	}
	got, err := client(t, a).GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: flow})
	if err != nil || len(got.GetNodes()) != 3 || len(got.GetEdges()) != 1 {
		t.Errorf("%v: a flow with two beginnings: %v", err, got)
	}
}

// One data folder has one owner; the second one learns which.
func TestDataFolderInUse(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	_, err := app.New(t.Context(), app.Config{Data: data}, app.Deps{})
	if err == nil || !strings.Contains(err.Error(), "the data folder "+data+" is in use by process ") {
		t.Errorf("the second owner: %v", err)
	}
	stop(t, a)
	stop(t, start(t, data))
}

func TestNewerFormat(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if err := os.MkdirAll(filepath.Join(data, "default"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "default", "config.yaml"), []byte("version: \"2.0\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := app.New(t.Context(), app.Config{Data: data}, app.Deps{})
	if err == nil || !strings.Contains(err.Error(), "use a newer program") {
		t.Errorf("got %v", err)
	}
}

// A file that a hand broke is told, in its place and by Ready, and is left as it is.
func TestBrokenFile(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	flow := newFlow(t, c)
	first, err := add(c, flow, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add(c, flow, "b", "", first); err != nil {
		t.Fatal(err)
	}
	stop(t, a)
	file := filepath.Join(data, "default", "nodes", "000", "000.xml")
	if err := os.WriteFile(file, []byte("<node"), 0o600); err != nil {
		t.Fatal(err)
	}
	a = start(t, data)
	c = client(t, a)
	nodes := path(t, c, flow).GetNodes()
	if len(nodes) != 2 || nodes[0].GetProblem() == "" || nodes[0].GetProblemPath() != "nodes/000/000.xml" || nodes[0].GetNode().GetName() != first || nodes[1].GetProblem() != "" {
		t.Errorf("the path: %v", nodes)
	}
	if checks := a.Ready(t.Context()); checks[1].OK || checks[1].Fatal || !strings.HasPrefix(checks[1].Message, "nodes/000/000.xml: ") {
		t.Errorf("ready: %+v", checks[1])
	}
	stop(t, a)
	if text, err := os.ReadFile(file); string(text) != "<node" || err != nil {
		t.Errorf("the broken file: %q, %v", text, err)
	}
}

// 1,000 pairs of callers that try to close a cycle at once: one of each pair is refused, with the way back.
func TestPairsThatCloseACycle(t *testing.T) {
	t.Parallel()
	const pairs, atOnce = 1000, 16
	a := start(t, t.TempDir())
	defer stop(t, a)
	c := client(t, a)
	flow := newFlow(t, c)
	todo := make(chan int)
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			for range todo {
				if refused := closeCycle(t, c, flow); refused != 1 {
					t.Errorf("%d of two edges against each other were refused", refused)
				}
			}
		})
	}
	for i := range pairs {
		todo <- i
	}
	close(todo)
	group.Wait()
	got, err := c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: flow})
	if err != nil || len(got.GetNodes()) != 2*pairs || len(got.GetEdges()) != pairs || len(got.GetWarnings()) > 0 {
		t.Errorf("%v: %d nodes, %d edges, %v", err, len(got.GetNodes()), len(got.GetEdges()), got.GetWarnings())
	}
}

// closeCycle adds two nodes and lets two callers connect them against each other at once.
func closeCycle(t *testing.T, c flowstorev1.FlowStoreServiceClient, flow string) (refused int) {
	one, errOne := add(c, flow, "a", "")
	two, errTwo := add(c, flow, "b", "")
	if err := errors.Join(errOne, errTwo); err != nil {
		t.Error(err)
		return 0
	}
	errs := make([]error, 2)
	var both sync.WaitGroup
	both.Go(func() { _, errs[0] = add(c, flow, "", one, two) })
	both.Go(func() { _, errs[1] = add(c, flow, "", two, one) })
	both.Wait()
	for _, err := range errs {
		if err == nil {
			continue
		}
		refused++
		e, ok := apierr.FromStatus(err)
		if !ok || e.Reason != "CYCLE" || (e.Metadata["path"] != one+","+two+","+one && e.Metadata["path"] != two+","+one+","+two) {
			t.Errorf("refused with %v, metadata %v", err, e)
		}
	}
	return refused
}

func TestConfig(t *testing.T) {
	t.Parallel()
	p := &config.Problems{}
	app.DefaultConfig().Check(p)
	if err := p.Err(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	app.Config{Rescan: time.Millisecond}.Check(p)
	err := p.Err()
	for _, want := range []string{"data: must name a folder", "rescan: must be 0, for never, or at least 1s, is 1ms"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no folder and no rest: %v, want %s", err, want)
		}
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	metrics := prometheus.NewRegistry()
	a, err := app.New(t.Context(), app.Config{Data: t.TempDir()}, app.Deps{Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	newFlow(t, client(t, a))
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		values[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	if values["tsumugi_flowstore_commits_total"] != 1 || values["tsumugi_flowstore_records_total"] != 1 || values["tsumugi_flowstore_log_syncs_total"] < 1 || values["tsumugi_flowstore_read_only_namespaces"] != 0 {
		t.Errorf("after one flow: %v", values)
	}
	if _, err := app.New(t.Context(), app.Config{Data: t.TempDir()}, app.Deps{Metrics: metrics}); err == nil {
		t.Error("two stores under one name in the metrics")
	}
}
