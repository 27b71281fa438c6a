package sysprompt

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/template"
)

// checkRoots finds folders that the settings do not have.
func (b *Builder) checkRoots(r Request) []Violation {
	known := b.roots.Names()
	var wrong []Violation
	check := func(field, root string) {
		if !slices.Contains(known, root) {
			wrong = append(wrong, Violation{field, fmt.Sprintf("the settings have no folder %q; they have %s", shown(root), cmp.Or(strings.Join(known, ", "), "none (`roots`)"))})
		}
	}
	if r.Bootstrap.Root != "" {
		check("bootstrap.root", r.Bootstrap.Root)
	}
	for i, root := range r.SkillRoots {
		check(fmt.Sprintf("skill_roots[%d].root", i), root.Root)
	}
	if s := r.Snapshot; s != nil {
		for i, f := range s.Files {
			if f.Root != "" {
				check(fmt.Sprintf("snapshot.files[%d].root", i), f.Root)
			}
		}
		for i, k := range s.Skills {
			if k.Root != "" {
				check(fmt.Sprintf("snapshot.skills[%d].root", i), k.Root)
			}
		}
	}
	return wrong
}

// ownTexts tells what was cleaned out of texts of the request, and which placeholders of the default texts those of the request have not: what stands for them is in no prompt.
func (d *Draft) ownTexts(locale string) {
	for _, c := range template.Cleaned(d.Texts) {
		d.diagnostics = append(d.diagnostics, Diagnostic{Code: "text_cleaned", Part: c.ID, Message: c.What})
	}
	for _, lost := range template.Lost(locale, d.Texts) {
		if lost.ID == idIdentity && (d.Identity != "" || d.Product == "") {
			continue // The name in it is no word of the caller, or the text is not used.
		}
		d.diagnostics = append(d.diagnostics, Diagnostic{Code: "text_without", Part: lost.ID, Message: lost.Problem})
	}
}

// read takes the files and skills of the request and of its folders. Its error is that of ctx.
func (d *Draft) read(ctx context.Context, roots Roots) (err error) {
	files := d.Files
	var late []File
	if d.Snapshot != nil {
		files, d.found, d.refused = d.Snapshot.Files, d.Snapshot.Skills, d.Snapshot.Notes
		d.compare(roots)
		late = d.sinceSnapshot(roots)
		slices.Sort(d.stale)
	} else {
		d.found = slices.Clone(d.Skills)
		for _, root := range d.SkillRoots {
			d.readSkills(roots, root)
		}
		if root := d.Bootstrap.Root; root != "" {
			if why := roots.Trouble(root); why != "" {
				d.tell("folder_unreadable", idFiles, "the folder %q of the settings cannot be read, so that its files are missing: %s", root, why)
			}
			files = d.readFiles(roots)
		}
	}
	d.all = files
	chosen, others := d.choose(files, late)
	d.files, err = layOut(ctx, chosen, slices.Concat(others, late), d.Bootstrap, d.prints)
	return err
}

// compare notes what of a snapshot has another source now: in a folder, or in the request, which is not read either.
func (d *Draft) compare(roots Roots) {
	for _, f := range d.Files {
		same := func(s File) bool {
			return s.Root == "" && s.Name == f.Name && s.Class == f.Class && s.Priority == f.Priority && bytes.Equal(s.Content, f.Content)
		}
		if !slices.ContainsFunc(d.Snapshot.Files, same) {
			d.stale = append(d.stale, f.Name)
		}
	}
	for _, k := range d.Skills {
		if !slices.Contains(d.Snapshot.Skills, k) {
			d.stale = append(d.stale, k.Name)
		}
	}
	for _, f := range d.Snapshot.Files {
		if f.Root != "" && (roots.Digest(f.Root, f.Name) != fileDigest(f)) {
			d.stale = append(d.stale, f.Root+":"+f.Name)
		}
	}
	for _, s := range d.Snapshot.Skills {
		if s.Root != "" && roots.Digest(s.Root, s.Path) != s.Digest {
			d.stale = append(d.stale, s.Root+":"+s.Path)
		}
	}
}

