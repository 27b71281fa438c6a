package mcpserver

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

func problems(t testing.TB, servers ...Config) []string {
	t.Helper()
	var p config.Problems
	Settings{servers}.Check(&p)
	var e *config.Error
	if err := p.Err(); err == nil || !errors.As(err, &e) {
		return nil
	}
	return e.Lines
}

func TestCheck(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "two-lines")
	if err := os.WriteFile(file, []byte("a\nb"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		server Config
		want   []string
	}{
		"nothing": {Config{}, []string{"servers[0].name: must be 1 to 64", "servers[0].command: must be a program", "servers[0].tools: must name the tools"}},
		"a separator in its name": {
			Config{Name: "a.b", Command: []string{"/bin/x"}, Tools: []string{All}}, []string{"servers[0, a.b].name: must be 1 to 64 letters, digits, _ or -"},
		},
		"both": {Config{Name: "a", Command: []string{"/bin/x"}, URL: "http://x", Tools: []string{All}}, []string{"url: must not stand beside command"}},
		"a program": {
			Config{
				Name: "a", Command: []string{"npx", "a\x00"}, Env: []string{"TSUMUGI_AGENT__DATA", "A=b", "NOT_SET_AT_ALL", ""}, WorkDir: "here", Tools: []string{"a", "a"},
				Headers: map[string]string{"a": "b"}, Timeout: -1, Namespaces: []string{"No"},
			},
			[]string{
				"timeout: must be from 0", `tools: "a" must be a name that stands once`, `namespaces: "No" is no namespace`, "headers: are for a server with url",
				`command: must begin with the absolute path of a program, is "npx"`, "command: must hold no zero bytes", `env: "" must be a name`,
				"env: TSUMUGI_AGENT__DATA is a setting of Tsumugi", `env: "A=b" must be the name`, "env: the environment variable NOT_SET_AT_ALL is not set", "work_dir: must be the absolute path",
			},
		},
		"an address": {
			Config{
				Name: "a", URL: "https://me:secret@example.com/mcp", Env: []string{"PATH"}, Tools: []string{All},
				Headers: map[string]string{"Host": "x", "Mcp-Session-Id": "1", "X-A": "a\r\nb", "X-B": ""}, HeaderFiles: map[string]string{"x-a": file, "X-C": "/not/there"}, Timeout: 2 * time.Hour,
			},
			[]string{
				"env: work_dir and unconfined are for", "url: must hold no name and password", `headers: "Host" must be the name`, `headers: "Mcp-Session-Id" must be the name`, `headers: "X-A" must have a value in one line`,
				`headers: "X-B" must have a value`, `header_files: "x-a" stands twice`, `header_files: "x-a": ` + file + " must hold a value in one line", `header_files: "X-C": stat /not/there`, "timeout: must be",
			},
		},
		"no address": {Config{Name: "a", URL: "ftp://example.com", Tools: []string{All}}, []string{"url: must be an address such as"}},
	} {
		got := problems(t, tt.server)
		for _, want := range tt.want {
			if !slices.ContainsFunc(got, func(line string) bool { return strings.Contains(line, want) }) {
				t.Errorf("%s: nothing says %q", name, want)
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %d problems, want %d:\n%s", name, len(got), len(tt.want), strings.Join(got, "\n"))
		}
		for _, line := range got {
			if strings.Contains(line, "secret") {
				t.Errorf("%s: a password is told: %s", name, line)
			}
		}
	}
	good := Config{Name: "a", URL: "http://x", Tools: []string{All}}
	twice := good
	twice.Name = "A"
	if got := problems(t, good, twice); len(got) != 1 || !strings.Contains(got[0], "servers[1, A].name: stands twice: server 0") {
		t.Errorf("twice: %q", got)
	}
	if got := problems(t, slices.Repeat([]Config{good}, MaxServers+1)...); len(got) != MaxServers+1 {
		t.Errorf("too many: %d problems", len(got))
	}
	if _, err := Open(t.Context(), []Config{{}}, nil, nil); err == nil {
		t.Error("settings that cannot be are opened")
	}
}

func TestSettingsAreYAML(t *testing.T) {
	t.Parallel()
	const text = `
servers:
  - name: files
    command: [/usr/bin/env, server]
    env: [PATH]
    tools: ["*"]
    timeout: 30s
  - {name: web, url: "https://example.com/mcp", header_files: {authorization: /run/key}, tools: [search], namespaces: [a, b]}
`
	var s Settings
	if err := yamlx.Decode([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if len(s.Servers) != 2 || s.Servers[0].Timeout != 30*time.Second || s.Servers[1].HeaderFiles["authorization"] != "/run/key" || !s.Servers[1].serves("b") || s.Servers[1].serves("c") {
		t.Errorf("%+v", s)
	}
}
