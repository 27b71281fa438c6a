package mcpserver

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
)

// Names under which a process knows that it is a child, and the descriptor of the program's input in the keeper.
const (
	keeperName  = "tsumugi-mcp-keeper"
	leaderName  = "tsumugi-mcp-leader"
	keeperInput = keeper.KeeperFiles
)

// forKeepers is the environment of keepers. Tests under the race detector have something in it.
var forKeepers []string

// Roles are those of the children that a server is started by.
func Roles() keeper.Roles { return keeper.Roles{keeperName: keep, leaderName: lead} }

// request is what a keeper is asked to do.
type request struct {
	Argv, Env []string
	Dir       string
	// Hidden is what the program must not reach, by absolute paths. Unconfined: it may reach everything.
	Hidden     []string
	Unconfined bool
}

// order is what a keeper is asked later: to have the program asked to end.
type order struct{ Terminate bool }

// report says that a program was started, or why not.
type report struct{ Trouble string }

// process is the keeper of a program: it ends when nothing of the program is left.
type process struct {
	cmd   *exec.Cmd
	tells *os.File
	// mu is for orders: as long as it is open the program may run.
	mu     sync.Mutex
	orders *os.File
	asks   *gob.Encoder
}

// launch starts a program under a keeper.
func launch(ctx context.Context, c Config, hidden []string, in, out, errs *os.File) (*process, error) {
	if err := keeper.CanConfine(); err != nil && !c.Unconfined {
		return nil, fmt.Errorf("%w; %s", err, howUnconfined)
	}
	p, err := begin(in, out, errs)
	if err != nil {
		return nil, err
	}
	late := context.AfterFunc(ctx, func() {
		p.signal(kill)
		_ = p.tells.SetReadDeadline(time.Now().Add(killWait))
	})
	r := request{Argv: c.Command, Env: environment(c.Env), Dir: c.WorkDir, Hidden: hidden, Unconfined: c.Unconfined}
	var said report
	err = errors.Join(p.asks.Encode(r), gob.NewDecoder(p.tells).Decode(&said))
	switch {
	case !late():
		err = ctx.Err()
	case err != nil:
		err = fmt.Errorf("its keeper does not answer: %w", err)
	case said.Trouble != "":
		err = errors.New(said.Trouble)
	default:
		return p, nil
	}
	p.signal(kill) // by the keeper, which takes with it what the program has started already
	timer := time.AfterFunc(stopWait, func() { p.signal(giveUp) })
	p.wait()
	timer.Stop()
	return nil, err
}

// begin starts a keeper.
func begin(in, out, errs *os.File) (*process, error) {
	pipes, err := pipes(2)
	if err != nil {
		return nil, err
	}
	asks, tells := pipes[0], pipes[1]
	p := &process{tells: tells.r, orders: asks.w, asks: gob.NewEncoder(asks.w)}
	if p.cmd, err = keeper.Command(keeperName, forKeepers, tells.w, in); err == nil {
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = asks.r, out, errs
		err = p.cmd.Start()
	}
	_, _ = asks.r.Close(), tells.w.Close() // The keeper has its own.
	if err != nil {
		return nil, errors.Join(err, asks.w.Close(), tells.r.Close())
	}
	return p, nil
}

// wait waits for the end of the keeper. How it ended, nobody asks: that it did is what counts.
func (p *process) wait() {
	_ = p.cmd.Wait()
	p.signal(kill) // There is nobody to hear it.
	_ = p.tells.Close()
}

// signal has the keeper ask the program to end, or end all of it, which it does as well when this process is no more. One that does not do
// so is killed, and the program with it.
func (p *process) signal(s signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s {
	case terminate:
		_ = p.orders.SetWriteDeadline(time.Now().Add(writeWait))
		_ = p.asks.Encode(order{Terminate: true}) // A keeper that is gone does not read it.
	case kill:
		_ = p.orders.Close()
	case giveUp:
		_ = p.orders.Close()
		_ = p.cmd.Process.Kill()
	}
}

// keep runs a program and ends all of it.
func keep() int {
	k, err := keeper.Enter()
	if err != nil {
		return k.Report(report{Trouble: err.Error()})
	}
	var r request
	if err := k.Read(&r); err != nil {
		return k.Report(report{Trouble: "it was stopped before it began"})
	}
	f, why, err := keeper.Begin(leaderName, r, os.NewFile(keeperInput, "input"), os.Stdout, os.Stderr)
	if err != nil {
		return k.Report(report{Trouble: err.Error()})
	}
	letGo()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for k.Read(&order{}) == nil {
			f.Signal(unix.SIGTERM)
		}
	}()
	go func() {
		select {
		case <-f.Ended():
		case <-stopped:
		}
		f.End()
	}()
	trouble, err := io.ReadAll(why) // It ends when the leader becomes the program, or ends.
	if err != nil {
		trouble = []byte(err.Error())
	}
	code := k.Report(report{Trouble: string(trouble)})
	<-f.Gone()
	return code
}

// letGo gives up the keeper's own ends of the program's input and output: whoever is at the other end hears when the program has closed its.
func letGo() {
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		for _, fd := range []int{keeperInput, int(os.Stdout.Fd())} {
			_ = unix.Dup3(int(null.Fd()), fd, unix.O_CLOEXEC)
		}
	}
}

// lead puts on the sandbox and becomes the program.
func lead() int {
	var r request
	return keeper.Lead(&r, func() error {
		if err := syscall.Chdir(r.Dir); err != nil {
			return fmt.Errorf("the folder %s cannot be entered: %w", r.Dir, err)
		}
		if !r.Unconfined {
			if err := confine(r); err != nil {
				return err
			}
		}
		return keeper.Become(r.Argv, r.Env)
	})
}
