package workfolder

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/folder"
)

// chunk is how much is read before one looks whether it is still wanted, in bytes.
const chunk = 256 << 10

// openFile opens the regular file at a spot, with one name. It never waits: a pipe without a writer is refused, and what was opened is
// looked at, not what was there before (field/review-agent.md S2, S4).
func (r *Root) openFile(s *spot, raw string, links bool) (*os.File, fs.FileInfo, error) {
	if kind := kindOf(s.info); kind != folder.KindFile {
		return nil, nil, folder.WrongKind(raw, kind)
	}
	f, err := s.dir.OpenFile(s.base, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, told(raw, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case kindOf(info) != folder.KindFile || !os.SameFile(info, s.info):
		err = errMoved
	case statOf(info).links > 1 && !links:
		err = &folder.Refusal{
			Code: folder.HardLink, Path: folder.Show(raw), Ask: r.config.AskHardLinks,
			Reason: "the file has other names, which may be outside of the work folder (hard links)",
		}
	default:
		err = r.onMount(f, raw)
	}
	if err != nil {
		return nil, nil, told(raw, errors.Join(err, f.Close()))
	}
	return f, info, nil
}

// digest reads a file to its end: its hash and size, and its content where it has at most keep bytes. *Refusal above most.
func digest(ctx context.Context, f *os.File, raw string, keep, most int64) (data []byte, hash folder.Hash, size int64, err error) {
	sum := sha256.New()
	info, err := f.Stat()
	if err != nil {
		return nil, "", 0, told(raw, err)
	}
	buffer := make([]byte, min(chunk, info.Size()+1))
	for {
		if err := ctx.Err(); err != nil {
			return nil, "", 0, err
		}
		n, err := f.Read(buffer)
		sum.Write(buffer[:n])
		if size += int64(n); size > most {
			return nil, "", size, folder.TooLong(raw, size, most)
		}
		if size <= keep {
			data = append(data, buffer[:n]...)
		} else {
			data = nil
		}
		if errors.Is(err, io.EOF) {
			return data, folder.Sum([sha256.Size]byte(sum.Sum(nil))), size, nil
		}
		if err != nil {
			return nil, "", size, told(raw, err)
		}
	}
}

// state finds what a change of a cleaned path would change.
func (r *Root) state(ctx context.Context, raw string) (folder.State, error) {
	s, err := r.find(ctx, raw, noFollow)
	if err != nil {
		return folder.State{}, err
	}
	defer s.close()
	return r.stateAt(ctx, s, raw)
}

func (r *Root) stateAt(ctx context.Context, s *spot, raw string) (folder.State, error) {
	st := folder.State{Path: s.path(), Kind: kindOf(s.info), Hash: folder.Absent}
	switch st.Kind {
	case folder.Nothing:
		for i := range s.below {
			st.NewFolders = append(st.NewFolders, path.Join(append([]string{s.at, s.base}, s.below[:i]...)...))
		}
		return st, r.twin(s, raw)
	case folder.KindLink:
		var err error
		if st.Target, err = s.dir.Readlink(s.base); err != nil {
			return folder.State{}, told(raw, err)
		}
		st.Hash = folder.LinkHash(st.Target)
		return st, nil
	case folder.KindFile:
	default:
		st.Hash = ""
		return st, nil
	}
	f, info, err := r.openFile(s, raw, false)
	if err != nil {
		return folder.State{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	st.Mode, st.SetID = uint32(info.Mode().Perm()), info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0
	if info.Size() > folder.MaxHashed {
		return folder.State{}, folder.TooLong(raw, info.Size(), folder.MaxHashed)
	}
	st.Content, st.Hash, st.Size, err = digest(ctx, f, raw, folder.MaxDiff, folder.MaxHashed)
	return st, err
}

// twin refuses a new name beside one that is the same to the eye: its composed form is equal.
func (r *Root) twin(s *spot, raw string) error {
	if isASCII(s.base) {
		return nil
	}
	names, _, err := readNames(s.self, r)
	if err != nil {
		return told(raw, err)
	}
	for _, name := range names {
		if name != s.base && norm.NFC.String(name) == norm.NFC.String(s.base) {
			return folder.Refuse(folder.Exists, raw, "a file with the same name in another Unicode form is there: "+folder.Show(name))
		}
	}
	return nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// Read implements folder.Root.
func (r *Root) Read(ctx context.Context, name string, o folder.ReadOptions) (folder.Content, error) {
	name, err := r.rules.Clean(name, folder.Read)
	if err != nil {
		return folder.Content{}, err
	}
	s, err := r.find(ctx, name, follow)
	if err != nil {
		return folder.Content{}, err
	}
	defer s.close()
	f, info, err := r.openFile(s, name, o.HardLinks && r.config.AskHardLinks)
	if err != nil {
		return folder.Content{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	if info.Size() > folder.MaxContent {
		return folder.Content{}, folder.TooLong(name, info.Size(), folder.MaxContent)
	}
	data, hash, _, err := digest(ctx, f, name, folder.MaxContent, folder.MaxContent)
	if err == nil {
		err = folder.CheckText(name, data)
	}
	if err != nil {
		return folder.Content{}, err
	}
	return folder.Content{Path: s.path(), Text: data, Hash: hash, Mode: uint32(info.Mode().Perm()), Modified: info.ModTime().UnixNano()}, nil
}

// Stat implements folder.Root. A link is told of as itself.
func (r *Root) Stat(ctx context.Context, name string) (folder.Entry, error) {
	name, err := r.rules.Clean(name, folder.Read)
	if err != nil {
		return folder.Entry{}, err
	}
	s, err := r.find(ctx, name, noFollow)
	if err != nil {
		return folder.Entry{}, err
	}
	defer s.close()
	if s.info == nil {
		return folder.Entry{}, folder.WrongKind(name, folder.Nothing)
	}
	return entry(s.dir, s.base, s.info), nil
}

// List implements folder.Root.
func (r *Root) List(ctx context.Context, name, after string) (folder.Listing, error) {
	name, err := r.rules.Clean(name, folder.Read)
	if err != nil {
		return folder.Listing{}, err
	}
	s, err := r.find(ctx, name, enter)
	if err != nil {
		return folder.Listing{}, err
	}
	defer s.close()
	if kind := kindOf(s.info); kind != folder.KindFolder {
		return folder.Listing{}, notFolder(name, kind)
	}
	names, unnameable, err := readNames(s.self, r)
	if err != nil {
		return folder.Listing{}, told(name, err)
	}
	l := folder.Listing{Path: path.Clean(s.path()), Unnameable: unnameable}
	for _, n := range names {
		if n <= after {
			continue
		}
		if len(l.Entries) == folder.MaxEntries {
			l.More = true
			break
		}
		if err := ctx.Err(); err != nil {
			return folder.Listing{}, err
		}
		info, err := s.dir.Lstat(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue // It went away meanwhile.
		}
		if err != nil {
			return folder.Listing{}, told(name, err)
		}
		l.Entries = append(l.Entries, entry(s.dir, n, info))
	}
	return l, nil
}

func notFolder(name string, kind folder.Kind) error {
	if kind == folder.Nothing {
		return folder.WrongKind(name, kind)
	}
	return folder.Refuse(folder.WrongType, name, "it is no folder")
}

// readNames gives the names of a folder that a path can name, sorted, without those that are protected or reserved, whose number is not
// told either; and how many no path can name.
func readNames(dir *os.File, r *Root) (names []string, unnameable int, err error) {
	all, err := dir.Readdirnames(folder.MaxNames + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	if _, err := dir.Seek(0, io.SeekStart); err != nil { // For whoever lists it next.
		return nil, 0, err
	}
	if len(all) > folder.MaxNames {
		return nil, 0, folder.Refuse(folder.TooLarge, r.config.Name, "a folder has more names than are looked at")
	}
	for _, name := range all {
		if r.rules.Name(name) != nil {
			continue
		}
		if _, err := r.rules.Clean(name, folder.Read); err != nil {
			unnameable++
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, unnameable, nil
}

func entry(dir *os.Root, name string, info fs.FileInfo) folder.Entry {
	e := folder.Entry{Name: name, Kind: kindOf(info), Mode: uint32(info.Mode().Perm()), Modified: info.ModTime().UnixNano(), Links: statOf(info).links}
	switch e.Kind {
	case folder.KindFile:
		e.Size = info.Size()
	case folder.KindLink:
		if target, err := dir.Readlink(name); err == nil {
			e.Target = target
		}
	}
	return e
}

func kindOf(info fs.FileInfo) folder.Kind {
	switch {
	case info == nil:
		return folder.Nothing
	case info.Mode().IsRegular():
		return folder.KindFile
	case info.IsDir():
		return folder.KindFolder
	case info.Mode()&fs.ModeSymlink != 0:
		return folder.KindLink
	}
	return folder.KindOther
}
