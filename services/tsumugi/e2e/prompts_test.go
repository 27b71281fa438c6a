package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// The golden prompts come out byte for byte over gRPC and REST, from two processes, whatever was built before.
func TestGoldenPrompts(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(testkit.Root(t), "services", "promptbuilder", "testdata", "prompts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]string{}
	for range 2 {
		w := open(t, oneProcess, nobody)
		rest := promptbuilderv1.NewPromptBuilderServiceClient(overREST{w})
		for line := range bytes.Lines(data) {
			var g struct {
				Case, RPC string
				Request   json.RawMessage
				Want      struct{ Text *string }
			}
			if err := json.Unmarshal(line, &g); err != nil {
				t.Fatal(err)
			}
			grpc, text := w.golden(t, w.prompts, g.RPC, g.Request)
			overREST, _ := w.golden(t, rest, g.RPC, g.Request)
			if diff := cmp.Diff(grpc, overREST, protocmp.Transform()); diff != "" {
				t.Errorf("%s differs over REST: %s", g.Case, diff)
			}
			if g.Want.Text != nil && text != *g.Want.Text {
				t.Errorf("%s: %s", g.Case, cmp.Diff(*g.Want.Text, text))
			}
			if before, again := first[g.Case]; again && before != text {
				t.Errorf("%s is another text in another process", g.Case)
			}
			first[g.Case] = text
		}
	}
}

// golden has a prompt built, and gives its text.
func (w *world) golden(t *testing.T, c promptbuilderv1.PromptBuilderServiceClient, rpc string, request []byte) (res proto.Message, text string) {
	t.Helper()
	read := func(req proto.Message) {
		t.Helper()
		if err := protojson.Unmarshal(request, req); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	switch rpc {
	case "BuildSystem":
		req := &promptbuilderv1.BuildSystemRequest{}
		read(req)
		var got *promptbuilderv1.BuildSystemResponse
		got, err = c.BuildSystem(w.ctx, req)
		res, text = got, got.GetText()
	case "BuildAgent":
		req := &promptbuilderv1.BuildAgentRequest{}
		read(req)
		var got *promptbuilderv1.BuildAgentResponse
		got, err = c.BuildAgent(w.ctx, req)
		res, text = got, got.GetSystem().GetText()
	default:
		req := &promptbuilderv1.BuildContextRequest{}
		read(req)
		var got *promptbuilderv1.BuildContextResponse
		got, err = c.BuildContext(w.ctx, req)
		res, text = got, got.GetText()
	}
	if err != nil {
		t.Fatal(err)
	}
	return res, text
}

// cases/systemprompt.md 2: the schema of a tool comes back byte for byte, and has one digest, over gRPC and REST, fifty times, from programs
// that were built apart.
func TestSystemprompt02Schemas(t *testing.T) {
	build(t)
	const schema = "{\"type\": \"object\", \"properties\": {\"f\":{}, \"b\": {\"type\":\"string\"},\n\"a\":{\"const\":\"<&\\u3042>\"},\"e\":{},\"d\":{\"default\":1.0},\"c\":{}},\"required\":[\"b\",\"a\"] }"
	req := &promptbuilderv1.BuildSystemRequest{Tools: []*promptbuilderv1.Tool{{Name: "search", SchemaJson: schema}, {Name: "read", SchemaJson: `{"b":1,"a":2}`}}}
	digests := map[string]bool{}
	for _, m := range []mode{oneProcess, fourProcesses} {
		w := open(t, m, nobody)
		for _, c := range []promptbuilderv1.PromptBuilderServiceClient{w.prompts, promptbuilderv1.NewPromptBuilderServiceClient(overREST{w})} {
			for range 50 {
				got, err := c.BuildSystem(w.ctx, req)
				if err != nil {
					t.Fatal(err)
				}
				if tools := got.GetTools(); len(tools) != 2 || tools[0].GetName() != "read" || tools[1].GetSchemaJson() != schema {
					t.Fatalf("%s: %v", m.name, tools)
				}
				digests[got.GetToolsSha256()] = true
			}
		}
	}
	if len(digests) != 1 {
		t.Errorf("%d digests of the same tools", len(digests))
	}
}
