package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// patience bounds everything that a scenario does. It is no expectation: a machine may be slow.
var patience = func() time.Duration {
	if os.Getenv("TSUMUGI_SUMMARIES") == "all" { // a whole novel
		return 3 * time.Hour
	}
	return 5 * time.Minute
}()

// mode is a way to run the services.
type mode struct {
	name string
	// launch starts them and returns when they answer.
	launch func(ctx context.Context, s settings) (*system, error)
	// model names the small model that says what the sessions of an office are to hear; empty: the mind says it.
	model string
}

// settings are what a scenario decides; all else is default.
type settings struct {
	data, backends string
	// agent is the data folder of the agent.
	agent string
	// tokens is the path of a file of tokens, serviceToken of one with that of the agent; empty: nobody is asked.
	tokens, serviceToken string
	// prompts is the path of a prompts file; empty: none.
	prompts string
	// host is where all addresses are, each with a free port.
	host string
	// delay is how long each of four programs accepts requests after SIGTERM; none for those that are not named.
	delay map[string]time.Duration
	// grammar is what replies with summaries follow; background makes them unasked.
	grammar    string
	background bool
	// toolsFile and policies are the paths of files of sessions; empty: none. approval and lease are theirs; 0: default.
	toolsFile, policies string
	approval, lease     time.Duration
	// answerTokens and modelCalls bound what a message may cost; 0: default.
	answerTokens, modelCalls int
	// others has somebody else decide than who asked.
	others bool
	// log gets the logs of all services, from level on; empty: from warnings on.
	log   *os.File
	level string
}

// system is running services.
type system struct {
	promptbuilder, agent, flowstore string // addresses of gRPC
	base                            string // URL of REST
	admin                           []string
	// stop ends all of them, whoever calls before whom it calls, and says which did not end well.
	stop func(sig syscall.Signal) error
	// stopTogether is SIGTERM for all programs at one moment; nil in one process.
	stopTogether func() error
}

// world is a running Tsumugi with a data folder of its own, and clients for it.
type world struct {
	*system
	mode     mode
	settings settings
	ctx      context.Context
	running  bool
	conns    []*grpc.ClientConn
	http     *http.Client

	prompts promptbuilderv1.PromptBuilderServiceClient
	agents  agentv1.AgentServiceClient
	flows   flowstorev1.FlowStoreServiceClient
}

// open makes a world whose model server is at the given address. It ends with the test, which then says what was logged
// if it failed.
func open(t *testing.T, m mode, model string) *world {
	t.Helper()
	w := prepare(t, m, model)
	w.start(t)
	return w
}

// prepare makes a world that is not running.
func prepare(t *testing.T, m mode, model string) *world {
	t.Helper()
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{mode: m, http: &http.Client{Transport: &http.Transport{}}, settings: settings{
		data: filepath.Join(dir, "data"), agent: filepath.Join(dir, "agent"), backends: filepath.Join(dir, "backends.yaml"), host: "127.0.0.1", log: log,
	}}
	text := fmt.Sprintf("default: gemma\nbackends:\n  gemma:\n    kind: llamacpp\n    address: %s\n", model)
	if err := os.WriteFile(w.settings.backends, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience) // holds until all is stopped
	w.ctx = ctx
	t.Cleanup(func() {
		defer cancel()
		if w.running {
			if err := w.stop(syscall.SIGTERM); err != nil {
				t.Errorf("at the end: %v", err)
			}
		}
		w.disconnect()
		log.Close()
		if t.Failed() {
			showLog(t, log.Name())
		}
	})
	return w
}

// showLog shows the end of a log.
func showLog(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const most = 4 << 10
	t.Logf("the services said:\n%s", text[max(0, len(text)-most):])
}

// start starts the services over the world's data folder and connects to them.
func (w *world) start(t *testing.T) {
	t.Helper()
	w.disconnect()
	s, err := w.mode.launch(w.ctx, w.settings)
	if err != nil {
		t.Fatal(err)
	}
	w.system, w.running = s, true
	w.prompts = promptbuilderv1.NewPromptBuilderServiceClient(w.dial(t, s.promptbuilder))
	w.agents = agentv1.NewAgentServiceClient(w.dial(t, s.agent))
	w.flows = flowstorev1.NewFlowStoreServiceClient(w.dial(t, s.flowstore))
}

// dial connects as a client of its own.
func (w *world) dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpcclient.Dial(address, grpcclient.Options{MaxMessageBytes: 64 << 20}) // the limits to be seen are the servers'
	if err != nil {
		t.Fatal(err)
	}
	w.conns = append(w.conns, conn)
	return conn
}

// stop ends the services. An error says what did not end with exit code 0.
func (w *world) stop(sig syscall.Signal) error {
	w.running = false
	return w.system.stop(sig)
}

// disconnect closes the connections of all clients.
func (w *world) disconnect() {
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
	w.http.CloseIdleConnections()
}

// restart stops the services as an operator does and starts them again.
func (w *world) restart(t *testing.T) {
	t.Helper()
	if err := w.stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.start(t)
}

// eventually waits until something has come true that tells nobody when it does.
func (w *world) eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-w.ctx.Done():
			t.Fatalf("%s: not after %s", what, patience)
		case <-tick.C:
		}
	}
}

// gemma is the model server that the scenarios of a mode share.
func gemma(t *testing.T, m mode) string {
	t.Helper()
	return testkit.ModelOf(t, "gemma", m.name)
}
