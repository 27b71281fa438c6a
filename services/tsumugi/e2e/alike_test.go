package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// teller does one thing after the other with a client, and tells what came of it in words that do not depend on how it asked.
type teller struct {
	*testing.T
	*world
	c    flowstorev1.FlowStoreServiceClient
	told []string
}

func (t *teller) tell(format string, args ...any) {
	t.told = append(t.told, fmt.Sprintf(format, args...))
}

// refused tells the reason of a refusal.
func (t *teller) refused(_ any, err error) {
	t.Helper()
	got := told(t.T, err)
	t.tell("%v %s", got.Code, got.Reason)
}

func good[M proto.Message](t *teller) func(M, error) M {
	t.Helper()
	return func(m M, err error) M {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// alike has the same done over gRPC and over REST, each in a world of its own: both are told what is wanted.
func alike(t *testing.T, m mode, do func(t *teller), want ...string) {
	for _, side := range []string{"gRPC", "REST"} {
		t.Run(side, func(t *testing.T) {
			w := open(t, m, nobody)
			l := &teller{T: t, world: w, c: w.flows}
			if side == "REST" {
				l.c = flowstorev1.NewFlowStoreServiceClient(overREST{w})
			}
			do(l)
			if diff := cmp.Diff(want, l.told); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// chain makes a flow of nodes that follow each other, and gives its name and theirs.
func (t *teller) chain(texts ...string) (flow string, nodes []string) {
	t.Helper()
	flow = good[*flowstorev1.Flow](t)(t.c.CreateFlow(t.ctx, &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "夜の駅"}})).GetName()
	var parents []string
	for _, text := range texts {
		added := good[*flowstorev1.AddNodeResponse](t)(t.c.AddNode(t.ctx, &flowstorev1.AddNodeRequest{
			Flow: flow, Parents: parents, SetCurrent: true, Source: &flowstorev1.AddNodeRequest_NewNode{NewNode: said(text)},
		}))
		parents = []string{added.GetNode().GetName()}
		nodes = append(nodes, parents[0])
	}
	return flow, nodes
}

// path tells the texts on the path to the current node.
func (t *teller) path(flow string) {
	t.Helper()
	page := good[*flowstorev1.ListPathNodesResponse](t)(t.c.ListPathNodes(t.ctx, &flowstorev1.ListPathNodesRequest{Flow: flow}))
	var texts []string
	for _, on := range page.GetNodes() {
		texts = append(texts, on.GetNode().GetTexts()[0].GetContent())
	}
	t.tell("path %s", strings.Join(texts, "|"))
}

// What is written is found, also by tags, and pages go on.
func searched(t *testing.T, m mode) {
	alike(t, m, func(t *teller) {
		for text, tags := range map[string][]string{"夜の駅で": {"夜", "Budget"}, "駅の夜明け & a=b": {"夜", "budget"}, "quick fix": nil} {
			n := said(text)
			n.Tags = tags
			good[*flowstorev1.Node](t)(t.c.CreateNode(t.ctx, &flowstorev1.CreateNodeRequest{Node: n}))
		}
		for _, query := range []string{"駅", `"& a=b"`, "QUI -夜", "tag:BUDGET", "存在しない言葉"} {
			var texts []string
			req := &flowstorev1.SearchNodesRequest{Query: query, PageSize: 1}
			for {
				page := good[*flowstorev1.SearchNodesResponse](t)(t.c.SearchNodes(t.ctx, req))
				for _, hit := range page.GetHits() {
					texts = append(texts, hit.GetNode().GetTexts()[0].GetContent())
				}
				if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
					slices.Sort(texts)
					t.tell("%d %s", page.GetTotalSize(), strings.Join(texts, "|"))
					break
				}
			}
		}
		for _, tag := range good[*flowstorev1.ListTagsResponse](t)(t.c.ListTags(t.ctx, &flowstorev1.ListTagsRequest{})).GetTags() {
			t.tell("%s %d", strings.ToLower(tag.GetTag()), tag.GetNodeCount())
		}
		t.refused(t.c.SearchNodes(t.ctx, &flowstorev1.SearchNodesRequest{Query: `"駅`}))
	}, "2 夜の駅で|駅の夜明け & a=b", "1 駅の夜明け & a=b", "1 quick fix", "2 夜の駅で|駅の夜明け & a=b", "0 ", "budget 2", "夜 2", "InvalidArgument INVALID_QUERY")
}

// What is deleted is in the trash and comes back; what is purged is nowhere, and does not come back.
func erased(t *testing.T, m mode) {
	alike(t, m, func(t *teller) {
		flow, nodes := t.chain("一", "二", "三の秘密")
		middle, last := nodes[1], nodes[2]
		t.refused(t.c.DeleteNode(t.ctx, &flowstorev1.DeleteNodeRequest{Name: middle}))
		t.refused(t.c.PurgeNode(t.ctx, &flowstorev1.PurgeNodeRequest{Name: middle, Reason: "頼まれた"}))
		good[*flowstorev1.DeleteNodeResponse](t)(t.c.DeleteNode(t.ctx, &flowstorev1.DeleteNodeRequest{Name: middle, Mode: flowstorev1.RemoveMode_REMOVE_MODE_SPLICE}))
		t.path(flow)
		t.refused(t.c.GetNode(t.ctx, &flowstorev1.GetNodeRequest{Name: middle}))
		bin := good[*flowstorev1.ListNodesResponse](t)(t.c.ListNodes(t.ctx, &flowstorev1.ListNodesRequest{Deleted: true}))
		t.tell("%d in the trash", len(bin.GetNodes()))
		good[*flowstorev1.Node](t)(t.c.UndeleteNode(t.ctx, &flowstorev1.UndeleteNodeRequest{Name: middle}))
		good[*flowstorev1.DeleteNodeResponse](t)(t.c.DeleteNode(t.ctx, &flowstorev1.DeleteNodeRequest{Name: last, Mode: flowstorev1.RemoveMode_REMOVE_MODE_SUBTREE}))
		stone := good[*flowstorev1.Tombstone](t)(t.c.PurgeNode(t.ctx, &flowstorev1.PurgeNodeRequest{Name: last, Reason: "頼まれた"}))
		t.tell("purged %t: %s", stone.GetName() == last, stone.GetReason())
		t.refused(t.c.UndeleteNode(t.ctx, &flowstorev1.UndeleteNodeRequest{Name: last}))
		for name, text := range t.everything() {
			if bytes.Contains(text, []byte("三の秘密")) {
				t.Errorf("%s has what was purged", name)
			}
		}
		good[*flowstorev1.Flow](t)(t.c.DeleteFlow(t.ctx, &flowstorev1.DeleteFlowRequest{Name: flow}))
		good[*flowstorev1.Flow](t)(t.c.UndeleteFlow(t.ctx, &flowstorev1.UndeleteFlowRequest{Name: flow}))
		t.path(flow)
	}, "FailedPrecondition NODE_IN_USE", "FailedPrecondition NOT_DELETED", "path 一|三の秘密", "NotFound DELETED", "1 in the trash", "purged true: 頼まれた",
		"FailedPrecondition PURGED", "path 一")
}

// everything gives the bytes of every file of the store.
func (t *teller) everything() map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(t.settings.data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[path], err = os.ReadFile(path)
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files: %v", len(all), err)
	}
	return all
}

// Half an answer is kept beside the whole one; what was done is undone and done again.
func splitAndUndone(t *testing.T, m mode) {
	alike(t, m, func(t *teller) {
		flow, nodes := t.chain("一", "👩‍👩‍👧は二を読んだ")
		half := good[*flowstorev1.AddNodeResponse](t)(t.c.SplitNode(t.ctx, &flowstorev1.SplitNodeRequest{
			Flow: flow, Node: nodes[1], TextIndex: proto.Int32(0), Offset: proto.Int32(7), SetCurrent: true,
		}))
		t.tell("kept %s", half.GetNode().GetTexts()[0].GetContent())
		t.path(flow)
		for range 2 {
			undone := good[*flowstorev1.UndoFlowResponse](t)(t.c.UndoFlow(t.ctx, &flowstorev1.UndoFlowRequest{Flow: flow}))
			t.tell("undone: %d nodes, %d and %d left", len(undone.GetFlow().GetNodes()), undone.GetUndoCount(), undone.GetRedoCount())
		}
		again := good[*flowstorev1.UndoFlowResponse](t)(t.c.RedoFlow(t.ctx, &flowstorev1.RedoFlowRequest{Flow: flow}))
		t.tell("done again: %d nodes, %d and %d left", len(again.GetFlow().GetNodes()), again.GetUndoCount(), again.GetRedoCount())
		t.path(flow)
		t.refused(t.c.SplitNode(t.ctx, &flowstorev1.SplitNodeRequest{Flow: flow, Node: nodes[1], TextIndex: proto.Int32(0), Offset: proto.Int32(99)}))
	}, "kept 👩\u200d👩\u200d👧は二", "path 一|👩\u200d👩\u200d👧は二", "undone: 2 nodes, 2 and 1 left", "undone: 1 nodes, 1 and 2 left",
		"done again: 2 nodes, 2 and 1 left", "path 一|👩\u200d👩\u200d👧は二を読んだ", "InvalidArgument INVALID_FIELD")
}

// What one store gives, another takes over: the same flows, and nothing twice.
func movedHouse(t *testing.T, m mode) {
	alike(t, m, func(t *teller) {
		const talk = `[{"conversation_id":"c","title":"旅","current_node":"a","mapping":{
			"u":{"parent":null,"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["どこへ"]}}},
			"a":{"parent":"u","message":{"author":{"role":"assistant"},"content":{"content_type":"text","parts":["海へ & 山へ"]}}}}},{"id":"broken"}]`
		for range 2 {
			r := t.bring(talk)
			t.tell("%d and %d nodes, failed %d", r.GetNodes().GetImported(), r.GetNodes().GetSkipped(), r.GetFailed())
		}
		out := t.export()
		t.tell("%d lines, with the text %t", strings.Count(out, "\n"), strings.Contains(out, "海へ & 山へ"))
		r := t.bring(out)
		t.tell("its own export: %d and %d nodes, failed %d", r.GetNodes().GetImported(), r.GetNodes().GetSkipped(), r.GetFailed())
	}, "1 and 0 nodes, failed 1", "0 and 1 nodes, failed 1", "4 lines, with the text true", "its own export: 0 and 1 nodes, failed 0")
}

func (t *teller) bring(file string) *flowstorev1.ImportFlowsResponse {
	t.Helper()
	stream, err := t.c.ImportFlows(t.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&flowstorev1.ImportFlowsRequest{Part: &flowstorev1.ImportFlowsRequest_Chunk{Chunk: []byte(file)}}); err != nil {
		t.Fatal(err)
	}
	return good[*flowstorev1.ImportFlowsResponse](t)(stream.CloseAndRecv())
}

func (t *teller) export() string {
	t.Helper()
	var all strings.Builder
	each(t, func(ctx context.Context) (grpc.ServerStreamingClient[flowstorev1.ExportFlowsResponse], error) {
		return t.c.ExportFlows(ctx, &flowstorev1.ExportFlowsRequest{})
	}, func(m *flowstorev1.ExportFlowsResponse) { all.Write(m.GetChunk()) })
	return all.String()
}

// each reads a stream to its end.
func each[M any](t *teller, call func(context.Context) (grpc.ServerStreamingClient[M], error), take func(*M)) {
	t.Helper()
	stream, err := call(t.ctx)
	for err == nil {
		var m *M
		if m, err = stream.Recv(); err == nil {
			take(m)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// What a hand broke is told, and mended where that is certain.
func mended(t *testing.T, m mode) {
	alike(t, m, func(t *teller) {
		t.chain("一")
		good[*flowstorev1.FlushStoreResponse](t)(t.c.FlushStore(t.ctx, &flowstorev1.FlushStoreRequest{}))
		file := filepath.Join(t.settings.data, "default", "nodes", "000", "000.xml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), "005.xml"), make([]byte, 2000), 0o600); err != nil {
			t.Fatal(err)
		}
		t.check()
		for _, apply := range []bool{false, true} {
			each(t, func(ctx context.Context) (grpc.ServerStreamingClient[flowstorev1.RepairStoreEvent], error) {
				return t.c.RepairStore(ctx, &flowstorev1.RepairStoreRequest{Apply: apply})
			}, func(e *flowstorev1.RepairStoreEvent) {
				if r := e.GetResult(); r != nil {
					t.tell("changed %d, left %d, copied %t", r.GetChanged(), r.GetLeft(), r.GetFolder() != "")
				}
			})
		}
		t.check()
	}, "KIND_NUL_FILE nodes/000/005.xml", "KIND_LINE_ENDS nodes/000/000.xml", "2 nodes, 1 flows", "changed 0, left 0, copied false",
		"changed 1, left 0, copied true", "KIND_NUL_FILE nodes/000/005.xml", "2 nodes, 1 flows")
}

func (t *teller) check() {
	t.Helper()
	each(t, func(ctx context.Context) (grpc.ServerStreamingClient[flowstorev1.CheckStoreEvent], error) {
		return t.c.CheckStore(ctx, &flowstorev1.CheckStoreRequest{})
	}, func(e *flowstorev1.CheckStoreEvent) {
		if f := e.GetFinding(); f != nil {
			t.tell("%v %s", f.GetKind(), f.GetPath())
		} else if r := e.GetResult(); r != nil {
			t.tell("%d nodes, %d flows", r.GetNodeFiles(), r.GetFlowFiles())
		}
	})
}
