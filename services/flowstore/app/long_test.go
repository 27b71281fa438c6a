package app_test

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/app"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
)

// What cases/flowstore.md 34 has: so many nodes of so many bytes in one line, and one answer of so many.
const (
	longChain  = 1248
	longNode   = 29 << 10
	longAnswer = 6 << 20
)

// writeLong writes a flow that is a chain of long nodes, as a person's tree might hold it, and gives its id and the last node.
func writeLong(t *testing.T, data string) (flowID, last uuid.UUID) {
	t.Helper()
	made := time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	f := flow.Flow{ID: uuid.UUID{15: 1}, Name: "long", Created: made, Updated: made, Current: longChain, Next: longChain + 1}
	text := strings.Repeat("夜が明けた。\n", longNode/19)
	for i := 1; i <= longChain; i++ {
		last = uuid.UUID{0: 1, 14: byte(i >> 8), 15: byte(i)}
		n := node.Node{ID: last, Created: made.Add(time.Duration(i) * time.Second), Texts: []node.Text{{Role: "user", Content: text}}}
		writeTree(t, data, "nodes/"+format.Nodes.SlotPath(i-1), format.EncodeNode(n))
		f.Members = append(f.Members, flow.Member{Index: i, Node: last})
		if i > 1 {
			f.Edges = append(f.Edges, flow.Edge{From: i - 1, To: i})
		}
	}
	writeTree(t, data, "flows/000/000.yaml", format.EncodeFlow(f))
	return f.ID, last
}

func writeTree(t *testing.T, data, name string, content []byte) {
	t.Helper()
	file := filepath.Join(data, "default", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// cases/flowstore.md 34: a long conversation grows by what is added to it and by its own flow file, not by all that it holds,
// and its first page is no longer than any client can receive.
func TestFlowstore34LongConversation(t *testing.T) { //nolint:paralleltest // it counts what the process writes
	data := t.TempDir()
	flowID, last := writeLong(t, data)
	a := start(t, data)
	defer stop(t, a)
	c := usual(t, a)
	page, err := c.ListPathNodes(t.Context(), &flowstorev1.ListPathNodesRequest{Flow: "flows/" + flowID.String()})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(page.GetNodes()); n != 100 || page.GetNextPageToken() == "" || proto.Size(page) > 4<<20 {
		t.Errorf("%d nodes, %d bytes, next %q", n, proto.Size(page), page.GetNextPageToken())
	}
	grow := func(parent string) string {
		name, err := add(c, "flows/"+flowID.String(), strings.Repeat("x", longNode), "", parent)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.FlushStore(t.Context(), &flowstorev1.FlushStoreRequest{}); err != nil {
			t.Fatal(err)
		}
		return name
	}
	parent := grow("nodes/" + last.String()) // the first write makes the tree a store
	before, written := sizes(t, data), writtenBytes(t)
	grow(parent)
	var touched []string
	var own int64
	for name, info := range sizes(t, data) {
		was := before[name]
		grew := was != nil && os.SameFile(was, info)
		if strings.HasPrefix(name, "default/.flowstore") || grew && was.Size() == info.Size() {
			continue
		}
		touched = append(touched, name)
		if own += info.Size(); grew {
			own -= was.Size()
		}
	}
	// A node file, the flow file, and lines in the two indexes.
	flowFile, err := os.Stat(filepath.Join(data, "default", "flows", "000", "000.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(touched) > 4 || own > flowFile.Size()+longNode+4<<10 {
		t.Errorf("%d bytes in %v, of which the flow has %d", own, touched, flowFile.Size())
	}
	// Besides, the log takes the node, and in pages of 4 KiB what it notes of the files; the whole conversation has 36 MB.
	if written > 0 {
		if n := writtenBytes(t) - written; n > 2*own+256<<10 {
			t.Errorf("%d bytes were written for %d in files", n, own)
		}
	}
}

// sizes describes every file of a folder.
func sizes(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	found := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		found[filepath.ToSlash(name)], err = d.Info()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// writtenBytes is how much this process has given to the system to write; 0 where the system does not tell.
func writtenBytes(t *testing.T) (n int64) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		fmt.Sscanf(line, "wchar: %d", &n) //nolint:errcheck // the other lines
	}
	return n
}

// cases/flowstore.md 34: an answer that is longer than what gRPC clients receive by default arrives in parts, byte for byte.
func TestFlowstore34HugeAnswer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	answer := strings.Repeat("夜🧵が明けた。", longAnswer/22+1)
	n := node.Node{ID: uuid.UUID{15: 7}, Created: time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC), Texts: []node.Text{{Role: "user", Content: "q"}, {Role: "assistant", Content: answer}}}
	writeTree(t, data, "nodes/000/000.xml", format.EncodeNode(n))
	a := start(t, data)
	defer stop(t, a)
	c := usual(t, a)
	name := "nodes/" + n.ID.String()
	if _, err := c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: name}); err == nil {
		t.Fatal("the client receives as much as the whole node: this test shows nothing")
	}
	var got strings.Builder
	for {
		part, err := c.GetNode(t.Context(), &flowstorev1.GetNodeRequest{Name: name, TextIndex: proto.Int32(1), Offset: int32(len([]rune(got.String())))})
		if err != nil {
			t.Fatal(err)
		}
		text := part.GetTexts()[1]
		got.WriteString(text.GetContent())
		if int(text.GetOffset())+len([]rune(text.GetContent())) == int(text.GetCharacterCount()) {
			break
		}
		if text.GetContent() == "" {
			t.Fatal("the text does not end")
		}
	}
	if got.String() != answer {
		t.Error("the parts are not the text")
	}
	listed, err := c.ListNodes(t.Context(), &flowstorev1.ListNodesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if text := listed.GetNodes()[0].GetNode().GetTexts()[1]; len([]rune(text.GetContent())) != 200 || int(text.GetCharacterCount()) != len([]rune(answer)) {
		t.Errorf("%d of %d characters are listed", len([]rune(text.GetContent())), text.GetCharacterCount())
	}
}

// usual is a client with the limits that grpc-go has by itself.
func usual(t *testing.T, a *app.App) flowstorev1.FlowStoreServiceClient {
	t.Helper()
	server := grpcserver.New(grpcserver.Options{Config: grpcserver.DefaultConfig()})
	a.Register(server.Registrar())
	listener := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	dial := func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return flowstorev1.NewFlowStoreServiceClient(conn)
}
