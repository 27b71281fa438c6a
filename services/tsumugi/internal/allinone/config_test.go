package allinone

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	if err := config.Load(&cfg, config.Source{}); err != nil {
		t.Error(err)
	}
}

func TestEnvironmentReachesEveryService(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	err := config.Load(&cfg, config.Source{Sections: Sections, Env: []string{
		"TSUMUGI_TSUMUGI__LISTEN__GRPC=127.0.0.1:1", "TSUMUGI_GATEWAY__MAX_BODY=1MiB", "TSUMUGI_FLOWSTORE__DATA=/x",
		"TSUMUGI_PROMPTBUILDER__DEFAULT_BACKEND=local", "TSUMUGI_AGENT__GENERATION__RUNNING=3", "TSUMUGI_AGENT_PORT=tcp://10.0.0.1:80",
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(cfg.Listen.GRPC, cfg.Gateway.MaxBody, cfg.FlowStore.Data, cfg.PromptBuilder.Backend, cfg.Agent.Generation.Running)
	if want := "127.0.0.1:1 1MiB /x local 3\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAddressesBeyondLoopbackAreRefusedTogether(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	err := config.Load(&cfg, config.Source{Flags: map[string]string{"listen.grpc": "0.0.0.0:7450", "listen.http": "[::]:7480"}})
	if err == nil || !strings.Contains(err.Error(), "listen.grpc") || !strings.Contains(err.Error(), "listen.http") {
		t.Errorf("got %v, want both addresses refused", err)
	}
}

// What is wrong in the file is told with what is wrong in the settings, one problem a line.
func TestTheBackendsFileIsToldWithTheRest(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "b.yaml")
	if err := os.WriteFile(file, []byte("backends: {a: {kind: x}, b: {kind: llamacpp}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"/nope.yaml": {"backends: the backends file: open /nope.yaml: no such file"},
		file: {"backends: the file " + file + ": backends.a.kind: ", "backends: the file " + file + ": backends.b.address: is missing",
			"backends: the file " + file + ": default: "},
	} {
		cfg := DefaultConfig()
		err := config.Load(&cfg, config.Source{Flags: map[string]string{"backends": path, "listen.grpc": "0.0.0.0:1"}})
		for _, line := range append(want, "listen.grpc: ") {
			if err == nil || !strings.Contains(err.Error(), "\n  "+line) {
				t.Errorf("%v, want a line %q", err, line)
			}
		}
	}
}

// A default that the backends file does not have is told with all else that is wrong, and before anything is opened.
func TestAnUnknownDefaultBackendIsToldWithTheRest(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	c.PromptBuilder.Backend, c.PromptBuilder.MaxTokens = "nope", 0
	err := config.Load(&c, config.Source{})
	for _, want := range []string{`promptbuilder.default_backend: there is no backend "nope"; the backends file has: local`, "promptbuilder.default_max_tokens: must be from 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the problems are %v, without %s", err, want)
		}
	}
}

func TestContradictionsAreRefused(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	err := config.Load(&cfg, config.Source{Flags: map[string]string{
		"agent.generation.heartbeat": "50s", "grpc.stream_idle": "1m", "grpc.max_message_bytes": "4MiB",
		"agent.generation.store": "1m", "gateway.drain_grace": "16s", "gateway.max_body": "32MiB",
	}})
	if err == nil || !strings.Contains(err.Error(), "agent.generation.heartbeat: must be at most half of grpc.stream_idle (1m0s)") ||
		!strings.Contains(err.Error(), "grpc.max_message_bytes: must be from 13MiB") ||
		!strings.Contains(err.Error(), "agent.generation.store: must be at most stop.total (30s)") ||
		!strings.Contains(err.Error(), "gateway.max_body: must be at most grpc.max_message_bytes") ||
		!strings.Contains(err.Error(), "gateway.drain_grace: must be at most stop.graceful (15s)") {
		t.Errorf("got %v, want all five refused", err)
	}
}

// The page for users lists every key with its default.
func TestSettingsPage(t *testing.T) {
	cfg := DefaultConfig()
	var table strings.Builder
	table.WriteString("| key | default | |\n|---|---|---|\n")
	for _, k := range config.Keys(&cfg) {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", k.Name, code(k.Value), k.Help)
		if k.Help == "" {
			t.Errorf("%s has no help", k.Name)
		}
	}
	page := filepath.Join(testkit.Root(t), "docs", "configuration.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "-update -->\n"
	head, old, ok := strings.Cut(string(text), mark)
	if !ok {
		t.Fatalf("%s has no mark %q", page, mark)
	}
	want := "\n" + table.String()
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(page, []byte(head+mark+want), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
	} else if old != want {
		t.Errorf("%s is not what the settings say; run this test with -update", page)
	}
}

func code(value string) string {
	if value == "" {
		return ""
	}
	return "`" + value + "`"
}

// A process that cannot be opened leaves nothing behind: no goroutine (see TestMain), no address, no lock.
func TestFailedOpenLeavesNothing(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.Listen = Listen{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	cfg.FlowStore.Data, cfg.Agent.Data = t.TempDir(), t.TempDir()
	first, err := Open(t.Context(), cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), cfg, zap.NewNop()); err == nil || !strings.Contains(err.Error(), "in use by") {
		t.Errorf("a second owner of the data got %v", err)
	}
	cfg.Listen = Listen{GRPC: first.GRPC(), HTTP: first.HTTP(), Admin: first.Admin()}
	if _, err := Open(t.Context(), cfg, zap.NewNop()); err == nil || strings.Count(err.Error(), "is in use by another program") != 3 {
		t.Errorf("a second process at the same addresses got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Run(ctx, lifecycle.Options{Signals: make(chan os.Signal)}); err != nil {
		t.Error(err)
	}
}

func TestMain(m *testing.M) { testkit.Main(m) }
