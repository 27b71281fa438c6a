package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// A test binary that is started with one of these words as its first argument is a server, or an agent.
func TestMain(m *testing.M) {
	if code, child := keeper.Child(Roles()); child {
		os.Exit(code)
	}
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		programs[os.Args[1]](os.Args[2:])
		return
	}
	const soon = "atexit_sleep_ms=0" // Under the race detector a program takes a second to end otherwise.
	_ = os.Setenv("GORACE", soon)
	forKeepers = []string{"GORACE=" + soon}
	goleak.VerifyTestMain(m)
}

var programs map[string]func(args []string)

func init() {
	programs = map[string]func([]string){"real": serve, "scripted": scripted, "agent": agent, "lacking": lacking}
}

// program is a server over this test binary.
func program(t testing.TB, args ...string) Config {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{Name: "s", Command: append([]string{name}, args...), Tools: []string{All}, Env: []string{"GORACE"}, Unconfined: keeper.CanConfine() != nil}
}

// overWeb is a server of the SDK over streamable HTTP, and its address.
func overWeb(t testing.TB, versions ...string) (Config, *mcp.Server) {
	t.Helper()
	over := make(chan struct{})
	server := realServer(over, versions...)
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(func() { close(over); web.CloseClientConnections(); web.Close() })
	return Config{Name: "s", URL: web.URL, Tools: []string{All}}, server
}

// rig is what a test opens.
type rig struct {
	testing.TB
	*Servers
	logs *observer.ObservedLogs
}

func open(t testing.TB, cfg ...Config) *rig {
	t.Helper()
	return openApart(t, nil, cfg...)
}

// openApart opens servers that may not reach what is our own.
func openApart(t testing.TB, own []string, cfg ...Config) *rig {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	s, err := Open(t.Context(), cfg, own, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &rig{t, s, logs}
}

func (r *rig) tools() []*tool.Tool { return r.of("ns") }

func (r *rig) of(ns string) []*tool.Tool {
	r.Wait(r.Context(), ns, "")
	return r.Tools(ns)
}

func (r *rig) names() string {
	var names []string
	for _, t := range r.tools() {
		names = append(names, t.Full())
	}
	return strings.Join(names, " ")
}

func (r *rig) tool(name string) *tool.Tool {
	r.Helper()
	for _, t := range r.tools() {
		if t.Name == name {
			return t
		}
	}
	r.Fatalf("there is no tool %s among %q; %+v", name, r.names(), r.Ready())
	return nil
}

// start calls a tool as the router does: Ready, and then Start with the definition that the INTENT was written for.
func (r *rig) start(ctx context.Context, t *tool.Tool, args string) (router.Output, error) {
	r.Helper()
	e := r.Effect("ns", t.Definition)
	if e == nil {
		r.Fatal("nobody carries it out")
	}
	if err := e.Ready(ctx); err != nil {
		return router.Output{}, err
	}
	return e.Start(ctx, router.Intent{Call: "c", Tool: t.Full(), Definition: t.Hash}, []byte(args))
}

func (r *rig) call(name, args string) string {
	r.Helper()
	out, err := r.start(r.Context(), r.tool(name), args)
	if err != nil || out.Failed {
		r.Fatalf("%s: %+v, %v", name, out, err)
	}
	return string(out.Text)
}

func notStartedErr(err error) bool { return errors.As(err, new(*router.NotStartedError)) }

// until waits for something, and says what it was when it does not come.
func until(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !f(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it does not come", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// book is a journal in memory.
type book struct {
	now    func() router.Now
	begun  []router.Intent
	ending []router.Ending
}

func (b *book) Begin(ctx context.Context, i router.Intent, recheck router.Recheck) error {
	if err := recheck(ctx, b.now()); err != nil {
		return err
	}
	b.begun = append(b.begun, i)
	return nil
}

func (b *book) End(_ context.Context, e router.Ending) error {
	b.ending = append(b.ending, e)
	return nil
}

func engine(t testing.TB, rules ...policy.Rule) *policy.Engine {
	t.Helper()
	p := policy.Default()
	p.Name, p.Rules = "test", rules
	set, err := policy.NewSet([]policy.Policy{p}, "test")
	if err != nil {
		t.Fatal(err)
	}
	e, err := set.Engine(policy.Choice{Policy: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func approve(t testing.TB, j router.Judged) router.Approved {
	t.Helper()
	digest, err := j.Digest("a1", "s")
	if err != nil {
		t.Fatal(err)
	}
	return router.Approved{Approval: "a1", Salt: "s", CallHash: j.CallHash, Digest: digest}
}

// proxy passes requests on.
func proxy(to string) http.Handler {
	u, err := url.Parse(to)
	if err != nil {
		panic(err)
	}
	return httputil.NewSingleHostReverseProxy(u)
}
