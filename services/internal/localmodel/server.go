package localmodel

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// startLimit is how long a model may take to load. Usually it is a second.
	startLimit = 2 * time.Minute
	// stopLimit is how long a server may take to end before it is killed.
	stopLimit = 5 * time.Second

	defaultSlots  = 2
	defaultWindow = 4096
)

// ErrPortTaken says that another program listens at the port.
var ErrPortTaken = errors.New("something else listens there")

// Options are what Start starts.
type Options struct {
	// Dir is where Install put the models.
	Dir string
	// Model is one of Models.
	Model string
	// Port is where it listens, on 127.0.0.1. 0: a free one.
	Port int
	// Slots is how many prompts it answers at once. 0: 2.
	Slots int
	// Window is how many tokens each slot has. 0: 4096.
	Window int
	// Forgets says that it keeps the last prompt of each slot and no others; else it has 256 MiB for those.
	Forgets bool
	// Template is a chat template in Jinja that stands instead of the model's own. Empty: its own.
	Template string
}

// Server is a running llama.cpp server. It ends with the process that started it, however that dies. Stop it.
type Server struct {
	url   string
	log   string
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when the process has ended
}

// Start starts a model and returns when it answers. ctx is for the start alone. ErrNotInstalled where Install is owed,
// ErrPortTaken where the port is not free.
func Start(ctx context.Context, o Options) (*Server, error) {
	model, ok := models[o.Model]
	if !ok {
		return nil, fmt.Errorf("there is no small model %q; there are %s", o.Model, strings.Join(Models(), ", "))
	}
	if err := free(ctx, o.Port); err != nil {
		return nil, err
	}
	if !Installed(o.Dir) {
		return nil, fmt.Errorf("%s: %w", o.Dir, ErrNotInstalled)
	}
	python, err := findPython(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp("", "tsumugi-"+o.Model+"-*.log")
	if err != nil {
		return nil, fmt.Errorf("the log of the model server cannot be made: %w", err)
	}
	defer log.Close()                                    //nolint:errcheck // the process has its own handle
	cmd := exec.Command(python, "-I", "-c", serveScript, //nolint:noctx // it outlives ctx
		filepath.Join(o.Dir, "lib"), filepath.Join(o.Dir, model.file), model.name, strconv.Itoa(o.Port),
		strconv.Itoa(cmp.Or(o.Slots, defaultSlots)), strconv.Itoa(cmp.Or(o.Window, defaultWindow)), strconv.Itoa(o.memory()), strconv.Itoa(Threads()), o.Template)
	cmd.Stderr = log
	s := &Server{log: log.Name(), cmd: cmd, ended: make(chan struct{})}
	if err := s.run(ctx); err != nil {
		return nil, fmt.Errorf("the model server %s: %w; its log is %s", o.Model, err, s.log)
	}
	_ = os.Remove(s.log) // only a start that failed is explained by it; so no way to end leaves it behind
	return s, nil
}

// memory is what the server has for prompts of earlier requests, in MiB; 8 GiB would be llama.cpp's default.
func (o Options) memory() int {
	if o.Forgets {
		return 0
	}
	return 256
}

// Threads is how many a server computes with. Those of llama.cpp spin while they wait for each other: with as many as there are
// cores, and other work on the machine, it writes several times slower than with one.
func Threads() int { return max(1, min(4, runtime.NumCPU()/2)) }

// free says whether the server will be able to listen. llama.cpp's own words for a port that is taken name no cause.
func free(ctx context.Context, port int) error {
	if port < 0 || port > 65535 {
		return fmt.Errorf("there is no port %d: it must be from 1 to 65535, or 0 for a free one", port)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: %w", address, ErrPortTaken)
	case err != nil:
		return fmt.Errorf("the model server cannot listen: %w", err)
	}
	return l.Close()
}

// run starts the process and waits until it is ready.
func (s *Server) run(ctx context.Context) error {
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return err
	}
	s.stdin, s.cmd.Stdout = stdin, out
	err = s.cmd.Start()
	out.Close() //nolint:errcheck // the process has its own handle
	if err != nil {
		stdout.Close() //nolint:errcheck // nothing was read
		return err
	}
	go func() {
		_ = s.cmd.Wait() // how it ended is in its log, and in its ProcessState
		close(s.ended)
	}()
	ready := make(chan string, 1)
	go func() {
		defer stdout.Close() //nolint:errcheck // only read
		line, _ := bufio.NewReader(io.LimitReader(stdout, 1024)).ReadString('\n')
		ready <- line
	}()
	return s.await(ctx, ready)
}

// await waits for the line with the address. A process that does not get there is ended.
func (s *Server) await(ctx context.Context, ready <-chan string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("did not answer within %v", startLimit))
	defer cancel()
	var err error
	select {
	case line := <-ready:
		address, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
		if ok {
			s.url = address
			return nil
		}
		err = errors.New("ended before it answered")
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.end()
	if text, failed := os.ReadFile(s.log); failed == nil && len(text) > 0 {
		err = fmt.Errorf("%w (%s)", err, reason(string(text)))
	}
	return err
}

// reason is the first line of a log that llama.cpp marks as an error, or its last.
func reason(log string) string {
	for line := range strings.Lines(log) {
		if _, words, ok := strings.Cut(line, " E "); ok {
			return strings.Join(strings.Fields(words), " ")
		}
	}
	return lastLine(log)
}

// URL is the base address, such as `http://127.0.0.1:40123`.
func (s *Server) URL() string { return s.url }

// Wait returns nil once ctx is done, and an error where the server ended before that, by itself or killed by somebody.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.ended:
		return fmt.Errorf("the model server at %s has ended (%v): nothing answers there any more; start it again", s.url, s.cmd.ProcessState)
	}
}

// Stop ends the server and waits for its end. It may be called twice.
func (s *Server) Stop() { s.end() }

// Kill ends the server at once, as a crash would, and waits for its end. For tests of what then happens.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // fails only when it has ended
	<-s.ended
}

// end asks the process to end, by the end of its input, and kills it if it does not.
func (s *Server) end() {
	_ = s.stdin.Close() // fails only when it is closed
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		s.Kill()
	}
}
