package app_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// Each case of cases/flowstore.md is found by its number: a test TestFlowstoreNN... has it, or TestFlowstoreNNAndMM... both.
func TestEveryCaseHasATest(t *testing.T) {
	t.Parallel()
	testkit.EveryCaseHasATest(t, "flowstore", "services/flowstore")
}

// cases/flowstore.md 1, for the files: switching branches hides nothing and writes no node file.
func TestFlowstore01SwitchingWritesNoNode(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	defer stop(t, a)
	c := client(t, a)
	flow := newFlow(t, c)
	name := map[string]string{}
	for _, n := range []struct{ text, parent string }{{"A", ""}, {"B", "A"}, {"C", "B"}, {"D", "B"}} {
		var parents []string
		if n.parent != "" {
			parents = []string{name[n.parent]}
		}
		var err error
		if name[n.text], err = add(c, flow, n.text, "", parents...); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, c)
	before := nodeFiles(t, data)
	for _, step := range []struct{ to, want string }{{"C", "ABC"}, {"D", "ABD"}, {"C", "ABC"}} {
		if _, err := c.SetCurrentNode(t.Context(), &flowstorev1.SetCurrentNodeRequest{Flow: flow, Node: name[step.to]}); err != nil {
			t.Fatal(err)
		}
		got, err := c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: flow})
		if err != nil || len(got.GetNodes()) != 4 || len(got.GetEdges()) != 3 {
			t.Errorf("%v, %v", got, err)
		}
		text := ""
		for _, on := range path(t, c, flow).GetNodes() {
			text += on.GetNode().GetTexts()[0].GetContent()
		}
		if text != step.want {
			t.Errorf("the path to %s is %s", step.to, text)
		}
		flush(t, c)
	}
	if after := nodeFiles(t, data); len(before) != 4 || !maps.Equal(before, after) {
		t.Errorf("there were %v, there are %v", before, after)
	}
}

func flush(t *testing.T, c flowstorev1.FlowStoreServiceClient) {
	t.Helper()
	if _, err := c.FlushStore(t.Context(), &flowstorev1.FlushStoreRequest{}); err != nil {
		t.Fatal(err)
	}
}

// nodeFiles gives the text of each node file, with the time of its last change.
func nodeFiles(t *testing.T, data string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, info := range sizes(t, data) {
		if strings.HasPrefix(name, "default/nodes/") && strings.HasSuffix(name, ".xml") {
			found[name] = info.ModTime().String() + "\n" + string(readTree(t, data, strings.TrimPrefix(name, "default/")))
		}
	}
	return found
}

func readTree(t *testing.T, data, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "default", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// cases/flowstore.md 2, for the files: 50 writers under one node beside a client that saves the flow as it once was. That one is told
// the etag of now; memory, the flow's file and the index are the same after a restart.
func TestFlowstore02OldFlowBesideManyWriters(t *testing.T) {
	t.Parallel()
	const writers = 50
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	name := newFlow(t, c)
	root, err := add(c, name, "root", "")
	if err != nil {
		t.Fatal(err)
	}
	old, err := c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	written := make(chan struct{}, writers)
	for range writers {
		group.Go(func() {
			if _, err := add(c, name, "a", "", root); err != nil {
				t.Error(err)
			}
			written <- struct{}{}
		})
	}
	<-written
	old.DisplayName = "as it once was"
	save := &flowstorev1.UpdateFlowRequest{Flow: old, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"display_name"}}}
	_, err = c.UpdateFlow(t.Context(), save)
	if e, ok := apierr.FromStatus(err); !ok || e.Code != codes.Aborted || e.Metadata["current_etag"] == "" || e.Metadata["current_etag"] == old.GetEtag() {
		t.Errorf("the old flow was saved: %v", err)
	}
	group.Wait()
	before, err := c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	indexes := map[int32]bool{}
	for _, n := range before.GetNodes() {
		indexes[n.GetIndex()] = true
	}
	if len(indexes) != writers+1 || len(before.GetEdges()) != writers || before.GetDisplayName() == old.DisplayName {
		t.Errorf("%d indexes, %d edges, called %s", len(indexes), len(before.GetEdges()), before.GetDisplayName())
	}
	stop(t, a)
	a = start(t, data)
	defer stop(t, a)
	c = client(t, a)
	after, err := c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: name})
	if diff := cmp.Diff(before, after, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("%v: after a restart: %s", err, diff)
	}
	if rows := strings.Count(string(readTree(t, data, "nodes/index.tsv")), ".xml\t"); rows != writers+1 {
		t.Errorf("nodes/index.tsv has %d rows", rows)
	}
	if findings := check(t, c); len(findings) > 0 {
		t.Errorf("the tree and its indexes differ: %q", findings)
	}
}

