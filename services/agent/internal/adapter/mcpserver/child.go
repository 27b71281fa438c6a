package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Bounds of a program.
const (
	// writeWait is how long it may leave a message of ours unread.
	writeWait = 10 * time.Second
	// stopWait is how long it may take to end after its input has ended, termWait after it was asked to, killWait until nothing of it is left
	// after it was killed, drainWait how long what it has written before is still read.
	stopWait, termWait, killWait, drainWait = 2 * time.Second, time.Second, 5 * time.Second, time.Second
	// maxLines and maxLine bound what is logged of its error output, for each start.
	maxLines, maxLine = 100, 500
)

// What a program without a sandbox can do, and what a person may do where there is none for it.
const (
	whatUnconfined = "it can read what the user of this service can, its tokens, the secret of approvers and the keys of the audit included"
	howUnconfined  = "`unconfined: true` in its settings starts it without a sandbox: then " + whatUnconfined
)

// signal is how a program is asked to end.
type signal int

const (
	terminate signal = iota
	// kill ends it with all that it has started, giveUp what was to do that and does not.
	kill
	giveUp
)

// child is a program that runs: with three descriptors and the environment that the settings name (field/review-agent.md S11, S26).
type child struct {
	*process
	in, out *os.File
	exited  chan struct{}
	stderr  sync.WaitGroup
	once    sync.Once
}

// overProgram starts a program and makes a transport to it. hidden is what it must not reach.
func overProgram(ctx context.Context, c Config, hidden []string, log *zap.Logger) (mcp.Transport, *child, error) {
	p, err := start(ctx, c, hidden, log)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.IOTransport{Reader: p.out, Writer: input{p.in}, MaxLineLength: maxMessage}, p, nil
}

// start starts it. The context bounds the start alone: the program is stopped by stop.
func start(ctx context.Context, c Config, hidden []string, log *zap.Logger) (*child, error) {
	pipes, err := pipes(3)
	if err != nil {
		return nil, err
	}
	in, out, errs := pipes[0], pipes[1], pipes[2]
	if c.WorkDir == "" {
		c.WorkDir = "/"
	}
	running, err := launch(ctx, c, hidden, in.r, out.w, errs.w)
	for _, f := range []*os.File{in.r, out.w, errs.w} {
		_ = f.Close() // The program has its own.
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the program does not start: %w", err), in.w.Close(), out.r.Close(), errs.r.Close())
	}
	p := &child{process: running, in: in.w, out: out.r, exited: make(chan struct{})}
	p.stderr.Go(func() { tell(errs.r, log) })
	go p.run(errs.r)
	return p, nil
}

// run waits for the end of the program.
func (p *child) run(errs *os.File) {
	p.wait()
	// Somebody else may still hold the other ends.
	_ = p.out.SetReadDeadline(time.Now().Add(drainWait))
	_ = errs.SetReadDeadline(time.Now().Add(drainWait))
	close(p.exited)
}

// stop ends it: its input ends, then it is asked to, then killed, with all that it has started. It returns when it has ended.
func (p *child) stop() {
	p.once.Do(func() {
		_ = p.in.Close()
		for _, s := range []struct {
			wait   time.Duration
			signal signal
		}{{stopWait, terminate}, {termWait, kill}, {killWait, giveUp}} {
			if p.ended(s.wait) {
				break
			}
			p.signal(s.signal)
		}
	})
	<-p.exited
	p.stderr.Wait()
	_ = p.out.Close()
}

// cut kills it at once.
func (p *child) cut() {
	p.signal(kill)
	p.stop()
}

func (p *child) ended(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// environment is that of a program: never that of the agent, which may hold keys. It is not nil, which would stand for all of it.
func environment(names []string) []string {
	env := []string{}
	for _, name := range names {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

type pipe struct{ r, w *os.File }

func pipes(n int) ([]pipe, error) {
	var all []pipe
	for range n {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range all {
				err = errors.Join(err, p.r.Close(), p.w.Close())
			}
			return nil, err
		}
		all = append(all, pipe{r, w})
	}
	return all, nil
}

// input is the input of a program. One that does not read it is given up.
type input struct{ *os.File }

// unsentError says that nothing of a message has left.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

func (i input) Write(p []byte) (int, error) {
	if err := i.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return 0, &unsentError{err}
	}
	n, err := i.File.Write(p)
	if err != nil && n == 0 {
		err = &unsentError{err}
	}
	return n, err
}

// tell logs the error output of a program, line by line, and reads on where nothing is logged any more: a full pipe would stop it. The
// lines may tell what a call was about, so they are for those who ask for them.
func tell(r *os.File, log *zap.Logger) {
	defer r.Close() //nolint:errcheck // only read
	in := bufio.NewReaderSize(r, maxLine)
	for range maxLines {
		line, more, err := in.ReadLine()
		if err != nil {
			return
		}
		log.Debug("mcp server says", zap.String("line", tool.PlainLine(string(line), maxLine)), zap.Bool("cut", more))
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
	}
	log.Debug("mcp server says more, which is not logged")
	_, _ = io.Copy(io.Discard, in)
}
