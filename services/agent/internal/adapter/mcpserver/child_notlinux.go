//go:build !linux

package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
)

// Roles are none: nobody but the agent starts a server, on this system.
func Roles() keeper.Roles { return nil }

var errSystem = errors.New("only Linux can keep a program from what is this service's own")

// process is a program. That it ends with a killed agent, this system does not promise: its input ends then.
type process struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	gone bool // its number may be another's by now
}

// launch starts a program in a process group of its own, where there are some. The context of a call must not end it.
func launch(_ context.Context, c Config, _ []string, in, out, errs *os.File) (*process, error) {
	if !c.Unconfined {
		return nil, fmt.Errorf("%w; %s", errSystem, howUnconfined)
	}
	cmd := exec.Command(c.Command[0], c.Command[1:]...) //nolint:noctx // see above
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	cmd.Env, cmd.Dir, cmd.SysProcAttr = environment(c.Env), c.WorkDir, attributes()
	if err := closeOnExec(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: cmd}, nil
}

// wait waits until the program has ended, and has what it has started go with it.
func (p *process) wait() {
	_ = p.cmd.Wait() // How it ended, nobody asks: that it did is what counts.
	p.signal(kill)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
}

// signal sends a signal to the program with its process group.
func (p *process) signal(s signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		p.send(s)
	}
}
