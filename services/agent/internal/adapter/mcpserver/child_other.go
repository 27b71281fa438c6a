//go:build !unix

package mcpserver

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }

// closeOnExec has nothing to do: descriptors are inherited by name here.
func closeOnExec() error { return nil }

// send ends the program alone: there are no process groups here.
func (p *process) send(signal) { _ = p.cmd.Process.Kill() }
