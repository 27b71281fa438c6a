package obs

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

func get(t *testing.T, h http.Handler, method, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, http.NoBody))
	return w.Code, w.Body.String()
}

func TestReadyz(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		checks  []Check
		unready bool
		code    int
		body    string
	}{
		"nothing to check": {nil, false, 200, `"checks": []`},
		"all well":         {[]Check{{Name: "store", OK: true, Fatal: true}}, false, 200, `"ready": true`},
		"missing model":    {[]Check{{Name: "backend gemma", Message: "nobody answers at http://127.0.0.1:1"}}, false, 200, "nobody answers"},
		"dead store":       {[]Check{{Name: "store", Fatal: true, Message: "disk full"}}, false, 503, "disk full"},
		"draining":         {[]Check{{Name: "store", OK: true}}, true, 503, "the process is stopping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := NewAdmin(NewRegistry(), func(ctx context.Context) []Check {
				if _, limited := ctx.Deadline(); !limited {
					t.Error("the checks have no time limit")
				}
				return tt.checks
			})
			if tt.unready {
				a.Unready()
			}
			if code, body := get(t, a, "GET", "/readyz"); code != tt.code || !strings.Contains(body, tt.body) {
				t.Errorf("%d %s", code, body)
			}
			if code, body := get(t, a, "GET", "/livez"); code != 200 || body != "ok\n" {
				t.Errorf("livez: %d %s", code, body)
			}
		})
	}
}

func TestMetricsAndTheRest(t *testing.T) {
	t.Parallel()
	a := NewAdmin(NewRegistry(), func(context.Context) []Check { return nil })
	if code, body := get(t, a, "GET", "/metrics"); code != 200 || !strings.Contains(body, "go_goroutines") {
		t.Errorf("%d", code)
	}
	for path, want := range map[string]int{"/": 404, "/readyz/x": 404} {
		if code, _ := get(t, a, "GET", path); code != want {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code, _ := get(t, a, "POST", "/readyz"); code != 405 {
		t.Errorf("POST: %d", code)
	}
}

func TestAdminHosts(t *testing.T) {
	t.Parallel()
	a := NewAdmin(NewRegistry(), func(context.Context) []Check { return nil })
	for host, want := range map[string]int{
		"localhost": 200, "LocalHost:7490": 200, "127.0.0.1:7490": 200, "[::1]:7490": 200, "[::1]": 200, "10.0.0.7:7490": 200, "10.0.0.7": 200,
		"evil.example": 421, "evil.example:7490": 421, "localhost.evil.example": 421, "": 421, "127.0.0.1.evil.example": 421, "127.0.0.1:7490.evil.example": 421,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/livez", http.NoBody)
		r.Host = host
		w := httptest.NewRecorder()
		if a.ServeHTTP(w, r); w.Code != want {
			t.Errorf("Host %q: %d, want %d", host, w.Code, want)
		}
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"msg":"hello"`, "auto": `"msg":"hello"`, "console": "INFO\thello"} {
		f, err := os.Create(filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		log := NewLogger(LogConfig{Level: "info", Format: format}, f)
		log.Debug("hidden")
		log.Info("hello")
		text, err := os.ReadFile(f.Name())
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "hidden") {
			t.Errorf("%s: %s, %v", format, text, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestLogConfigCheck(t *testing.T) {
	t.Parallel()
	c := DefaultLogConfig()
	if err := config.Load(&c, config.Source{}); err != nil {
		t.Error(err)
	}
	c = LogConfig{Level: "loud", Format: "xml"}
	err := config.Load(&c, config.Source{})
	if err == nil || !strings.Contains(err.Error(), "level: must be") || !strings.Contains(err.Error(), "format: must be") {
		t.Error(err)
	}
}
