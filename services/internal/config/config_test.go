package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type httpConfig struct {
	MaxBody Size          `yaml:"max_body" help:"largest body"`
	Idle    time.Duration `yaml:"idle"`
}

func (c httpConfig) Check(p *Problems) {
	if c.MaxBody > 64*MiB {
		p.Add("max_body", "must be at most 64MiB, is %s", c.MaxBody)
	}
}

type gateway struct {
	HTTP  httpConfig `yaml:"http"`
	Hosts []string   `yaml:"hosts"`
}

type common struct {
	Listen string `yaml:"listen"`
}

func (c common) Check(p *Problems) {
	if c.Listen == "" {
		p.Add("listen", "must be an address")
	}
}

type all struct {
	common  `yaml:",inline"`
	Gateway gateway `yaml:"gateway"`
}

func defaults() all {
	return all{common{"127.0.0.1:7450"}, gateway{HTTP: httpConfig{16 * MiB, time.Minute}}}
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "t.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

var inOne = map[string]string{"TSUMUGI": "", "GATEWAY": "gateway"}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	const yaml = "gateway:\n  http: {max_body: 1MiB, idle: 10s}\n  hosts: [file]\n"
	env := []string{"TSUMUGI_GATEWAY__HTTP__MAX_BODY=2MiB", "TSUMUGI_GATEWAY__HOSTS=a, b", "TSUMUGI_TSUMUGI__LISTEN=127.0.0.1:1"}
	flags := map[string]string{"listen": "127.0.0.1:2"}
	want := all{common{"127.0.0.1:2"}, gateway{httpConfig{2 * MiB, 10 * time.Second}, []string{"a", "b"}}}
	got := defaults()
	if err := Load(&got, Source{File: file(t, yaml), Env: env, Sections: inOne, Flags: flags}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(all{})); diff != "" {
		t.Error(diff)
	}
	got = defaults()
	if err := Load(&got, Source{}); err != nil || !cmp.Equal(got, defaults(), cmp.AllowUnexported(all{})) {
		t.Errorf("defaults alone: %v, %v", got, err)
	}
}

