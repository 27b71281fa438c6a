package transport_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

const conversation = `{"conversation_id":"c","title":"n","current_node":"a","mapping":{
	"u":{"parent":null,"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["問い"]}}},
	"s":{"parent":"u","message":{"author":{"role":"system"},"content":{"content_type":"text","parts":[""]}}},
	"a":{"parent":"s","message":{"author":{"role":"assistant"},"content":{"content_type":"text","parts":["答え"]},"metadata":{"model_slug":"m"}}}}}`

// importing sends a file in chunks of a few bytes.
func importing(ctx context.Context, c flowstorev1.FlowStoreServiceClient, options *flowstorev1.ImportOptions, file string) (*flowstorev1.ImportFlowsResponse, error) {
	stream, err := c.ImportFlows(ctx)
	if err != nil {
		return nil, err
	}
	if options != nil {
		err = stream.Send(&flowstorev1.ImportFlowsRequest{Part: &flowstorev1.ImportFlowsRequest_Options{Options: options}})
	}
	for len(file) > 0 && err == nil { // io.EOF: the answer says why it takes no more
		n := min(7, len(file))
		err = stream.Send(&flowstorev1.ImportFlowsRequest{Part: &flowstorev1.ImportFlowsRequest_Chunk{Chunk: []byte(file[:n])}})
		file = file[n:]
	}
	return stream.CloseAndRecv()
}

// exporting reads an export to its end.
func exporting(stream grpc.ServerStreamingClient[flowstorev1.ExportFlowsResponse], err error) (string, error) {
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all.String(), nil
		}
		if err != nil {
			return "", err
		}
		all.Write(m.GetChunk())
	}
}

func TestImportAndExport(t *testing.T) {
	t.Parallel()
	c := serve(t)
	file := "[" + conversation + `,{"id":"x"}]`
	for _, dry := range []bool{true, false} {
		got := must[*flowstorev1.ImportFlowsResponse](t)(importing(t.Context(), c, &flowstorev1.ImportOptions{DryRun: dry}, file))
		if len(got.GetFailures()) != 1 || got.GetFailures()[0].GetId() != "x" || got.GetFailures()[0].GetReason() == "" {
			t.Fatalf("%v", got)
		}
		got.Failures = nil
		same(t, &flowstorev1.ImportFlowsResponse{
			Flows: &flowstorev1.ImportCount{Imported: 1}, Nodes: &flowstorev1.ImportCount{Imported: 1},
			Left: []*flowstorev1.ImportLeft{{Kind: "system", Count: 1}}, Failed: 1,
		}, got)
	}
	flows := must[*flowstorev1.ListFlowsResponse](t)(c.ListFlows(t.Context(), &flowstorev1.ListFlowsRequest{})).GetFlows()
	if len(flows) != 1 || flows[0].GetFlow().GetDisplayName() != "n" {
		t.Fatalf("%v", flows)
	}
	text, err := exporting(c.ExportFlows(t.Context(), &flowstorev1.ExportFlowsRequest{Flows: []string{flows[0].GetFlow().GetName()}}))
	if err != nil || strings.Count(text, "\n") != 4 || !strings.Contains(text, `"content":"答え"`) || !strings.HasSuffix(text, `{"end":{"flows":1,"nodes":1,"problems":0}}`+"\n") {
		t.Errorf("%s, %v", text, err)
	}
	there := serve(t)
	must[*flowstorev1.ImportFlowsResponse](t)(importing(t.Context(), there, &flowstorev1.ImportOptions{Format: flowstorev1.ImportFormat_IMPORT_FORMAT_TSUMUGI}, text))
	again, err := exporting(there.ExportFlows(t.Context(), &flowstorev1.ExportFlowsRequest{}))
	if err != nil || again != text {
		t.Errorf("%v: %s\nwant %s", err, again, text)
	}
}

// A node that fills many chunks comes whole, in chunks that every client takes.
func TestExportInChunks(t *testing.T) {
	t.Parallel()
	c := serve(t)
	must[*flowstorev1.Node](t)(c.CreateNode(t.Context(), &flowstorev1.CreateNodeRequest{Node: said(strings.Repeat("夜", 1_200_000))}))
	stream, err := c.ExportFlows(t.Context(), &flowstorev1.ExportFlowsRequest{})
	for n := 0; ; n++ {
		if err != nil {
			t.Fatal(err)
		}
		var m *flowstorev1.ExportFlowsResponse
		if m, err = stream.Recv(); errors.Is(err, io.EOF) {
			if n != 4 {
				t.Errorf("%d chunks", n)
			}
			return
		}
		if len(m.GetChunk()) > 1<<20 {
			t.Errorf("a chunk of %d bytes", len(m.GetChunk()))
		}
	}
}

func TestImportsAndExportsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := serve(t)
	options := &flowstorev1.ImportFlowsRequest{Part: &flowstorev1.ImportFlowsRequest_Options{Options: &flowstorev1.ImportOptions{}}}
	twice := func() error {
		stream, err := c.ImportFlows(t.Context())
		if err == nil {
			err = errors.Join(stream.Send(options), stream.Send(options))
		}
		if err != nil {
			return err
		}
		_, err = stream.CloseAndRecv()
		return err
	}
	_, unknown := importing(t.Context(), c, &flowstorev1.ImportOptions{Format: 99}, "[]")
	_, none := importing(t.Context(), c, nil, "")
	_, text := importing(t.Context(), c, nil, "Dear diary")
	_, wrong := exporting(c.ExportFlows(t.Context(), &flowstorev1.ExportFlowsRequest{Flows: []string{"", "x", "flows/" + id(1), "flows/" + strings.ToUpper(id(1))}}))
	_, many := exporting(c.ExportFlows(t.Context(), &flowstorev1.ExportFlowsRequest{Flows: make([]string, 1001)}))
	_, missing := exporting(c.ExportFlows(t.Context(), &flowstorev1.ExportFlowsRequest{Flows: []string{"flows/" + id(1), "flows/" + id(2)}}))
	for name, tt := range map[string]struct {
		err    error
		want   string
		fields []string
	}{
		"options twice": {twice(), "INVALID_FIELD", []string{"options"}}, "format": {unknown, "INVALID_FIELD", []string{"options.format"}},
		"nothing": {none, "UNREADABLE_IMPORT", []string{"chunk"}}, "no JSON": {text, "UNREADABLE_IMPORT", []string{"chunk"}},
		"names": {wrong, "INVALID_FIELD", []string{"flows[0]", "flows[1]", "flows[3]"}}, "too many": {many, "INVALID_FIELD", []string{"flows"}},
		"not there": {missing, "FLOW_NOT_FOUND", []string{"flows[0]", "flows[1]"}},
	} {
		e := refusal(t, tt.err)
		var fields []string
		for _, v := range e.Violations {
			fields = append(fields, v.Field)
		}
		if e.Reason != tt.want || strings.Join(fields, " ") != strings.Join(tt.fields, " ") {
			t.Errorf("%s: %s %v", name, e.Reason, e.Violations)
		}
	}
}
