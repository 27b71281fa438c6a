//go:build unix && !linux

package mcpserver

import (
	"syscall"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
)

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func closeOnExec() error { return keeper.CloseOnExec() }

func (p *process) send(s signal) {
	number := syscall.SIGKILL
	if s == terminate {
		number = syscall.SIGTERM
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, number) // It may be gone.
}