// sinceSnapshot are files that the request asks for, which are there and were not read when the snapshot was taken: that holds, so that
// they are not printed, and the reply says so.
func (d *Draft) sinceSnapshot(roots Roots) (late []File) {
	taken := func(name string) bool {
		return slices.ContainsFunc(d.Snapshot.Files, func(f File) bool { return f.Name == name })
	}
	for _, f := range d.Files { // Those are stale already.
		if !taken(f.Name) && (d.Bootstrap.List == nil || slices.Contains(*d.Bootstrap.List, f.Name)) {
			late = append(late, f)
		}
	}
	if d.Bootstrap.Root != "" {
		for _, f := range roots.Files(d.Bootstrap.Root, slices.DeleteFunc(d.wanted(), taken)) {
			if f.State != FileMissing {
				d.stale = append(d.stale, f.Root+":"+f.Name)
				late = append(late, f)
			}
		}
	}
	for _, f := range late {
		d.tell("file_not_in_snapshot", idFiles, "%s is there, and is not printed: the snapshot was taken without it; take a new one", shown(f.Name))
	}
	return late
}

// wanted are the names of the files that are looked for in a folder.
func (d *Draft) wanted() []string {
	if d.Bootstrap.List != nil {
		return slices.Clone(*d.Bootstrap.List)
	}
	return slices.Concat(rootFiles, rootMore)
}

func fileDigest(f File) string {
	if cmp.Or(f.State, FileOK) != FileOK {
		return ""
	}
	return digest(string(f.Content))
}

func (d *Draft) readSkills(roots Roots, root SkillRoot) {
	found, reports := roots.Skills(root, d.Strict)
	d.refused = append(d.refused, reports...)
	for _, s := range found {
		s.Priority = root.Priority
		if lacks := d.Facts.lacks(s.Needs); lacks != "" {
			d.refused = append(d.refused, SkillReport{s.Name, NotEligible, "it asks for " + lacks})
			continue
		}
		if n := max(len(s.Name), len(s.Location)); n > maxLine {
			d.refused = append(d.refused, SkillReport{root.Root + "/" + s.Path, Refused, fmt.Sprintf("its name and its location must have at most %d bytes each, and one has %d", maxLine, n)})
			continue
		}
		d.found = append(d.found, s.Skill)
	}
}

// lacks names what is asked for and not there; without facts nothing is judged.
func (f *Facts) lacks(needs Needs) string {
	if f == nil {
		return ""
	}
	if len(needs.OS) > 0 && !slices.Contains(needs.OS, f.OS) {
		return "the operating system " + strings.Join(needs.OS, " or ")
	}
	for _, need := range []struct {
		what        string
		asked, have []string
	}{{"the program ", needs.Bins, f.Bins}, {"the environment variable ", needs.Env, f.Env}, {"the setting ", needs.Config, f.Config}} {
		for _, name := range need.asked {
			if !slices.Contains(need.have, name) {
				return need.what + name
			}
		}
	}
	return ""
}

// readFiles reads the files of a folder: those of the list, else its own.
func (d *Draft) readFiles(roots Roots) []File {
	files := roots.Files(d.Bootstrap.Root, d.wanted())
	return slices.DeleteFunc(files, func(f File) bool {
		return d.Bootstrap.List == nil && f.State == FileMissing && slices.Contains(rootMore, f.Name)
	})
}

// choose takes the files that are printed, those of the list or all but those that the mode leaves out, and gives the others. What the
// list names and is in neither files nor late is missing.
func (d *Draft) choose(files, late []File) (chosen, others []File) {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Name, b.Name) }) // for the order of what is told
	if d.Bootstrap.List == nil {
		chosen = slices.DeleteFunc(files, func(f File) bool {
			out := d.Mode == Minimal && slices.Contains(fullOnly, path.Base(f.Name))
			if out {
				others = append(others, f)
				d.tell("file_left_out", idFiles, "%s is not printed in mode MINIMAL; bootstrap.list can name it", shown(f.Name))
			}
			return out
		})
		return chosen, others
	}
	for _, name := range *d.Bootstrap.List {
		is := func(f File) bool { return f.Name == name }
		switch at := slices.IndexFunc(files, is); {
		case at >= 0:
			chosen = append(chosen, files[at])
		case !slices.ContainsFunc(late, is):
			chosen = append(chosen, File{Name: name, State: FileMissing})
		}
	}
	where := "was sent"
	if d.Snapshot != nil {
		where = "is in the snapshot"
	}
	for _, f := range files {
		if !slices.Contains(*d.Bootstrap.List, f.Name) {
			others = append(others, f)
			d.tell("file_not_listed", idFiles, "%s %s, and bootstrap.list does not name it", shown(f.Name), where)
		}
	}
	return chosen, others
}

// snapshot is what was read, in the form of a request.
func (d *Draft) snapshot() *Snapshot {
	if !d.ReturnSnapshot {
		return nil
	}
	return &Snapshot{Files: d.all, Skills: d.found, Notes: d.refused}
}
