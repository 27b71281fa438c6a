// Package toolsfile reads what sessions may reach from YAML: the folders that they may work in, those that they may only read, the programs that
// they may run and the MCP servers whose tools they have.
package toolsfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/execchild"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/mcpserver"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/workfolder"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/toolbox"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// maxRoots bounds the folders of a file.
const maxRoots = 100

// File is a tools file. The zero value reaches nothing.
type File struct {
	// Roots are folders that a session may be made with. ReadRoots are those that every session may read, under their mounts.
	Roots     []Root `yaml:"roots"`
	ReadRoots []Root `yaml:"read_roots"`
	// Exec are the programs that sessions may run in their work folder, Servers the MCP servers whose tools they have.
	Exec    execchild.Config   `yaml:"exec"`
	Servers []mcpserver.Config `yaml:"servers"`
}

// Root is a folder of the disk.
type Root struct {
	// Name is what sessions and approvals call it.
	Name string `yaml:"name"`
	// Path is the folder: absolute, or relative to where the process runs.
	Path string `yaml:"path"`
	// Mount is the path by which a prompt names a folder that may only be read, such as /skills.
	Mount string `yaml:"mount"`
	// ReadOnly refuses every change in a work folder.
	ReadOnly bool `yaml:"read_only"`
	// Namespaces are those that may use it; none: all.
	Namespaces []string `yaml:"namespaces"`
	// Protected are patterns of names that are never read, listed or changed, beside those of the house.
	Protected []string `yaml:"protected"`
	// AskHardLinks has reads of files with several names asked about, where they are refused else.
	AskHardLinks bool `yaml:"ask_hard_links"`
}

// Load reads a tools file; an empty path gives one that reaches nothing. The error names the file and everything that is wrong in it.
func Load(name string) (File, error) {
	if name == "" {
		return Parse(nil)
	}
	f, err := os.Open(name)
	if err != nil {
		return File{}, fmt.Errorf("the tools file: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, yamlx.MaxBytes+1))
	if err != nil {
		return File{}, fmt.Errorf("the tools file: %w", err)
	}
	read, err := Parse(text)
	if err != nil {
		return File{}, fmt.Errorf("the tools file %s:\n%w", name, err)
	}
	return read, nil
}

// Parse reads the text of a tools file. The error has everything that is wrong: with lines where it cannot be read.
func Parse(text []byte) (File, error) {
	f := File{Exec: execchild.DefaultConfig()}
	if err := yamlx.Decode(text, &f); err != nil {
		return File{}, err
	}
	if err := errors.Join(f.check()...); err != nil {
		return File{}, err
	}
	return f, nil
}

func (f File) check() (wrong []error) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if n := len(f.Roots) + len(f.ReadRoots); n > maxRoots {
		add("there are %d folders, at most %d are taken", n, maxRoots)
	}
	seen := map[string]bool{}
	for i, r := range slices.Concat(f.Roots, f.ReadRoots) {
		at, reads := fmt.Sprintf("roots[%d]", i), i >= len(f.Roots)
		if reads {
			at = fmt.Sprintf("read_roots[%d]", i-len(f.Roots))
		}
		if !named(r.Name) {
			add("%s.name: must be 1 to 64 of a-z, 0-9, '_' and '-', and is %.80q", at, r.Name)
		}
		if seen[r.Name] {
			add("%s.name: %q stands twice", at, r.Name)
		}
		seen[r.Name] = true
		if r.Path == "" {
			add("%s.path: must be the path of a folder", at)
		}
		if good := path.IsAbs(r.Mount) && path.Clean(r.Mount) == r.Mount && r.Mount != "/"; reads != good && (reads || r.Mount != "") {
			add("%s.mount: must be %s", at, map[bool]string{true: "a path such as /skills, by which prompts name the folder", false: "empty: paths in a work folder are relative"}[reads])
		}
		for _, ns := range r.Namespaces {
			if !namespace.Valid(ns) {
				add("%s.namespaces: has %.80q, which is no namespace", at, ns)
			}
		}
	}
	for at, c := range map[string]config.Checker{"exec.": f.Exec, "": mcpserver.Settings{Servers: f.Servers}} {
		var p config.Problems
		c.Check(&p)
		var e *config.Error
		if errors.As(p.Err(), &e) {
			for _, line := range e.Lines {
				add("%s%s", at, line)
			}
		}
	}
	return wrong
}

func named(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// Opened are the folders of a file, and what runs programs in them.
type Opened struct {
	Work map[string]toolbox.Folder
	Read []toolbox.Folder
	// Programs run in the work folder of the name; empty where exec is off.
	Programs map[string]toolbox.Program
	closers  []io.Closer
}

// Close gives all folders back.
func (o *Opened) Close() (err error) {
	for _, c := range o.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Open opens all folders. own are the files and folders of this program: a folder that holds one of them or lies in one is refused, and no
// program reads them (field/review-agent.md S11, S12). Close what is given, also with an error; the error has everything that is wrong.
func (f File) Open(own []string) (*Opened, error) {
	o := &Opened{Work: map[string]toolbox.Folder{}, Programs: map[string]toolbox.Program{}}
	var wrong error
	for _, r := range f.Roots {
		folder, err := o.open(r, r.ReadOnly, own)
		wrong, o.Work[r.Name] = errors.Join(wrong, err), folder
		if err == nil && f.Exec.On() {
			wrong = errors.Join(wrong, o.programs(f.Exec, r, own))
		}
	}
	for _, r := range f.ReadRoots {
		folder, err := o.open(r, true, own)
		wrong, o.Read = errors.Join(wrong, err), append(o.Read, folder)
	}
	return o, wrong
}

func (o *Opened) open(r Root, readOnly bool, own []string) (toolbox.Folder, error) {
	root, err := workfolder.Open(workfolder.Config{
		Name: r.Name, Path: r.Path, Mount: r.Mount, ReadOnly: readOnly, AskHardLinks: r.AskHardLinks, Protected: r.Protected,
	}, own)
	if err != nil {
		return toolbox.Folder{}, err
	}
	o.closers = append(o.closers, root)
	return toolbox.Folder{Root: root, Namespaces: r.Namespaces}, nil
}

func (o *Opened) programs(c execchild.Config, r Root, own []string) error {
	e, err := execchild.New(c, r.Path, own)
	if err != nil {
		return fmt.Errorf("root %q: %w", r.Name, err)
	}
	o.closers = append(o.closers, e)
	t, err := tool.Admit(e.Definition())
	o.Programs[r.Name] = toolbox.Program{Tool: t, Effect: e}
	return err
}
