package execchild

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
)

type settings struct {
	Exec Config `yaml:"exec"`
}

func TestConfig(t *testing.T) {
	t.Parallel()
	file := func(text string) config.Source {
		path := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Source{File: path}
	}
	s := settings{Exec: DefaultConfig()}
	if err := config.Load(&s, config.Source{}); err != nil || s.Exec.On() {
		t.Errorf("the defaults: on %t, %v", s.Exec.On(), err)
	}
	good := "exec:\n  programs: {go: /usr/local/go/bin/go, make: /usr/bin/make}\n  env: {PATH: /usr/bin, GOCACHE: /var/cache/go}\n  read_only: [/opt/x]\n  timeout: 30s\n  output: 1KiB\n"
	if err := config.Load(&s, file(good)); err != nil || !s.Exec.On() || s.Exec.Env["GOCACHE"] != "/var/cache/go" || s.Exec.Timeout != 30*time.Second {
		t.Errorf("%+v, %v", s.Exec, err)
	}
	s = settings{Exec: DefaultConfig()}
	err := config.Load(&s, file("exec:\n  programs: {go: go, 'a b': /bin/x, make: /usr/../bin/make}\n  env: {TMPDIR: /tmp, 'A=': b}\n  read_only: [/, rel]\n  timeout: 2h\n  output: 1B\n  memory: 1MiB\n  cpu: 0s\n  file_size: 0B\n  open_files: 3\n  processes: 0\n"))
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{
		`exec.programs: "a b" is no name of a program`, `exec.programs.go: must be an absolute path, such as /usr/bin/make, is "go"`, "exec.programs.make: must be written as /bin/make",
		"exec.env.TMPDIR: cannot be set", `exec.env: "A=" is no name of a variable`, "exec.read_only[0]: must not be the whole disk", `exec.read_only[1]: must be an absolute path`,
		"exec.timeout: must be from 1s to 1h0m0s, is 2h0m0s", "exec.output: must be from 1KiB to 16MiB, is 1B", "exec.memory: must be from 16MiB to", "exec.cpu: must be from 1s to 24h", "exec.file_size: must be from 1KiB",
		"exec.open_files: must be from 16 to 1048576, is 3", "exec.processes: must be from 1 to 1048576, is 0",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not told: %s\n%v", want, err)
		}
	}
}

// A work folder, and what programs may read, lie apart from what is ours and from the programs.
func TestApart(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	work, data := filepath.Join(base, "work"), filepath.Join(base, "open", "data")
	for _, dir := range []string{work, data} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	inWork, plain := filepath.Join(work, "tool"), filepath.Join(base, "plain")
	for path, mode := range map[string]os.FileMode{inWork: 0o755, plain: 0o644} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(base, "open"), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.Programs = map[string]string{"gone": filepath.Join(base, "gone"), "plain": plain, "tool": inWork}
	c.ReadOnly = []string{filepath.Join(base, "link"), filepath.Join(base, "nothing")}
	_, err := New(c, work, []string{data, filepath.Join(work, "later", "tokens")})
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{
		"exec.programs.gone: ", "exec.programs.plain: " + plain + " is no file that may be run", "exec.programs.tool: " + inWork + " lies in the work folder",
		"exec.read_only[1]: ", data + " lies in " + filepath.Join(base, "link") + ", which programs may read", filepath.Join(work, "later", "tokens") + " lies in " + work,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not told: %s\n%v", want, err)
		}
	}
	if _, err := New(DefaultConfig(), filepath.Join(base, "nowhere"), nil); err == nil {
		t.Error("a folder that is not there was opened")
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	c.Programs = map[string]string{"make": "/usr/bin/make", "go": "/usr/bin/go"}
	for _, network := range []bool{false, true} {
		c.AllowNetwork = network
		d := (&Exec{config: c}).Definition()
		admitted, err := tool.Admit(d)
		if err != nil {
			t.Fatal(err)
		}
		if d.Timeout != c.Timeout || d.Limit != int(c.Output) || strings.Contains(d.Description, "no network") == network || (d.Annotations.OpenWorld == tool.Yes) != network {
			t.Errorf("%+v", d)
		}
		if got, err := admitted.Check([]byte(`{"argv":["go","test","./..."]}`)); err != nil || !slices.Equal(got.Defaulted, []string{"cwd"}) {
			t.Errorf("%+v, %v", got, err)
		}
		for _, bad := range []string{`{"argv":["sh","-c","true"]}`, `{"argv":[]}`, `{"argv":"go test"}`, `{"argv":["go"],"shell":true}`} {
			if _, err := admitted.Check([]byte(bad)); err == nil {
				t.Errorf("%s is taken", bad)
			}
		}
	}
}
