package transfer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/flowstoretest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "conversations.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

const claude = `{"uuid":"c","name":"夜話","chat_messages":[{"uuid":"1","sender":"human","text":"問い"},{"uuid":"2","sender":"assistant","text":"答え"}]}`

// What did not arrive is told, and the exit code says so; everything else arrives, also of the files behind.
func TestFlowstore10TheCommandTellsWhatDidNotArrive(t *testing.T) {
	t.Parallel()
	c := flowstoretest.Start(t)
	var out bytes.Buffer
	o := ImportOptions{Files: []string{file(t, "["+claude+`,{"uuid":"broken\u001b[2J"}]`), file(t, "Dear diary"), filepath.Join(t.TempDir(), "none.json"), "-"}, Format: "auto", Out: &out}
	for _, dry := range []bool{true, false} {
		out.Reset()
		o.DryRun, o.In = dry, strings.NewReader("["+claude+"]")
		var incomplete *IncompleteError
		if err := o.run(t.Context(), c); !errors.As(err, &incomplete) || incomplete.Failed != 3 || incomplete.ExitCode() != 2 {
			t.Errorf("%v", err)
		}
		for _, want := range []string{
			"flows: 1 new, 0 changed, 0 as they were", "! broken␛[2J: it is no conversation that can be read", "neither JSON", "none.json: cannot be read: no such file",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("without %q:\n%s", want, out.String())
			}
		}
		if got := strings.Contains(out.String(), "dry run"); got != dry {
			t.Errorf("dry run: %v\n%s", dry, out.String())
		}
	}
	if !strings.Contains(out.String(), "nodes: 0 new, 0 changed, 1 as they were") {
		t.Errorf("the same conversation again:\n%s", out.String())
	}
}

func TestExportIntoAFile(t *testing.T) {
	t.Parallel()
	c, there := flowstoretest.Start(t), flowstoretest.Start(t)
	var out bytes.Buffer
	if err := (ImportOptions{Files: []string{file(t, claude)}, Format: "claude", Out: &out}).run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	name := file(t, "an older export")
	if err := (ExportOptions{Flows: []string{"朝"}, File: name}).run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "no flow is called") {
		t.Errorf("%v", err)
	}
	if err := (ExportOptions{Flows: []string{"夜話"}, File: name}).run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := (ImportOptions{Files: []string{name}, Format: "tsumugi", Out: &out}).run(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := (ExportOptions{Out: &again}).run(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil || again.String() != string(text) {
		t.Errorf("%v: %s\nwant %s", err, again.String(), text)
	}
	if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// An export that fails leaves the older one as it is, and no half of a new one.
func TestAnExportThatFails(t *testing.T) {
	t.Parallel()
	name := file(t, "an older export")
	const gone = "flows/0192f000-0000-7000-8000-000000000001"
	if err := (ExportOptions{Flows: []string{gone}, File: name}).run(t.Context(), flowstoretest.Start(t)); err == nil {
		t.Error("no error")
	}
	text, err := os.ReadFile(name)
	left, _ := os.ReadDir(filepath.Dir(name))
	if err != nil || string(text) != "an older export" || len(left) != 1 {
		t.Errorf("%s, %v, %v", text, err, left)
	}
}

// exported is a flowstore whose export comes in chunks of n bytes.
type exported struct {
	flowstorev1.FlowStoreServiceClient
	grpc.ServerStreamingClient[flowstorev1.ExportFlowsResponse]
	text string
	n    int
}

func (e *exported) ExportFlows(context.Context, *flowstorev1.ExportFlowsRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[flowstorev1.ExportFlowsResponse], error) {
	return e, nil
}

func (e *exported) Recv() (*flowstorev1.ExportFlowsResponse, error) {
	chunk := e.text[:min(e.n, len(e.text))]
	if e.text = e.text[len(chunk):]; chunk == "" {
		return nil, io.EOF
	}
	return &flowstorev1.ExportFlowsResponse{Chunk: []byte(chunk)}, nil
}

// An export without what could not be read is kept, and is not taken for whole.
func TestAnExportThatIsNotWhole(t *testing.T) {
	t.Parallel()
	text := `{"tsumugi":{"version":1}}
{"node":{"id":"x","texts":[{"content":"{\"problem\":{}}"}]}}
{"problem":{"name":"nodes/1","reason":"line 3: it is cut\n\u001b[2J"}}
{"problem":{"name":"flows/2","reason":"no YAML"}}
{"end":{"flows":0,"nodes":1,"problems":2}}
`
	for _, n := range []int{1, 7, 1000} {
		name := filepath.Join(t.TempDir(), "all.jsonl")
		var told bytes.Buffer
		err := (ExportOptions{File: name, Problems: &told}).run(t.Context(), &exported{text: text, n: n})
		var unreadable *UnreadableError
		if !errors.As(err, &unreadable) || unreadable.Problems != 2 || unreadable.ExitCode() != 2 {
			t.Errorf("%v", err)
		}
		if want := "! nodes/1: line 3: it is cut ␛[2J\n! flows/2: no YAML\n"; told.String() != want {
			t.Errorf("%d: told %q", n, told.String())
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("%v: %s", err, got)
		}
	}
}

func TestFormatThatIsNone(t *testing.T) {
	t.Parallel()
	if err := (ImportOptions{Format: "word"}).run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "auto, chatgpt, claude or tsumugi") {
		t.Errorf("%v", err)
	}
}
