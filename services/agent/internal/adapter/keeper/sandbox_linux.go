package keeper

import (
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// MinLandlock is the first version that knows of truncation: before it a program could empty files that it may not open.
const MinLandlock = 3

// Landlock is the version that the kernel has; 0 for none.
func Landlock() int {
	v, err := landlocksys.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// CanConfine says why no program can be kept out of files here.
func CanConfine() error {
	if v := Landlock(); v < MinLandlock {
		return fmt.Errorf("the Linux kernel must have Landlock %d (Linux 6.2, and landlock among its lsm), or a program could not be kept out of other files; it has %d", MinLandlock, v)
	}
	return nil
}

// Restrict holds this process to files and folders, and away from signals and abstract sockets of others where Landlock knows them (Linux
// 6.12). The network it leaves. Nothing of another process that is not held the same way can be had through /proc from then on.
func Restrict(files ...landlock.Rule) error {
	c := landlock.V11
	c.HandledAccessNet = 0
	if err := c.BestEffort().Restrict(files...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

// DropPrivileges leaves of root's capabilities those by which it writes to files of other users: what files they reach Landlock says.
// Programs that are set-uid are as any others from then on. It holds for the thread, and for what it becomes.
func DropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("privileges of set-uid programs cannot be given up: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("capabilities cannot be read: %w", err)
	}
	stays := have[0].Permitted & (1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER)
	left := [2]unix.CapUserData{{Effective: stays, Permitted: stays}}
	if err := unix.Capset(&header, &left[0]); err != nil {
		return fmt.Errorf("capabilities cannot be given up: %w", err)
	}
	return nil
}
