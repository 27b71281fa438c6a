package roots

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// The bounds of a walk.
const (
	maxDepth   = 6
	maxFolders = 2000
	skillFile  = "SKILL.md"
)

// Skills finds the skills below a folder, in the order of their paths. A folder with a SKILL.md is a skill, and no other is looked
// for in it. Links within the folders of the settings are followed, each folder once; what else is wrong is told, and the others stay.
func (r *Roots) Skills(root sysprompt.SkillRoot, strict bool) ([]sysprompt.SkillFile, []sysprompt.SkillReport) {
	folder := r.folders[root.Root]
	w := walk{roots: r, root: root.Root, mount: root.Mount, strict: strict, seen: map[string]bool{}}
	if w.mount == "" {
		w.mount = folder.Mount
	}
	if why := r.Trouble(root.Root); why != "" {
		w.tell("", "the folder cannot be read: "+why)
		return nil, w.reports
	}
	w.folder(".", 0)
	if n := len(w.deep); n > 0 {
		why := fmt.Sprintf("no skill is looked for in the folders in it, which are more than %d deep", maxDepth)
		if n > 1 {
			why += fmt.Sprintf("; nor in those of %d other folders", n-1)
		}
		w.tell(w.deep[0], why)
	}
	return w.found, w.reports
}

type walk struct {
	roots       *Roots
	root, mount string
	strict      bool
	// seen are the folders that were walked, as they are without links.
	seen map[string]bool
	full bool
	// deep are the folders whose own are too deep to be walked.
	deep    []string
	found   []sysprompt.SkillFile
	reports []sysprompt.SkillReport
}

func (w *walk) tell(name, why string) {
	w.reports = append(w.reports, sysprompt.SkillReport{Name: path.Join(w.root, named(name)), What: sysprompt.Refused, Why: why})
}

// named is a path as a report has it, in one line. A name on a disk may be any bytes, and a reply has only UTF-8: others, and ends of lines,
// stand as in Go, \xff and \n.
func named(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 }) {
		return name
	}
	return strings.Trim(strconv.QuoteToGraphic(name), `"`)
}

// folder walks one folder.
func (w *walk) folder(name string, depth int) {
	dir, at, state := w.open(name)
	if state != "" {
		w.tell(name, state)
		return
	}
	defer dir.Close() //nolint:errcheck // only read
	place, err := filepath.EvalSymlinks(filepath.Join(dir.Name(), at))
	if err != nil || w.seen[place] {
		if err == nil {
			w.tell(name, "it is a folder that is listed already, or a loop of links")
		}
		return
	}
	if w.seen[place] = true; len(w.seen) > maxFolders {
		if !w.full {
			w.full = true
			w.tell(name, "there are more folders than are looked at (2000)")
		}
		return
	}
	entries, err := fs.ReadDir(dir.FS(), filepath.ToSlash(at))
	if err != nil {
		w.tell(name, "it cannot be read: "+reason(err))
		return
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == skillFile }) {
		w.skill(name)
		return
	}
	for _, e := range entries { // sorted
		if strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || !e.IsDir() && e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if depth == maxDepth {
			w.deep = append(w.deep, name)
			return
		}
		if !utf8.ValidString(e.Name()) {
			w.tell(path.Join(name, e.Name()), "its name is no UTF-8, so that no prompt can name what is in it: rename it")
			continue
		}
		w.folder(path.Join(name, e.Name()), depth+1)
	}
}

// open opens the folder of the settings that a name leads into, and gives the path in it; state says why it cannot be.
func (w *walk) open(name string) (dir *os.Root, at, state string) {
	dir, err := os.OpenRoot(w.roots.folders[w.root].Path)
	if err != nil {
		return nil, "", "it cannot be read: " + reason(err)
	}
	info, err := dir.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return dir, name, ""
	case err == nil:
		_ = dir.Close()
		return nil, "", "it is a link to no folder"
	}
	_ = dir.Close()
	if other, inside, ok := w.roots.allowed(w.root, name); ok {
		return other, inside, ""
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", "it is a link that leads nowhere"
	}
	return nil, "", "it is a link that leads out of the folders of the settings, or in a loop"
}

func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// skill reads the SKILL.md of a folder.
func (w *walk) skill(name string) {
	file := path.Join(name, skillFile)
	location := path.Join(w.mount, file)
	if !sysprompt.Printable(location) {
		w.tell(file, "its path has blanks or characters that a prompt does not print as they are, so that no tool could read it: rename the folder")
		return
	}
	data, _, state := w.roots.read(w.root, file)
	if state != sysprompt.FileOK {
		w.tell(file, map[sysprompt.FileState]string{
			sysprompt.FileBlocked: "it is a link that leads out of the folders of the settings", sysprompt.FileTooLarge: "it is over 4 MiB",
		}[state])
		if last := &w.reports[len(w.reports)-1]; last.Why == "" {
			last.Why = "it cannot be read"
		}
		return
	}
	h, err := parse(data, path.Base(name), w.strict)
	if err != nil {
		w.tell(file, err.Error())
		return
	}
	for _, warning := range h.Warnings {
		w.reports = append(w.reports, sysprompt.SkillReport{Name: path.Join(w.root, file), What: sysprompt.Guessed, Why: warning})
	}
	sum := sha256.Sum256(data)
	w.found = append(w.found, sysprompt.SkillFile{
		Skill: sysprompt.Skill{
			Name: h.Name, Description: h.Description, Location: location,
			Root: w.root, Path: file, Digest: hex.EncodeToString(sum[:]),
		},
		Needs: sysprompt.Needs{OS: h.OS, Bins: h.Bins, Env: h.Env, Config: h.Config},
	})
}
