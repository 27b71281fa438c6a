// Package servicetest starts the services that the agent calls, each as its own program, for tests that want the real ones: services know
// each other by their contract alone, so that no test of the agent imports another one.
package servicetest

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"google.golang.org/grpc"

	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// Binary is a service that was built; subtests share one.
type Binary string

// Build builds a service by its name, such as `flowstore`.
func Build(t testing.TB, name string) Binary {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./services/"+name+"/cmd/"+name)
	cmd.Dir = testkit.Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v: %s", name, err, out)
	}
	return Binary(path)
}

// Program is a service that runs.
type Program struct {
	testing.TB
	binary  Binary
	args    []string
	address string
	cmd     *exec.Cmd
}

// Start starts it at an address of its own. It is killed when the test ends.
func (b Binary) Start(t testing.TB, args ...string) *Program {
	t.Helper()
	p := &Program{TB: t, binary: b, args: args, address: "127.0.0.1:0"}
	p.Start()
	return p
}

var address = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// Start starts one again that was killed, at the address that it had, and waits until it has told it.
func (p *Program) Start() {
	p.Helper()
	args := append([]string{"--listen", p.address, "--admin", "127.0.0.1:0", "--log.level", "warn"}, p.args...)
	p.cmd = exec.CommandContext(p.Context(), string(p.binary), args...)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	p.Cleanup(p.Kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if a := address.FindString(lines.Text()); a != "" {
			p.address = a
			return // A few lines more have room in the pipe.
		}
	}
	p.Fatalf("%s ended before it told its address", p.binary)
}

// Kill kills it, and waits until it is gone.
func (p *Program) Kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
	p.cmd = nil
}

// Conn is a connection to it, also to one that is started again. It is closed when the test ends.
func (p *Program) Conn() *grpc.ClientConn {
	p.Helper()
	conn, err := grpcclient.Dial(p.address, grpcclient.Options{})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = conn.Close() })
	return conn
}
