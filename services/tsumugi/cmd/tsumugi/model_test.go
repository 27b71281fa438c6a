package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// A model server at a port that is taken, most often by another model server, says what to do about it.
func TestModelServeAtAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	c := modelCommand()
	c.SetArgs([]string{"serve", "--port", address[strings.LastIndex(address, ":")+1:]})
	err = c.ExecuteContext(t.Context())
	want := address + ": something else listens there; give another port (--port N, 0 for a free one), and its address to `tsumugi serve` in a backends file"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A model server that is killed from outside ends the command, with an error: nothing answers at the port any more.
func TestModelServeEndsWithItsServer(t *testing.T) {
	pgrep, err := exec.LookPath("pgrep")
	if err != nil {
		t.Skip("pgrep is not installed (package procps): it finds the process of the model server")
	}
	testkit.ModelDir(t)
	out, said := io.Pipe()
	c := modelCommand()
	c.SetOut(said)
	c.SetArgs([]string{"serve", "--model", "smollm2", "--port", "0"})
	ended := make(chan error, 1)
	go func() {
		ended <- c.ExecuteContext(t.Context())
		said.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %v", err, <-ended)
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // ends with the command
	found, err := exec.CommandContext(t.Context(), pgrep, "-P", strconv.Itoa(os.Getpid()), "-f", "smollm2").Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(found)))
	if err != nil {
		t.Fatal(err)
	}
	server, err := os.FindProcess(pid)
	if err == nil {
		err = server.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(line, " answers at ")
	address, _, _ = strings.Cut(address, ";")
	want := "the model server at " + address + " has ended (signal: killed): nothing answers there any more; start it again"
	if err := <-ended; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
