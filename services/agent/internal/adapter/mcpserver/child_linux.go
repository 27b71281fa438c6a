package mcpserver

import (
	"errors"
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes of a program: a process group of its own, and its end together with ours.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// keepDescriptors has no program inherit a descriptor that this process has inherited itself: those that Go opens are passed on to nobody.
func keepDescriptors() {
	const first = 3 // behind those that a program has anyway
	if unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		keepEach(first) // before Linux 5.11
	}
}

// reap waits until the program has ended, and has what it has started go with it. Until it is waited for nobody else gets its number, so
// that the group can be killed by it.
func (p *child) reap() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.signal(kill)
	p.forget()
	_ = p.cmd.Wait() // How it ended, nobody asks: that it did is what counts.
}
