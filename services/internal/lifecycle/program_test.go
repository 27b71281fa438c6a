package lifecycle

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/obs"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// fake is a service with a store that must be closed.
type fake struct {
	drained, closed bool
	run             func(context.Context) error
}

func (*fake) Register(grpc.ServiceRegistrar) {}
func (*fake) Ready(context.Context) []obs.Check {
	return []obs.Check{{Name: "store", OK: true, Fatal: true}}
}

func (f *fake) Run(ctx context.Context) error {
	if f.run != nil {
		return f.run(ctx)
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *fake) Drain() { f.drained = true }

func (f *fake) Close(context.Context) error { f.closed = true; return nil }

type settings struct {
	Settings `yaml:",inline"`
	GRPC     grpcserver.Config `yaml:"grpc"`
	Data     string            `yaml:"data" help:"folder of the data"`
}

func program(f *fake) Program {
	s := &settings{Settings: DefaultSettings("127.0.0.1:0", "127.0.0.1:0"), GRPC: grpcserver.DefaultConfig(), Data: "./data"}
	s.Stop.Delay = 0
	return Program{
		Name: "flowstore", Summary: "keeps nodes and flows.", Config: s, Settings: &s.Settings, GRPC: &s.GRPC,
		Try:   "grpcurl -plaintext ADDRESS list",
		Start: func(context.Context, Env) (App, error) { return f, nil },
	}
}

// The whole life: it says where it answers, is well, and a signal ends it with 0 after the store was closed.
func TestMainUntilSignal(t *testing.T) {
	skipWithoutSignals(t)
	f := &fake{}
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() { code <- Main(program(f), nil, nil, w, os.Stderr) }()
	out := bufio.NewReader(r)
	told, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(told)
	service := strings.TrimSuffix(words[3], ";")
	if try, err := out.ReadString('\n'); err != nil || try != "Try: grpcurl -plaintext "+service+" list\n" {
		t.Errorf("%q, %v", try, err)
	}
	ready(t, words[4])
	conn, err := grpcclient.Dial(service, grpcclient.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	conn.Close()
	terminate(t)
	if c := <-code; c != 0 || !f.drained || !f.closed {
		t.Errorf("code %d, drained %v, closed %v", c, f.drained, f.closed)
	}
}

// A program in which somebody decides makes the secret for that, says where, once, and never what it is.
func TestMainTellsOfTheApproverSecret(t *testing.T) {
	skipWithoutSignals(t)
	folder := t.TempDir()
	start := func() string {
		r, w := io.Pipe()
		code := make(chan int, 1)
		p := program(&fake{})
		p.Approver = &folder
		go func() {
			c := Main(p, nil, nil, w, os.Stderr)
			w.Close()
			code <- c
		}()
		out := bufio.NewReader(r)
		said := ""
		for !strings.Contains(said, "Try: ") {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			said += line
		}
		terminate(t)
		if c := <-code; c != 0 {
			t.Errorf("code %d", c)
		}
		return said
	}
	path := filepath.Join(folder, token.SecretName)
	if said := start(); !strings.Contains(said, path) {
		t.Errorf("%q", said)
	}
	shown, err := token.ReadSecret(path)
	if err != nil {
		t.Fatal(err)
	}
	if said := start(); strings.Contains(said, path) || strings.Contains(said, shown[30:50]) {
		t.Errorf("again: %q", said)
	}
}

// Who has read where it answers may stop it, however soon.
func TestMainIsStoppedAtOnce(t *testing.T) {
	skipWithoutSignals(t)
	f := &fake{}
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() { code <- Main(program(f), nil, nil, w, os.Stderr) }()
	out := bufio.NewReader(r)
	if _, err := out.ReadString('\n'); err != nil { // it waits for somebody to read the rest
		t.Fatal(err)
	}
	terminate(t)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if c := <-code; c != 0 || !f.closed {
		t.Errorf("code %d, closed %v", c, f.closed)
	}
}

// skipWithoutSignals ends a test where a process cannot send itself a signal.
func skipWithoutSignals(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("os.Process.Signal sends nothing but Kill here")
	}
}

// terminate sends this process the signal by which services are stopped.
func terminate(t *testing.T) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

func ready(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"store"`) {
		t.Errorf("%s: %s, %v", resp.Status, body, err)
	}
}

// said runs a program that ends by itself and gives what it said.
func said(t *testing.T, p Program, args, env []string) (code int, out, trouble string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "trouble"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	code = Main(p, args, env, &b, f)
	f.Close()
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return code, b.String(), string(text)
}

func TestMainRefuses(t *testing.T) {
	l, err := Listen("listen", "127.0.0.1:0", auth.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	broken := errors.New("the folder is held by process 7")
	for name, tt := range map[string]struct {
		args, env []string
		change    func(*Program)
		want      string
	}{
		"unknown setting":                    {[]string{"--dta", "x"}, nil, nil, "flowstore: the configuration has a problem:\n  dta: unknown key; did you mean data? (command line)\n"},
		"unknown variable":                   {nil, []string{"TSUMUGI_FLOWSTORE__DAAT=x"}, nil, "did you mean data? (environment variable TSUMUGI_FLOWSTORE__DAAT)"},
		"an unknown setting without a value": {[]string{"--nope"}, nil, nil, "  nope: unknown key (command line)\n"},
		"no value":                           {[]string{"--data"}, nil, nil, "  --data needs a value\n"},
		"a stray word":                       {[]string{"start"}, nil, nil, `  "start" is not a setting; --help lists them`},
		"missing file":                       {[]string{"--config", "/none.yaml"}, nil, nil, "the file /none.yaml cannot be read: no such file or directory"},
		"beyond loopback":                    {[]string{"--listen", "0.0.0.0:7453"}, nil, nil, `listen: "0.0.0.0:7453" can be reached from other machines, and nobody is asked for a token there: use a loopback address such as 127.0.0.1`},
		"tokens that are not there":          {[]string{"--auth.tokens", "/nope.yaml", "--listen", "0.0.0.0:7453"}, nil, nil, "auth.tokens: the file of tokens /nope.yaml: no such file"},
		"the admin port with tokens":         {[]string{"--auth.tokens", "/nope.yaml", "--admin", "0.0.0.0:7493"}, nil, nil, `admin: "0.0.0.0:7493" can be reached from other machines`},
		"taken port":                         {[]string{"--listen", l.Addr().String()}, nil, nil, "the address " + l.Addr().String() + " is in use by another program"},
		"both taken":                         {[]string{"--listen", l.Addr().String(), "--admin", l.Addr().String()}, nil, nil, "program; stop that one or set another address\nadmin: the address"},
		"taken admin port":                   {[]string{"--admin", l.Addr().String()}, nil, nil, "admin: the address " + l.Addr().String() + " is in use by another program"},
		"failing start": {nil, nil, func(p *Program) {
			p.Start = func(context.Context, Env) (App, error) { return nil, broken }
		}, "flowstore: the folder is held by process 7\n"},
		"failing work": {nil, nil, func(p *Program) {
			p.Start = func(context.Context, Env) (App, error) {
				return &fake{run: func(context.Context) error { return broken }}, nil
			}
		}, "flowstore: flowstore failed: the folder is held by process 7\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := program(&fake{})
			if tt.change != nil {
				tt.change(&p)
			}
			code, _, trouble := said(t, p, tt.args, tt.env)
			if code != 1 || !strings.Contains(trouble, tt.want) {
				t.Errorf("code %d: %s", code, trouble)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	code, out, _ := said(t, program(&fake{}), []string{"--help"}, nil)
	if code != 0 {
		t.Errorf("code %d", code)
	}
	testkit.Golden(t, "help.txt", []byte(out))
}
