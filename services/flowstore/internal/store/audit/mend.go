package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// RepairFolder holds what was damaged, as it was: `<time>/` and the path of the file in the tree.
const RepairFolder = ".flowstore/repair"

// Step is what Mend does to one file.
type Step struct {
	Path string
	// Text says what, to be read behind the path.
	Text string
	// to is where the file goes.
	to string
	// makes give, one behind the other, the file as it is to be, from what it is; without them it is moved away.
	makes []change
}

type change func(old []byte) ([]byte, error)

// PlanOptions ask for what is not done unasked.
type PlanOptions struct {
	// Current has a reader's place that is not there become the one that is taken for it.
	Current bool
}

// Plan says what Mend would do about a report, by path: one step for each file. The report needs to hold all findings, so
// Options.Most must not have cut it.
func Plan(r Report, o PlanOptions) []Step {
	var steps []Step
	at := map[string]int{}
	taken := moves{tree: r.tree}
	for _, f := range r.Findings {
		s := Step{Path: f.Path}
		switch {
		case f.By == store.ByRepairAsked && o.Current:
			s.Text, s.makes = "current becomes what is taken for it", []change{withCurrent}
		case f.By != store.ByRepair:
			continue
		case f.Kind == store.DamageTrashName:
			moved, ok := taken.step(r.tree.files[f.Path])
			if !ok {
				continue
			}
			s = moved
		case f.Kind == store.DamageTemporary:
			s.Text = "is moved away"
		case f.Kind == store.DamageLineEnds && r.tree.files[f.Path] != nil:
			s.Text, s.makes = "gets line feeds", []change{r.tree.files[f.Path].withLF}
		default:
			p := r.tree.placeOf(f.Path)
			s = Step{Path: p.index(), Text: "is written anew from the files", makes: []change{r.tree.indexOf(p)}}
		}
		i, planned := at[s.Path]
		switch {
		case !planned:
			at[s.Path] = len(steps)
			steps = append(steps, s)
		case !strings.Contains(steps[i].Text, s.Text):
			// Line ends come last among the kinds and are changed first: a comment behind a carriage return is hard to keep.
			steps[i].Text += ", " + s.Text
			steps[i].makes = append(s.makes, steps[i].makes...)
			steps[i].to = cmp.Or(steps[i].to, s.to)
		}
	}
	slices.SortFunc(steps, func(a, b Step) int { return strings.Compare(a.Path, b.Path) })
	return steps
}

// Mend does the steps of a plan, in a tree that nobody works on meanwhile. Before it changes the first file, it keeps all of
// them. It stops at the first error; what is done is done, and the plan of another look does the rest.
func Mend(fsys filesys.FS, steps []Step, stamp string) error {
	if len(steps) == 0 {
		return nil
	}
	if err := Keep(fsys, steps, stamp); err != nil {
		return err
	}
	for _, s := range steps {
		if err := s.Do(fsys); err != nil {
			return fmt.Errorf("%s: %w", s.Path, err)
		}
	}
	return nil
}

// Keep copies the files of a plan, durably, to RepairFolder/stamp, which must not be there.
func Keep(fsys filesys.FS, steps []Step, stamp string) error {
	folder := path.Join(RepairFolder, stamp)
	if err := newFolder(fsys, folder); err != nil {
		return err
	}
	for _, s := range steps {
		if err := keep(fsys, s.Path, path.Join(folder, s.Path)); err != nil {
			return fmt.Errorf("keep %s: %w", s.Path, err)
		}
	}
	return nil
}

func newFolder(fsys filesys.FS, folder string) error {
	if err := ensureAll(fsys, path.Dir(folder)); err != nil {
		return err
	}
	if err := fsys.Mkdir(folder); err != nil {
		return fmt.Errorf("make the folder for what is mended: %w", err)
	}
	return fsys.SyncDir(path.Dir(folder))
}

func ensureAll(fsys filesys.FS, folder string) error {
	if folder == "." {
		return nil
	}
	if err := ensureAll(fsys, path.Dir(folder)); err != nil {
		return err
	}
	return filesys.EnsureDir(fsys, folder)
}

// keep copies a file; one that is not there needs no copy.
func keep(fsys filesys.FS, from, to string) error {
	data, err := fsys.ReadFile(from, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return put(fsys, to, data)
}

// Do does one step; the file must have been kept. *LeftError.
func (s Step) Do(fsys filesys.FS) error {
	if s.makes != nil {
		if err := s.rewrite(fsys); err != nil || s.to == "" {
			return err
		}
	}
	if s.to != "" {
		return s.move(fsys)
	}
	if err := fsys.Remove(s.Path); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(s.Path))
}

func (s Step) rewrite(fsys filesys.FS) error {
	data, err := fsys.ReadFile(s.Path, maxIndex)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, change := range s.makes {
		if data, err = change(data); err != nil {
			return err
		}
	}
	if err := filesys.Replace(fsys, s.Path, data); err != nil {
		return err
	}
	return fsys.SyncDir(path.Dir(s.Path))
}

// LeftError says that a file could not be mended, and was left as it is.
type LeftError struct{ Reason string }

func (e *LeftError) Error() string { return e.Reason }

var errChanged = &LeftError{"it is not what it was when it was looked at; look again"}

func (f *file) withLF(old []byte) ([]byte, error) {
	data := withLF(old)
	if !f.sameValue(old, data) {
		return nil, errChanged
	}
	return data, nil
}

// withCurrent writes the reader's place that a look takes, and nothing else.
func withCurrent(old []byte) ([]byte, error) {
	f, err := format.DecodeFlow(old)
	if err != nil {
		return nil, errChanged
	}
	data, kept := format.UpdateFlow(old, f)
	if !kept { // It would be written anew, and lose what is not a flow's.
		return nil, &LeftError{"its YAML cannot be edited without altering something else; set current in an editor"}
	}
	return data, nil
}

func (p place) index() string { return path.Join(p.folder, "index.tsv") }

// placeOf gives the place of a file or index.
func (t *tree) placeOf(file string) place {
	if f := t.files[file]; f != nil {
		return f.place
	}
	at := slices.IndexFunc(places, func(p place) bool { return p.index() == file })
	return places[at]
}

// indexOf makes an index from the files, in the order of the tree.
func (t *tree) indexOf(p place) change {
	return func([]byte) ([]byte, error) {
		text := []byte(format.IndexHeader)
		for _, f := range t.sorted() {
			if f.place == p && t.indexed(f) {
				text = format.AppendRow(text, format.Row{Path: f.row(), ID: f.id, Time: f.time})
			}
		}
		return text, nil
	}
}
