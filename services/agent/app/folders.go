package app

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/execchild"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/promptbuilder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/toolbox"
)

// folders are the folders of a file, and what runs programs in them.
type folders struct {
	work map[string]toolbox.Folder
	read []toolbox.Folder
	// changed are the folders that sessions may change.
	changed []*workfolder.Root
	// programs run in the work folder of the name; empty where exec is off.
	programs map[string]toolbox.Program
	closers  []io.Closer
}

// headerFiles are the files with secrets that MCP servers are shown.
func (f ToolsFile) headerFiles() (all []string) {
	for _, s := range f.Servers {
		all = slices.AppendSeq(all, maps.Values(s.HeaderFiles))
	}
	slices.Sort(all)
	return all
}

// close gives all folders back.
func (o *folders) close() (err error) {
	for _, c := range o.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// open opens all folders. own are the files and folders of this program: a folder that holds one of them or lies in one is refused, and no
// program reads them (field/review-agent.md S11, S12); so is a work folder that overlaps another one, unless one of the two may only be read: the lock
// under which changes are made and proved is that of a root (C51). Whoever calls it closes what it gives, also with an error; the error has everything that is wrong.
func (f ToolsFile) open(own []string) (*folders, error) {
	o := &folders{work: map[string]toolbox.Folder{}, programs: map[string]toolbox.Program{}}
	var wrong error
	for _, r := range f.Roots {
		folder, err := o.add(r, r.ReadOnly, own)
		wrong, o.work[r.Name] = errors.Join(wrong, err), folder
		if err == nil && f.Exec.On() && !r.ReadOnly { // a program could change what is there
			wrong = errors.Join(wrong, o.addPrograms(f.Exec, r, own))
		}
	}
	for _, r := range f.ReadRoots {
		folder, err := o.add(r, true, own)
		wrong, o.read = errors.Join(wrong, err), append(o.read, folder)
	}
	return o, wrong
}

func (o *folders) add(r ToolsRoot, readOnly bool, own []string) (toolbox.Folder, error) {
	root, err := workfolder.Open(workfolder.Config{
		Name: r.Name, Path: r.Path, Mount: r.Mount, ReadOnly: readOnly, AskHardLinks: r.AskHardLinks, Protected: r.Protected,
	}, own)
	if err != nil {
		return toolbox.Folder{}, err
	}
	o.closers = append(o.closers, root)
	if !readOnly {
		err = o.alone(root)
		o.changed = append(o.changed, root)
	}
	return toolbox.Folder{Root: root, Namespaces: r.Namespaces}, err
}

// alone refuses a folder that sessions may change together with another one.
func (o *folders) alone(root *workfolder.Root) (wrong error) {
	for _, other := range o.changed {
		if root.Overlaps(other) {
			wrong = errors.Join(wrong, fmt.Errorf("root %q: it overlaps root %q: work folders must lie apart, unless one of the two is read_only, since each is locked by itself",
				root.About().Name, other.About().Name))
		}
	}
	return wrong
}

func (o *folders) addPrograms(c execchild.Config, r ToolsRoot, own []string) error {
	e, err := execchild.New(c, r.Path, own)
	if err != nil {
		return fmt.Errorf("root %q: %w", r.Name, err)
	}
	o.closers = append(o.closers, e)
	t, err := tool.Admit(e.Definition())
	o.programs[r.Name] = toolbox.Program{Tool: t, Effect: e}
	return err
}

// prompts gives what the prompts of a session are made of beside it.
func (f ToolsFile) prompts(s ledger.Session) promptbuilder.Folders {
	out := promptbuilder.Folders{FileChars: f.FileCharacters, TotalChars: f.BootstrapCharacters}
	for _, r := range f.Roots {
		if r.Name == s.Root {
			out.Bootstrap = r.Bootstrap
		}
	}
	for _, k := range f.Skills {
		out.Skills = append(out.Skills, promptbuilder.SkillRoot{Root: k.Root, Mount: k.Mount})
	}
	return out
}
