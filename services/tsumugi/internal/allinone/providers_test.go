package allinone

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
)

// withProviders gives the settings of a process whose data has a config.yaml.
func withProviders(t *testing.T, text string) Config {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Listen = Listen{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	cfg.FlowStore.Data, cfg.Agent.Data = t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Dir(cfg.FlowStore.ConfigFile()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(cfg.FlowStore.ConfigFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return cfg
}

const twoProviders = "version: \"1.0\"\nsettings: {default_llm_provider: novel}\nproviders:\n  novel: {kind: llamacpp, host: 'http://127.0.0.1:1'}\n  openai: {api_key_env: TSUMUGI_TEST_NO_SUCH_KEY, window: 8192}\n"

// Without a backends file the providers of the data are the backends, for every setting that names one.
func TestProvidersOfTheDataAreTheBackends(t *testing.T) {
	t.Parallel()
	cfg := withProviders(t, twoProviders)
	cfg.PromptBuilder.Backend = "novel"
	if err := config.Load(&cfg, config.Source{}); err != nil {
		t.Fatal(err)
	}
	if cfg.set.Default() != "novel" || !cmp.Equal(cfg.set.Names(), []string{"novel"}) {
		t.Errorf("the backends are %q, the default %q", cfg.set.Names(), cfg.set.Default())
	}
	cfg.PromptBuilder.Backend = "openai"
	if err := config.Load(&cfg, config.Source{}); err == nil || !strings.Contains(err.Error(), `there is no backend "openai"`) {
		t.Errorf("a provider that cannot be used is a backend: %v", err)
	}
	file := filepath.Join(t.TempDir(), "b.yaml")
	if err := os.WriteFile(file, []byte("backends: {mine: {kind: llamacpp, address: 'http://127.0.0.1:1'}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.PromptBuilder.Backend, cfg.Backends = "", file
	if err := config.Load(&cfg, config.Source{}); err != nil || !cmp.Equal(cfg.set.Names(), []string{"mine"}) {
		t.Errorf("beside a backends file they are %q, %v", cfg.set.Names(), err)
	}
}

// What became of them is told when the process starts, what is left out as a warning; flowstore does not disown keys that this process took.
func TestProvidersAreToldAtStart(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	p, err := Open(t.Context(), withProviders(t, twoProviders), zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan os.Signal, 1)
	stopped <- os.Interrupt
	if err := p.Run(t.Context(), lifecycle.Options{Signals: stopped}); err != nil {
		t.Error(err)
	}
	var told []string
	for _, e := range logs.All() {
		if line, ok := e.ContextMap()["told"].(string); ok {
			told = append(told, e.Level.String()+" "+line)
		}
		if strings.Contains(e.Message, "not flowstore's own") {
			t.Errorf("flowstore says %q", e.Message)
		}
	}
	want := []string{
		"warn providers.openai.api_key_env: the environment has no variable TSUMUGI_TEST_NO_SUCH_KEY, or it is empty; this provider is not used",
		"info the backends are novel; the default is novel (llamacpp)",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}
