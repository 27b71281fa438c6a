package mcpserver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
)

const (
	// maxSeen is how many files and folders may stand in the folders that hold something hidden. Each is a rule of the kernel.
	maxSeen = 20_000
	// maxSteps is how many names and links of one path are followed.
	maxSteps = 1000
)

// confine holds this process to all files but the hidden ones, without privileges. Landlock has rules that allow and none that forbid: so
// a folder in which something hidden lies, however deep, is opened to nobody, and what stands in it now, beside that, is opened each by
// itself. Nobody can list such a folder, or make, move and delete anything directly in it, so that nothing hidden is moved to where it can
// be reached. What is not there yet is hidden, too. A name that a hidden file has elsewhere, as a hard link or by another mount, is not seen.
func confine(r request) error {
	v, err := look(r.Hidden)
	if err != nil {
		return err
	}
	for what, path := range map[string]string{"program": r.Argv[0], "work_dir": r.Dir} {
		if v.hides(path) {
			return fmt.Errorf("its %s %s is or lies in what is this service's own, which it must not reach; %s", what, path, howUnconfined)
		}
	}
	err = keeper.Restrict(
		landlock.RWDirs(v.dirs...).WithRefer().WithIoctlDev().WithResolveUnix().IgnoreIfMissing(),
		landlock.RWFiles(v.files...).WithIoctlDev().WithResolveUnix().IgnoreIfMissing(),
		landlock.ROFiles(v.programs...).IgnoreIfMissing(),
	)
	if err != nil {
		return err
	}
	return keeper.DropPrivileges()
}

// inode tells a file or folder from others whatever its name is: on some disks A and a are one, and a folder may be mounted twice.
type inode struct{ device, number uint64 }

// find looks at a path without following a link; false where there is nothing that can be looked at.
func find(path string) (i inode, mode uint32, ok bool) {
	var s unix.Stat_t
	if err := unix.Lstat(path, &s); err != nil {
		return inode{}, 0, false
	}
	return inode{s.Dev, s.Ino}, s.Mode & unix.S_IFMT, true
}

// view is what a program may reach.
type view struct {
	// hidden are the files and folders that it may not, above are the folders in which they lie. names are those of the hidden, for what is
	// replaced by another file in this moment.
	hidden, above map[inode]bool
	names         map[string]bool
	// program is this one: it may be read and run by everybody, and changed by nobody.
	program inode
	// dirs may be reached with all that is below them.
	dirs, files, programs []string
	seen                  int
}

// look finds what there is beside the hidden paths, which are absolute.
func look(hidden []string) (*view, error) {
	v := &view{hidden: map[inode]bool{}, above: map[inode]bool{}, names: map[string]bool{}}
	var s unix.Stat_t
	if err := unix.Stat("/proc/self/exe", &s); err != nil {
		return nil, fmt.Errorf("this program cannot be found: %w", err)
	}
	v.program = inode{s.Dev, s.Ino}
	for _, path := range hidden {
		v.hide(path)
	}
	if err := v.hideDisks(); err != nil {
		return nil, err
	}
	root, _, _ := find("/")
	switch {
	case v.hidden[root]:
	case v.above[root]:
		if err := v.open("/"); err != nil {
			return nil, err
		}
	default:
		v.dirs = []string{"/"}
	}
	return v, nil
}

// hide hides what a path stands for. The links on the way to it stay what they are, since nothing can be changed where they stand: whoever
// could have another file in place of the tokens would make tokens.
func (v *view) hide(path string) {
	for _, at := range places(path) {
		v.names[at] = true
		if i, kind, ok := find(at); ok && kind != unix.S_IFLNK {
			v.hidden[i] = true
		}
		for at != "/" {
			at = filepath.Dir(at)
			if i, _, ok := find(at); ok {
				v.above[i] = true
			}
		}
	}
}

// places are the links that an absolute path leads through, and what it stands for in the end, each without a link above it. Of /proc there
// is nothing to hide: what is there of another process Landlock keeps apart.
func places(path string) (all []string) {
	at, rest := "/", strings.Split(path, "/")
	for range maxSteps { // Links may lead in a circle.
		if len(rest) == 0 {
			return append(all, at)
		}
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if next == "/proc" {
			return all
		}
		to, err := os.Readlink(next)
		if err != nil { // It is no link, or not there.
			at = next
			continue
		}
		all, rest = append(all, next), append(strings.Split(to, "/"), rest...)
		if filepath.IsAbs(to) {
			at = "/"
		}
	}
	return all
}

// disks are devices by whose bytes whoever may open them, such as root, gets at files past their folders, beside all block devices.
var disks = []string{"sg[0-9]*", "ng[0-9]*", "nvme[0-9]*", "bsg", "raw", "mem", "kmem", "port"}

// hideDisks hides the devices of disks.
func (v *view) hideDisks() error {
	const devices = "/dev"
	top, _, _ := find(devices)
	return filepath.WalkDir(devices, func(path string, d fs.DirEntry, _ error) error { // What cannot be listed is not opened either.
		if d == nil {
			return nil // There are no devices.
		}
		if err := v.count(path); err != nil {
			return err
		}
		i, kind, ok := find(path)
		switch {
		case !ok:
		case kind == unix.S_IFDIR && i.device != top.device: // shared memory and terminals
			return fs.SkipDir
		case kind == unix.S_IFBLK, filepath.Dir(path) == devices && isDisk(d.Name()):
			v.hide(path)
		}
		return nil
	})
}

func isDisk(name string) bool {
	for _, pattern := range disks {
		if ok, err := filepath.Match(pattern, name); err == nil && ok {
			return true
		}
	}
	return false
}

// open opens what stands in a folder that holds something hidden. What cannot be listed is opened to nobody.
func (v *view) open(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("what stands beside its hidden files cannot be listed: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	for {
		const some = 512
		names, err := f.Readdirnames(some)
		for _, name := range names {
			if err := v.add(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("what stands beside its hidden files cannot be listed: %w", err)
		}
	}
}

// add opens what stands beside something hidden, or holds it. A link is opened where it leads to.
func (v *view) add(path string) error {
	if err := v.count(path); err != nil {
		return err
	}
	i, kind, ok := find(path)
	switch {
	case !ok || kind == unix.S_IFLNK:
	case v.hidden[i] || v.names[path]:
		if i == v.program {
			v.programs = append(v.programs, path)
		}
	case kind == unix.S_IFDIR && v.above[i]:
		return v.open(path)
	case kind == unix.S_IFDIR:
		v.dirs = append(v.dirs, path)
	default:
		v.files = append(v.files, path)
	}
	return nil
}

// count refuses what would take too long.
func (v *view) count(path string) error {
	if v.seen++; v.seen > maxSeen {
		return fmt.Errorf("its sandbox cannot be made: more than %d files and folders stand beside what is this service's own, the last of them in %s; keep the data, tokens and settings of this service in folders with fewer, or %s", maxSeen, filepath.Dir(path), howUnconfined)
	}
	return nil
}

// hides says that a path stands for something hidden, or lies in it.
func (v *view) hides(path string) bool {
	at, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false // It is not there, which the start says.
	}
	for {
		if i, _, ok := find(at); ok && v.hidden[i] && i != v.program {
			return true
		}
		if at == "/" {
			return false
		}
		at = filepath.Dir(at)
	}
}
