// Package keepertest has tests see what becomes of programs on a system that lacks what holds them.
package keepertest

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls that a system may lack: all of Landlock, and filters of system calls.
const (
	Landlock = iota
	Seccomp
)

// Lack has the kernel refuse a call to this process from now on, as one that has never heard of it.
func Lack(what int) error {
	const whole, one = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	const atNumber, atFirst = 0, 16
	filter := []unix.SockFilter{{Code: whole, K: atNumber}, {Code: one, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 1}}
	if what == Seccomp {
		filter = []unix.SockFilter{
			{Code: whole, K: atNumber},
			{Code: one, K: unix.SYS_PRCTL, Jf: 3},
			{Code: whole, K: atFirst},
			{Code: one, K: unix.PR_SET_SECCOMP, Jf: 1},
		}
	}
	filter = append(filter,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}