// cases/flowstore.md 14, from the outside: byte order marks are read over, half a file is put aside, and its name is not used again.
func TestFlowstore14NewNodesBesideHalfAFile(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	flow := newFlow(t, c)
	whole, err := add(c, flow, "whole", "")
	if err != nil {
		t.Fatal(err)
	}
	half, err := add(c, flow, "half", "", whole)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, a)
	for _, name := range []string{"nodes/000/000.xml", "flows/000/000.yaml", "nodes/index.tsv"} {
		writeTree(t, data, name, append([]byte("\xef\xbb\xbf"), readTree(t, data, name)...))
	}
	torn := readTree(t, data, "nodes/000/001.xml")[:100]
	writeTree(t, data, "nodes/000/001.xml", torn)
	a = start(t, data)
	c = client(t, a)
	for range 2 {
		if _, err := add(c, flow, "new", "", whole); err != nil {
			t.Fatal(err)
		}
	}
	stop(t, a)
	if err := os.Remove(filepath.Join(data, "default", "nodes", "index.tsv")); err != nil {
		t.Fatal(err)
	}
	a = start(t, data)
	defer stop(t, a)
	c = client(t, a)
	n, err := c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: whole})
	if err != nil || n.GetTexts()[0].GetContent() != "whole" {
		t.Errorf("behind a byte order mark: %v, %v", n, err)
	}
	_, err = c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: half})
	if e, ok := apierr.FromStatus(err); !ok || e.Reason != "UNREADABLE_FILE" || e.Metadata["path"] != "nodes/000/001.xml" || !strings.Contains(e.Message, "ends in the middle") {
		t.Errorf("half a file: %v", err)
	}
	if !bytes.Equal(readTree(t, data, "nodes/000/001.xml"), torn) {
		t.Error("the torn file was changed")
	}
	for _, name := range []string{"nodes/000/002.xml", "nodes/000/003.xml"} {
		if !strings.Contains(string(readTree(t, data, name)), "\nnew\n") {
			t.Errorf("%s does not hold a new node", name)
		}
	}
	if checks := a.Ready(t.Context()); checks[1].OK || checks[1].Fatal || checks[1].Message != "nodes/000/001.xml: line 2: the file ends in the middle of an element" {
		t.Errorf("ready: %+v", checks[1])
	}
}

// cases/flowstore.md 19, from the outside: one edge is taken away and the list of flows is lost. The other edges are there, and the
// flow has its id and its time to the microsecond.
func TestFlowstore19DisconnectAndLoseTheIndex(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	flow := newFlow(t, c)
	var names, parents []string
	for _, text := range []string{"1", "2", "3", "4"} {
		name, err := add(c, flow, text, "", parents...)
		if err != nil {
			t.Fatal(err)
		}
		names, parents = append(names, name), []string{name}
	}
	before, err := c.DisconnectNodes(t.Context(), &flowstorev1.DisconnectNodesRequest{Flow: flow, Parent: names[2], Child: names[3]})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, a)
	if err := os.Remove(filepath.Join(data, "default", "flows", "index.tsv")); err != nil {
		t.Fatal(err)
	}
	a = start(t, data)
	defer stop(t, a)
	c = client(t, a)
	list, err := c.ListFlows(t.Context(), &flowstorev1.ListFlowsRequest{})
	if err != nil || len(list.GetFlows()) != 1 || list.GetFlows()[0].GetFlow().GetName() != flow ||
		!list.GetFlows()[0].GetFlow().GetUpdateTime().AsTime().Equal(before.GetUpdateTime().AsTime()) {
		t.Fatalf("%v, %v", list, err)
	}
	after, err := c.GetFlow(t.Context(), &flowstorev1.GetFlowRequest{Name: flow})
	if diff := cmp.Diff(before, after, protocmp.Transform()); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if edges := after.GetEdges(); len(after.GetNodes()) != 4 || len(edges) != 2 || edges[0].GetTo() != 2 || edges[1].GetTo() != 3 {
		t.Errorf("%v", after)
	}
}
