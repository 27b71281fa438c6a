//go:build unix && !linux

package mcpserver

import "syscall"

// attributes of a program: a process group of its own. That it ends with a killed agent, this system does not promise: its input ends then.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// keepDescriptors has no program inherit a descriptor that this process has inherited itself: those that Go opens are passed on to nobody.
func keepDescriptors() { keepEach(3) }

// reap waits until the program has ended, and has what it has started go with it.
func (p *child) reap() {
	_ = p.cmd.Wait() // How it ended, nobody asks: that it did is what counts.
	p.signal(kill)
	p.forget()
}
