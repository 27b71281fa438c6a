// Package roots reads the folders that the settings name: files of a workspace, and skills. Nothing outside of them is read,
// wherever a link leads (field/systemprompt-rules.md 1.3, 1.4).
package roots

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// Roots is a sysprompt.Roots. Safe for concurrent use.
type Roots struct{ folders map[string]sysprompt.Folder }

// New makes Roots over folders by name. They are opened anew by each call: a folder may come later, or be replaced.
func New(folders map[string]sysprompt.Folder) *Roots { return &Roots{folders} }

// Names gives all names, sorted.
func (r *Roots) Names() []string { return slices.Sorted(maps.Keys(r.folders)) }

// Trouble says why a folder cannot be read; empty where it can.
func (r *Roots) Trouble(root string) string {
	dir, err := os.OpenRoot(r.folders[root].Path)
	if err != nil {
		return reason(err)
	}
	_ = dir.Close()
	return ""
}

// Files reads files of a folder, in the order of the names. Two names of one file have the same Same.
func (r *Roots) Files(root string, names []string) []sysprompt.File {
	files := make([]sysprompt.File, len(names))
	infos := make([]fs.FileInfo, len(names))
	for i, name := range names {
		f := sysprompt.File{Name: name, Root: root, State: sysprompt.FileOK}
		f.Content, infos[i], f.State = r.read(root, name)
		if infos[i] != nil {
			f.Same = name
			for j := range i {
				if infos[j] != nil && os.SameFile(infos[i], infos[j]) {
					f.Same = files[j].Same
					break
				}
			}
		}
		files[i] = f
	}
	return files
}

// Digest is the SHA-256 of a file, in hex; empty where it cannot be read.
func (r *Roots) Digest(root, name string) string {
	data, _, state := r.read(root, name)
	if state != sysprompt.FileOK {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// read reads a file through os.Root, so that no link leads out of the folder while it is opened.
func (r *Roots) read(root, name string) ([]byte, fs.FileInfo, sysprompt.FileState) {
	dir, err := os.OpenRoot(r.folders[root].Path)
	if err != nil {
		return nil, nil, missingOr(err, sysprompt.FileUnreadable)
	}
	defer dir.Close() //nolint:errcheck // only read
	data, info, err := readIn(dir, name)
	if err == nil {
		return data, info, sysprompt.FileOK
	}
	if state := linked(dir, name); state != "" {
		if other, path, ok := r.allowed(root, name); ok {
			defer other.Close() //nolint:errcheck // only read
			if data, info, err = readIn(other, path); err == nil {
				return data, info, sysprompt.FileOK
			}
		} else if !errors.Is(err, errTooLarge) {
			return nil, nil, state
		}
	}
	if errors.Is(err, errTooLarge) {
		return nil, nil, sysprompt.FileTooLarge
	}
	return nil, nil, missingOr(err, sysprompt.FileUnreadable)
}

func missingOr(err error, state sysprompt.FileState) sysprompt.FileState {
	if errors.Is(err, fs.ErrNotExist) {
		return sysprompt.FileMissing
	}
	return state
}

var (
	errTooLarge = errors.New("it is too large")
	errNoFile   = errors.New("it is no file")
)

// readIn reads a regular file of at most sysprompt.MaxFile bytes. What else it may be, such as a pipe, is not opened.
func readIn(dir *os.Root, name string) ([]byte, fs.FileInfo, error) {
	info, err := dir.Stat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNoFile
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(f, sysprompt.MaxFile+1))
	if err == nil && len(data) > sysprompt.MaxFile {
		err = errTooLarge
	}
	return data, info, err
}

// linked says what a name is that could not be read, if a link is on the way to it: a link that leads out, or nowhere.
func linked(dir *os.Root, name string) sysprompt.FileState {
	at := ""
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		at = filepath.Join(at, part)
		info, err := dir.Lstat(at)
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if _, err := dir.Stat(at); errors.Is(err, fs.ErrNotExist) {
			return sysprompt.FileUnreadable
		} else if err != nil {
			return sysprompt.FileBlocked
		}
	}
	return ""
}

// allowed finds the folder of the settings that a link leads into, and the path in it.
func (r *Roots) allowed(root, name string) (dir *os.Root, path string, ok bool) {
	target, err := filepath.EvalSymlinks(filepath.Join(r.folders[root].Path, name))
	if err != nil {
		return nil, "", false
	}
	for _, other := range r.Names() {
		base, err := filepath.EvalSymlinks(r.folders[other].Path)
		if err != nil {
			continue
		}
		inside, err := filepath.Rel(base, target)
		if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
			continue
		}
		if dir, err = os.OpenRoot(base); err == nil {
			return dir, inside, true
		}
	}
	return nil, "", false
}
