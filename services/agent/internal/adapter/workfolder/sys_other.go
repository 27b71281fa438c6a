//go:build !linux && !darwin

package workfolder

import (
	"errors"
	"io/fs"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// canProve says that files have no numbers here by which a change could be proved after a crash: folders may only be read.
const canProve = false

// stat is what the system knows of a file: how many names it has is not told here.
type stat struct {
	folder.Identity
	links    uint64
	uid, gid int
	changed  int64
}

func statOf(fs.FileInfo) stat { return stat{} }

func mountOf(*os.File) (uint64, error) { return 0, nil }

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func exchange(*os.File, string, string) error { return errors.ErrUnsupported }

func renameNew(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }

func renamePlain(*os.File, string, *os.File, string) error { return errors.ErrUnsupported }

func hold(*os.Root, string) (*os.File, error) { return nil, errors.ErrUnsupported }

func warnings(string, fs.FileInfo) []string { return nil }
