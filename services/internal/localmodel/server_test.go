package localmodel_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/conformance"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
	"github.com/tsumugi-dev/tsumugi/services/internal/localmodel"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

func start(t *testing.T, model string) (*localmodel.Server, *llamacpp.Client) {
	t.Helper()
	return startWith(t, localmodel.Options{Model: model})
}

func startWith(t *testing.T, o localmodel.Options) (*localmodel.Server, *llamacpp.Client) {
	t.Helper()
	o.Dir = testkit.ModelDir(t)
	server, err := localmodel.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	client := llamacpp.New(llamacpp.Config{Endpoint: wire.Endpoint{Name: "real", Address: server.URL(), Timeouts: llm.DefaultTimeouts()}})
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, client
}

// The real server passes the suite that the fake passes, with a tokenizer of words and one whose characters fall apart.
func TestConformance(t *testing.T) {
	for _, model := range localmodel.Models() {
		t.Run(model, func(t *testing.T) {
			_, client := start(t, model)
			conformance.Run(t, conformance.Subject{Backend: client, Prompt: "むかしむかし、あるところに", NoTools: true})
			id, err := client.Window(t.Context())
			if err != nil || id.Window != 4096 || !strings.HasPrefix(id.Model, model) {
				t.Errorf("the identity is %+v, %v", id, err)
			}
		})
	}
}

// A server of one slot has the window that was asked for, and of earlier prompts, where it is to forget them, the last one alone.
func TestOneSlotThatForgets(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		_, client := startWith(t, localmodel.Options{Model: "smollm2", Slots: 1, Window: 1024, Forgets: forgets})
		if id, err := client.Window(t.Context()); err != nil || id.Window != 1024 {
			t.Errorf("the identity is %+v, %v", id, err)
		}
		cached := 0
		for _, word := range []string{"one ", "two ", "one "} {
			stream, err := client.Generate(t.Context(), llm.Request{Prompt: strings.Repeat(word, 200), Sampling: llm.Sampling{MaxTokens: 1}})
			if err != nil {
				t.Fatal(err)
			}
			if err := end(stream); err != nil {
				t.Fatal(err)
			}
			cached = stream.Result().CachedTokens
			_ = stream.Close()
		}
		if kept := cached > 100; kept == forgets {
			t.Errorf("forgets: %t; of a prompt before the last %d tokens were kept", forgets, cached)
		}
	}
}

// long asks for an answer that takes many seconds, and gives it after its first piece.
func long(t *testing.T, ctx context.Context, client *llamacpp.Client) llm.Stream { //nolint:revive // t comes first in tests
	t.Helper()
	cold := 0.0
	stream, err := client.Generate(ctx, llm.Request{
		Prompt: "1 2 3 4 5 6 7 8 9 10 11 12 13 14", Sampling: llm.Sampling{Temperature: &cold, MaxTokens: 4000},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	if piece, err := stream.Recv(); piece == "" || err != nil {
		t.Fatalf("the first piece is %q, %v", piece, err)
	}
	return stream
}

// end reads an answer to its end and gives the error, nil where it ended well.
func end(stream llm.Stream) *llm.Error {
	for {
		if _, err := stream.Recv(); err != nil {
			var e *llm.Error
			errors.As(err, &e)
			return e
		}
	}
}

func TestModelServerKilledInAnAnswer(t *testing.T) {
	server, client := start(t, "smollm2")
	stream := long(t, t.Context(), client)
	server.Kill()
	if e := end(stream); e == nil || e.Fault != llm.FaultCut {
		t.Errorf("the answer ended with %v", e)
	}
	if r := stream.Result(); r.Finish != "" || r.AnswerTokens < 1 {
		t.Errorf("the result is %+v", r)
	}
	_, err := client.Window(t.Context())
	var e *llm.Error
	if !errors.As(err, &e) || e.Fault != llm.FaultUnreachable {
		t.Errorf("the next request gives %v", err)
	}
}

// The server stops working on an answer that nobody waits for.
func TestLeavingAbortsAtTheServer(t *testing.T) {
	server, client := start(t, "smollm2")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := long(t, ctx, client)
	if n := working(t, server.URL()); n != 1 {
		t.Fatalf("%d slots are working", n)
	}
	cancel()
	if e := end(stream); e == nil || e.Fault != llm.FaultCancelled {
		t.Errorf("the answer ended with %v", e)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 500 { // far less than the answer would take
		if working(t, server.URL()) == 0 {
			return
		}
		<-tick.C
	}
	t.Error("the server goes on with the answer")
}

// working says how many slots are making an answer.
func working(t *testing.T, address string) int {
	t.Helper()
	response, err := http.Get(address + "/slots")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var slots []struct {
		Processing bool `json:"is_processing"`
	}
	if err := json.NewDecoder(response.Body).Decode(&slots); err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	n := 0
	for _, s := range slots {
		if s.Processing {
			n++
		}
	}
	return n
}

// A process that is killed leaves no model server behind, and no log of it.
func TestServerEndsWithItsParent(t *testing.T) {
	if os.Getenv("LOCALMODEL_TEST_PARENT") != "" {
		parent(t)
		return
	}
	testkit.ModelDir(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestServerEndsWithItsParent$")
	temp := t.TempDir()
	cmd.Env = append(os.Environ(), "LOCALMODEL_TEST_PARENT=1", "TMPDIR="+temp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(strings.TrimSpace(line), "http://")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range int(patience / (10 * time.Millisecond)) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
		<-tick.C
	}
	t.Error("the model server is still there")
}

// parent is the process that is killed.
func parent(t *testing.T) {
	server, err := localmodel.Start(context.Background(), localmodel.Options{Dir: testkit.ModelDir(t), Model: "smollm2"})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(server.URL())
	select {} // waits to be killed
}

// A port that is taken is named.
func TestPortTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	_, err = localmodel.Start(t.Context(), localmodel.Options{Dir: t.TempDir(), Model: "smollm2", Port: port})
	if !errors.Is(err, localmodel.ErrPortTaken) || !strings.Contains(err.Error(), listener.Addr().String()) {
		t.Errorf("the error is %v", err)
	}
	_, err = localmodel.Start(t.Context(), localmodel.Options{Dir: t.TempDir(), Model: "smollm2", Port: 65536})
	if err == nil || !strings.Contains(err.Error(), "must be from 1 to 65535") {
		t.Errorf("the error is %v", err)
	}
}
