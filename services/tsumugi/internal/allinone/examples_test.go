package allinone

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// The files of examples/sessions start everything.
func TestExamplesOfSessions(t *testing.T) {
	examples := filepath.Join(testkit.Root(t), "examples", "sessions")
	t.Chdir(t.TempDir()) // the work folder is relative to where the process runs
	if err := os.Mkdir("tsumugi-work", 0o700); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	if err := config.LoadProgram(&cfg, Sections, []string{
		"--listen.grpc", "127.0.0.1:0", "--listen.http", "127.0.0.1:0", "--listen.admin", "127.0.0.1:0",
		"--backends", filepath.Join(examples, "backends.yaml"), "--agent.sessions.tools", filepath.Join(examples, "tools.yaml"),
		"--agent.sessions.policies", filepath.Join(examples, "policies.yaml"),
	}, nil); err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := p.Run(ctx, lifecycle.Options{Signals: make(chan os.Signal)}); err != nil {
		t.Error(err)
	}
}

// The YAML of docs/sessions.md is a tools file with every key, and policies.
func TestDocumentationOfSessions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "sessions.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/sessions.md has %d YAML blocks, not a tools file and policies", len(blocks))
	}
	t.Setenv("WEATHER_KEY", "key")
	dir := t.TempDir()
	args := []string{}
	for i, key := range []string{"tools", "policies"} {
		file := filepath.Join(dir, key+".yaml")
		if err := os.WriteFile(file, []byte(blocks[i][1]), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--agent.sessions."+key, file)
	}
	cfg := DefaultConfig()
	if err := config.LoadProgram(&cfg, Sections, args, nil); err != nil {
		t.Error(err)
	}
}
