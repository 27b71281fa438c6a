//go:build !unix

package mcpserver

import "syscall"

type signal int

const (
	terminate signal = iota
	kill
)

func attributes() *syscall.SysProcAttr { return nil }

// keepDescriptors has nothing to do: descriptors are inherited by name here.
func keepDescriptors() {}

// reap waits until the program has ended.
func (p *child) reap() {
	_ = p.cmd.Wait() // How it ended, nobody asks: that it did is what counts.
	p.forget()
}

// signal ends the program alone: there are no process groups here.
func (p *child) signal(signal) { _ = p.cmd.Process.Kill() }
