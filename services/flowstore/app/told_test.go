package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/app"
)

// The keys of config.yaml that have no effect are told at start, once; those of model servers only where nobody takes them.
func TestKeysOfOthersAreTold(t *testing.T) {
	t.Parallel()
	cfg := app.Config{Data: t.TempDir()}
	if err := os.MkdirAll(filepath.Dir(cfg.ConfigFile()), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "version: \"1.0\"\nmood: calm\nsettings: {default_model: gpt-4}\nproviders: {openai: {api_key_env: X}}\n"
	if err := os.WriteFile(cfg.ConfigFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, alone := range []bool{true, false} {
		core, logs := observer.New(zap.InfoLevel)
		a, err := app.New(t.Context(), cfg, app.Deps{Log: zap.New(core), Alone: alone})
		if err != nil {
			t.Fatal(err)
		}
		stop(t, a)
		want := map[string][]any{"config.yaml has keys without an effect": {"mood: line 2: is not known and has no effect"}}
		if alone {
			want["config.yaml has keys that are not flowstore's own: tsumugi serve takes those of model servers"] = []any{"providers", "settings.default_model"}
		}
		got := map[string][]any{}
		for _, entry := range logs.All() {
			if keys, ok := entry.ContextMap()["keys"].([]any); ok {
				got[entry.Message] = append(got[entry.Message], keys...)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("alone is %v: %s", alone, diff)
		}
	}
	if kept, err := os.ReadFile(cfg.ConfigFile()); err != nil || string(kept) != text {
		t.Errorf("the file became %q, %v", kept, err)
	}
}