func TestEnvThatIsNotOurs(t *testing.T) {
	t.Parallel()
	got := defaults()
	err := Load(&got, Source{Sections: inOne, Env: []string{
		"TSUMUGI_AGENT_PORT=tcp://10.0.0.1:7451", // Kubernetes, for a Service called tsumugi-agent
		"TSUMUGI_GATEWAY_SERVICE_HOST=10.0.0.1",
		"TSUMUGI_NEED=race,model",
		"TSUMUGI_AGENT__IDLE=15s", // a service of ours that this process does not hold
		"OTHER__THING=1", "PATH=/bin", "=odd", "",
	}})
	if err != nil || !cmp.Equal(got, defaults(), cmp.AllowUnexported(all{})) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, yaml string
		src        Source
		want       []string
	}{
		{"unknown key in the file", "gateway:\n  http:\n    max_bdy: 1", Source{}, []string{
			"gateway.http.max_bdy: unknown key; did you mean max_body? (FILE, line 3)"}},
		{"unknown key in the environment", "", Source{Env: []string{"TSUMUGI_GATEWAY__HTPP__IDLE=1s"}}, []string{
			"gateway.htpp: unknown key; did you mean http? (environment variable TSUMUGI_GATEWAY__HTPP__IDLE)"}},
		{"unknown key on the command line", "", Source{Flags: map[string]string{"lisen": "x"}}, []string{
			"lisen: unknown key; did you mean listen? (command line)"}},
		{"unknown service", "", Source{Env: []string{"TSUMUGI_GATWAY__HOSTS=x", "TSUMUGI__LISTEN=x", "TSUMUGI_ZZZZZZ__A=1"}}, []string{
			`environment variable TSUMUGI_GATWAY__HOSTS: there is no service "GATWAY"; did you mean TSUMUGI_GATEWAY__...?`,
			`environment variable TSUMUGI__LISTEN: there is no service ""; there are AGENT, FLOWSTORE, GATEWAY, PROMPTBUILDER, TSUMUGI`,
			`environment variable TSUMUGI_ZZZZZZ__A: there is no service "ZZZZZZ"; there are AGENT, FLOWSTORE, GATEWAY, PROMPTBUILDER, TSUMUGI`}},
		{"no key", "", Source{Env: []string{"TSUMUGI_GATEWAY__=x"}}, []string{
			"gateway: must be a mapping of keys to values (environment variable TSUMUGI_GATEWAY__)"}},
		{"below a value", "listen: x", Source{Flags: map[string]string{"listen.port": "1"}}, []string{
			"listen.port: there is nothing below listen, which is a value (command line)"}},
		{"a rule, with the place of the value", "gateway: {http: {max_body: 1GiB}}", Source{Flags: map[string]string{"listen": ""}}, []string{
			"listen: must be an address (command line)",
			"gateway.http.max_body: must be at most 64MiB, is 1GiB (FILE, line 1)"}},
		{"everything at once", "gateway:\n  http: {max_body: big, idle: 5}\nport: 1",
			Source{Env: []string{"TSUMUGI_TSUMUGI__LISTEN="}}, []string{
				`gateway.http.max_body: "big" must be a size in B, KiB, MiB or GiB, such as 16MiB (FILE, line 2)`,
				`gateway.http.idle: "5" must be a duration with its unit, such as 500ms, 15s or 2m (FILE, line 2)`,
				"port: unknown key (FILE, line 3)",
				"listen: must be an address (environment variable TSUMUGI_TSUMUGI__LISTEN)"}},
		{"a file that is not YAML", "a: [", Source{Flags: map[string]string{"listen": ""}}, []string{
			"the file FILE: is not YAML: line 1: did not find expected node content"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := file(t, tt.yaml)
			tt.src.File, tt.src.Sections = name, inOne
			got := defaults()
			err := Load(&got, tt.src)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			for i := range e.Lines {
				e.Lines[i] = strings.ReplaceAll(e.Lines[i], name, "FILE")
			}
			if diff := cmp.Diff(tt.want, e.Lines); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "none.yaml")
	got := defaults()
	err := Load(&got, Source{File: name})
	want := "the configuration has a problem:\n  the file " + name + " cannot be read: no such file or directory"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestEmptySection(t *testing.T) {
	t.Parallel()
	got := defaults()
	src := Source{File: file(t, "gateway:\n  # hosts: [a]\n"), Sections: inOne, Env: []string{"TSUMUGI_GATEWAY__HTTP__IDLE=5s"}}
	if err := Load(&got, src); err != nil || got.Gateway.HTTP.Idle != 5*time.Second {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{"0": 0, "7": 7, "1B": 1, "16MiB": 16 * MiB, "3 GiB": 3 * GiB, "1025": 1025, "64KiB": 64 * KiB} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q = %d, %v", text, got, err)
		}
		var again Size
		if err := again.UnmarshalText([]byte(want.String())); err != nil || again != want {
			t.Errorf("%d is written as %s", want, want)
		}
	}
	for _, bad := range []string{"", "MiB", "-1", "1.5MiB", "16MB", "9999999999GiB", "16 mib"} {
		got := Size(3)
		if err := got.UnmarshalText([]byte(bad)); err == nil || got != 3 {
			t.Errorf("%q was taken for %d", bad, got)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	known := []string{"listen", "gateway.http.max_body"}
	for _, tt := range []struct {
		args  []string
		flags map[string]string
		wrong []string
	}{
		{[]string{"--listen", "a:1", "--gateway.http.max-body=1MiB", "--listen="}, map[string]string{"listen": "", "gateway.http.max_body": "1MiB"}, nil},
		{[]string{"--listen"}, map[string]string{}, []string{"--listen needs a value"}},
		{[]string{"--listen", "--gateway.http.max-body=1MiB"}, map[string]string{"gateway.http.max_body": "1MiB"}, []string{"--listen needs a value"}},
		{[]string{"--listen=--odd"}, map[string]string{"listen": "--odd"}, nil},
		{[]string{"--nope"}, map[string]string{"nope": ""}, nil},
		{[]string{"--nope=1"}, map[string]string{"nope": "1"}, nil},
		{[]string{"--nope", "--listen", "a:1"}, map[string]string{"nope": "", "listen": "a:1"}, nil},
		{[]string{"start"}, map[string]string{}, []string{`"start" is not a setting; --help lists them`}},
		{[]string{"-v", "--listen", "a:1", "--listen"}, map[string]string{"listen": "a:1"}, []string{`"-v" is not a setting; --help lists them`, "--listen needs a value"}},
	} {
		flags, wrong := arguments(tt.args, known)
		if !cmp.Equal(wrong, tt.wrong) || !cmp.Equal(flags, tt.flags) {
			t.Errorf("%q: %v, %q", tt.args, flags, wrong)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	c := defaults()
	c.Gateway.Hosts = []string{"a", "b"}
	want := []Key{
		{"listen", "127.0.0.1:7450", ""}, {"gateway.http.max_body", "16MiB", "largest body"},
		{"gateway.http.idle", "1m", ""}, {"gateway.hosts", "a,b", ""},
	}
	if diff := cmp.Diff(want, Keys(&c)); diff != "" {
		t.Error(diff)
	}
}

func ExampleLoad() {
	type settings struct {
		Listen string        `yaml:"listen"`
		Idle   time.Duration `yaml:"idle"`
	}
	s := settings{Listen: "127.0.0.1:7452", Idle: time.Minute}
	err := Load(&s, Source{
		Env:      []string{"TSUMUGI_AGENT__IDLE=15", "TSUMUGI_AGENT_PORT=tcp://10.0.0.1:7452"},
		Sections: map[string]string{"AGENT": ""},
		Flags:    map[string]string{"lisen": "127.0.0.1:1"},
	})
	fmt.Println(err)
	// Output:
	// the configuration has 2 problems:
	//   idle: "15" must be a duration with its unit, such as 500ms, 15s or 2m (environment variable TSUMUGI_AGENT__IDLE)
	//   lisen: unknown key; did you mean listen? (command line)
}
