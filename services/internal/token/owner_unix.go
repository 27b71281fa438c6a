//go:build unix

package token

import (
	"os"
	"syscall"
)

// writable says whether others than its owner may write a file.
func writable(info os.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

// readable says whether others than its owner may read a file.
func readable(info os.FileInfo) bool { return info.Mode().Perm()&0o044 != 0 }

// keepOwner gives the file the owner that the one before it had: the service may run as another user than the person who writes.
func keepOwner(path string, before os.FileInfo) error {
	was, ok := before.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	now, err := os.Stat(path)
	if err != nil {
		return err
	}
	if is, ok := now.Sys().(*syscall.Stat_t); ok && is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return os.Chown(path, int(was.Uid), int(was.Gid))
}
