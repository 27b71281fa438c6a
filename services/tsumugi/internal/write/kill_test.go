package write

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/allinone"
)

// asService makes this program the services instead of the tests, so that they can be killed: its value is the address of
// gRPC and the folder of a desk, with a space between.
const asService = "WRITE_TEST_SERVE"

func TestMain(m *testing.M) {
	if address, dir, ok := strings.Cut(os.Getenv(asService), " "); ok {
		if err := serve(address, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testkit.Main(m)
}

// serve runs the services over the folder of a desk until they are killed, and says when they are up.
func serve(address, dir string) error {
	p, err := allinone.Open(context.Background(), settings(address, dir), zap.NewNop())
	if err != nil {
		return err
	}
	fmt.Println("up")
	return p.Run(context.Background(), lifecycle.Options{Signals: make(chan os.Signal)})
}

// settings are those of the services of a desk.
func settings(address, dir string) allinone.Config {
	cfg := allinone.DefaultConfig()
	cfg.Listen = allinone.Listen{GRPC: address, HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	cfg.Backends, cfg.FlowStore.Data = filepath.Join(dir, "backends.yaml"), filepath.Join(dir, "data")
	cfg.Agent.Data = filepath.Join(dir, "agent")
	cfg.Stop.Delay = 0
	return cfg
}

// newMortalDesk is a desk whose services are a program of their own, which is not started yet.
func newMortalDesk(t *testing.T, o llmtest.Options) *desk {
	t.Helper()
	d := &desk{T: t, dir: t.TempDir(), model: llmtest.New(t, o)}
	d.file("backends.yaml", "default: m\nbackends:\n  m: {kind: llamacpp, address: '"+d.model.URL+"'}\n")
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.addr = free.Addr().String()
	free.Close()
	conn, err := grpcclient.Dial(d.addr, grpcclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d.flows = flowstorev1.NewFlowStoreServiceClient(conn)
	t.Cleanup(func() { conn.Close() })
	return d
}

// start starts the services and gives what kills them, at the latest at the end of the test.
func (d *desk) start() (kill func()) {
	d.Helper()
	program, err := os.Executable()
	if err != nil {
		d.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(d.Context()), program)
	cmd.Env, cmd.Stderr = append(os.Environ(), asService+"="+d.addr+" "+d.dir), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		d.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		if err := cmd.Process.Kill(); err != nil {
			d.Error(err)
		}
		_ = cmd.Wait() // it says that it was killed
	})
	d.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		d.Fatalf("the services said %q, %v", line, err)
	}
	return kill
}

// nodes waits until a flow has so many.
func (d *desk) nodes(flow string, want int) {
	d.Helper()
	for {
		f, err := d.flows.GetFlow(d.Context(), &flowstorev1.GetFlowRequest{Name: flow})
		if err != nil {
			d.Fatal(err)
		}
		if len(f.Nodes) >= want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// oneWholeTwoHalf answers the first of three at once, and the others with three pieces of which the third does not come
// while the server is silent after two.
func oneWholeTwoHalf() func(string) []string {
	var mu sync.Mutex
	n := 0
	return func(string) []string {
		mu.Lock()
		defer mu.Unlock()
		if n++; n == 1 {
			return []string{"一。"}
		}
		return []string{"半", "ば", "過ぎ。"}
	}
}

// TestAKilledServiceLosesNothing: the service is killed while one of three answers is stored and two are half there. The
// same request goes on with those two, by itself or when the writer asks for it, and makes nothing twice.
func TestAKilledServiceLosesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		// patient: the session waits until the service is there again. Else it has asked the writer by then.
		patient bool
		typed   []string
		nodes   int
		shown   string
	}{
		"by itself": {true, []string{"s"}, 4, "すべて保存済み"},
		"asked for": {false, []string{"a", "s"}, 4, "すべて保存済み"},
		"left":      {false, []string{"s"}, 2, "not known to be stored: "},
	} {
		t.Run(name, func(t *testing.T) {
			d := newMortalDesk(t, llmtest.Options{Reply: oneWholeTwoHalf()})
			kill := d.start()
			d.model.Break(llmtest.Faults{Break: servertest.BreakSilent, BreakAfter: 2})
			up, out := make(chan time.Time), newWatch()
			in, typing := io.Pipe()
			o := Options{Addr: d.addr, File: d.file("夜.txt", "夜、"), Variants: "3", In: in, Out: out, after: waitsFor(c.patient, up)}
			ended := make(chan error, 1)
			go func() { ended <- Run(t.Context(), o) }()
			out.until("半ば", 1)
			d.nodes(flowName.FindStringSubmatch(out.text())[1], 2)
			kill()
			out.until("同じ依頼を続けます", 1)
			if !c.patient {
				out.until("? :", 1)
			}
			d.model.Break(llmtest.Faults{})
			d.start()
			close(up)
			for i, line := range c.typed {
				out.until("? :", i+1)
				if _, err := typing.Write([]byte(line + "\n")); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-ended; err != nil {
				t.Fatalf("%v\n%s", err, out.text())
			}
			typing.Close()
			d.shows(out.text(), "broke off 途中で切れました", c.shown)
			if strings.Contains(out.text(), "すべて保存済み") != (c.shown == "すべて保存済み") {
				t.Errorf("what is stored is told wrongly:\n%s", out.text())
			}
			d.whole(out.text(), c.nodes)
		})
	}
}

// waitsFor are those of a session: while the services are away until they are up, or no time at all; then real ones, since
// connections are opened again in their own time.
func waitsFor(patient bool, up <-chan time.Time) func(time.Duration) <-chan time.Time {
	past := make(chan time.Time)
	close(past)
	return func(d time.Duration) <-chan time.Time {
		select {
		case <-up:
			return time.After(d)
		default:
		}
		if patient {
			return up
		}
		return past
	}
}

// whole fails where the flow that a session told has not so many nodes, or one that is not whole.
func (d *desk) whole(shown string, want int) {
	d.Helper()
	flow, err := d.flows.GetFlow(d.Context(), &flowstorev1.GetFlowRequest{Name: flowName.FindStringSubmatch(shown)[1]})
	if err != nil {
		d.Fatal(err)
	}
	texts := map[string]int{}
	for _, n := range flow.Nodes {
		node, err := d.flows.GetNode(d.Context(), &flowstorev1.GetNodeRequest{Name: n.Node})
		if err != nil {
			d.Fatal(err)
		}
		texts[node.Texts[0].Content]++
	}
	if len(flow.Nodes) != want || texts["夜、"] != 1 || texts["一。"] != 1 || texts["半ば過ぎ。"] != want-2 {
		d.Errorf("the flow has %v; want %d nodes\n%s", texts, want, shown)
	}
}
