package execchild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
)

// unhooked is the name of a program that does not call Child.
const unhooked = "unhooked"

// Where the system lacks what holds a program, nothing runs, and the reason is told. The network is the one thing that settings may leave.
func TestNothingRunsUnheld(t *testing.T) {
	t.Parallel()
	need(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ lacks, network, want string }{
		{"nothing", "without network", "ready"},
		{"landlock", "without network", "no program can be run here: the Linux kernel must have Landlock 3"},
		{"landlock", "with network", "no program can be run here: the Linux kernel must have Landlock 3"},
		{"seccomp", "without network", "no program can be run here: the network cannot be taken away (seccomp: invalid argument); exec.allow_network leaves it"},
		{"seccomp", "with network", "ready"},
	} {
		t.Run(tt.lacks+" "+tt.network, func(t *testing.T) {
			t.Parallel()
			agent := exec.CommandContext(t.Context(), own)
			agent.Args = []string{"lacking", t.TempDir(), shell(t), tt.lacks, tt.network}
			said, err := agent.CombinedOutput()
			if err != nil || !strings.Contains(string(said), tt.want) {
				t.Errorf("%s, %v, want %q", said, err, tt.want)
			}
		})
	}
}

// Without Child this program would start itself as a whole instead of a keeper, and that one another.
func TestNothingRunsWithoutChild(t *testing.T) {
	t.Parallel()
	need(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.CommandContext(t.Context(), own)
	agent.Args = []string{unhooked, t.TempDir(), shell(t), "nothing", "without network"}
	if said, err := agent.CombinedOutput(); err != nil || !strings.Contains(string(said), keeper.ErrNotHooked.Error()) {
		t.Errorf("%s, %v", said, err)
	}
}

// lacking asks whether a program could be run on a system that lacks something.
func lacking(args []string) error {
	switch args[2] {
	case "landlock":
		if err := lack(unix.SYS_LANDLOCK_CREATE_RULESET, false); err != nil {
			return err
		}
	case "seccomp":
		if err := lack(unix.SYS_PRCTL, true); err != nil {
			return err
		}
	}
	c := DefaultConfig()
	c.Programs, c.AllowNetwork = map[string]string{"sh": args[1]}, args[3] == "with network"
	e, err := New(c, args[0], []string{filepath.Join(args[0], "..", "secret")})
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.Ready(context.Background()); err != nil {
		fmt.Println(err)
		return nil
	}
	fmt.Println("ready")
	return nil
}

// lack has the kernel refuse a call, as one that has never heard of it: any, or that which puts on a filter.
func lack(number uint32, filters bool) error {
	const whole, one = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	skip := uint8(3)
	filter := []unix.SockFilter{{Code: whole, K: atNumber}, {Code: one, K: number, Jf: skip}}
	if filters {
		filter = append(filter, unix.SockFilter{Code: whole, K: atFirst}, unix.SockFilter{Code: one, K: unix.PR_SET_SECCOMP, Jf: 1})
	} else {
		filter[1].Jf = 1
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
