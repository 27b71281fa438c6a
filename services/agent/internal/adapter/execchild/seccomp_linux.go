package execchild

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// processors are those whose calls of the system the filter knows, by Go's word for them.
var processors = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64}

// Offsets in what a filter is given (struct seccomp_data of linux/seccomp.h), of numbers in this machine's order, which is little-endian
// for all of processors.
const (
	atNumber = 0
	atArch   = 4
	atFirst  = 16 // the first argument; each has 8 bytes
	atSecond = 24
)

// x32 marks the calls of another convention that an amd64 kernel may have, with numbers of its own.
const x32 = 0x40000000

// offline takes the network away for good: no socket of any kind can be had but a pair whose ends know nobody but each other, neither by
// the usual calls nor by io_uring, which no filter sees into, nor out of another process. It needs no privileges, and holds where network
// namespaces cannot be had, as in most containers.
func offline(r request) error {
	if r.Network {
		return nil
	}
	arch, ok := processors[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("on this processor (%s) the network cannot be taken away; exec.allow_network leaves it", runtime.GOARCH)
	}
	filter := socketFilter(arch)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	runtime.KeepAlive(filter)
	if err != nil {
		return fmt.Errorf("the network cannot be taken away (seccomp: %w); exec.allow_network leaves it", err)
	}
	return nil
}

func socketFilter(arch uint32) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		above = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		and   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		give  = unix.BPF_RET | unix.BPF_K
		kind  = 0xf // of a socket, without its flags
	)
	// Jt and Jf are how many lines are left out where it is so, and where not.
	return []unix.SockFilter{
		{Code: load, K: atArch},
		{Code: equal, K: arch, Jt: 0, Jf: 14}, // -> kill
		{Code: load, K: atNumber},
		{Code: above, K: x32, Jt: 12},                       // -> kill
		{Code: equal, K: unix.SYS_SOCKET, Jt: 10},           // -> refuse
		{Code: equal, K: unix.SYS_IO_URING_SETUP, Jt: 9},    // -> refuse
		{Code: equal, K: unix.SYS_PIDFD_GETFD, Jt: 8},       // -> refuse
		{Code: equal, K: unix.SYS_SOCKETPAIR, Jt: 0, Jf: 6}, // -> allow
		{Code: load, K: atFirst},
		{Code: equal, K: unix.AF_UNIX, Jt: 0, Jf: 5}, // -> refuse
		{Code: load, K: atSecond},
		{Code: and, K: kind},
		{Code: equal, K: unix.SOCK_STREAM, Jt: 1},           // -> allow
		{Code: equal, K: unix.SOCK_SEQPACKET, Jt: 0, Jf: 1}, // -> refuse: one of datagrams can write to an address
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
		{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)},
		{Code: give, K: unix.SECCOMP_RET_KILL_PROCESS},
	}
}
