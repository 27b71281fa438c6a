package allinone

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
)

// An MCP server that is away is in /readyz of the whole process, which answers 200, and nothing is asked about twice.
func TestReadyzTellsOfMCPServers(t *testing.T) {
	t.Parallel()
	tools := filepath.Join(t.TempDir(), "tools.yaml")
	if err := os.WriteFile(tools, []byte("servers: [{name: away, url: 'http://127.0.0.1:1/mcp', tools: ['*']}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := withProviders(t, "version: \"1.0\"\n")
	cfg.Agent.Sessions.Tools = tools
	if err := config.Load(&cfg, config.Source{}); err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), cfg, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- p.Run(context.WithoutCancel(t.Context()), lifecycle.Options{Signals: signals}) }()
	t.Cleanup(func() {
		signals <- os.Interrupt
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	var told string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		seen := map[string]obs.Check{}
		for _, c := range readyz(t, p.Admin()) {
			if _, twice := seen[c.Name]; twice {
				t.Fatalf("%s is told twice", c.Name)
			}
			seen[c.Name] = c
		}
		away, there := seen["mcp server away"]
		if !there || away.Fatal {
			t.Fatalf("/readyz says %+v", seen)
		}
		if told = away.Message; !away.OK && strings.Contains(told, "127.0.0.1:1") {
			return
		}
	}
	t.Errorf("the server that is away is told as %q", told)
}

// readyz are the checks of /readyz, which answers 200.
func readyz(t *testing.T, admin string) []obs.Check {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/readyz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	var body struct{ Checks []obs.Check }
	if err != nil || r.StatusCode != http.StatusOK || json.Unmarshal(text, &body) != nil {
		t.Fatalf("/readyz answers %d %s, %v", r.StatusCode, text, err)
	}
	return body.Checks
}
