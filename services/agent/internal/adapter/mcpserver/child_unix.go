//go:build unix

package mcpserver

import (
	"os"
	"strconv"
	"syscall"
)

type signal = syscall.Signal

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

// signal sends a signal to the process group.
func (p *child) signal(s signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, s) // It may be gone.
}

// keepEach is keepDescriptors, one by one.
func keepEach(first int) {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return // Those of Go are passed on to nobody, and where it cannot be told which others there are, there are hardly any.
	}
	for _, f := range open {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd >= first {
			syscall.CloseOnExec(fd)
		}
	}
}
