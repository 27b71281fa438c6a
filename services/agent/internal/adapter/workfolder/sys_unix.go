//go:build linux || darwin

package workfolder

import (
	"io/fs"
	"syscall"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// canProve says that files have numbers that outlive the process.
const canProve = true

// stat is what the system knows of a file.
type stat struct {
	folder.Identity
	links    uint64
	uid, gid int
	// changed is when anything of it last changed, also its name, in nanoseconds.
	changed int64
}

func statOf(info fs.FileInfo) stat {
	sys, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stat{}
	}
	return stat{
		//nolint:unconvert // Their width differs between machines.
		folder.Identity{Device: uint64(sys.Dev), Inode: sys.Ino}, uint64(sys.Nlink), int(sys.Uid), int(sys.Gid), changedAt(sys),
	}
}
