package app

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/execchild"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/mcpserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/config"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// Bounds of a file: folders, and characters of bootstrap files in a prompt.
const (
	maxRoots      = 100
	maxCharacters = 150_000
)

// ToolsFile says what sessions may reach: the folders that they may work in, those that they may only read, the programs that they may run and
// the MCP servers whose tools they have. The zero value reaches nothing.
type ToolsFile struct {
	// Roots are folders that a session may be made with. ReadRoots are those that every session may read, under their mounts.
	Roots     []ToolsRoot `yaml:"roots"`
	ReadRoots []ToolsRoot `yaml:"read_roots"`
	// Skills are folders in promptbuilder's settings whose skills prompts list, each with the mount of a read root by which the tool read finds them.
	Skills []ToolsSkills `yaml:"skills"`
	// FileCharacters and BootstrapCharacters are the most of a bootstrap file, and of all of them, that a prompt has.
	FileCharacters      int `yaml:"file_characters"`
	BootstrapCharacters int `yaml:"bootstrap_characters"`
	// Exec are the programs that sessions may run in their work folder, Servers the MCP servers whose tools they have.
	Exec    execchild.Config   `yaml:"exec"`
	Servers []mcpserver.Config `yaml:"servers"`
}

// ToolsSkills is a folder with skills.
type ToolsSkills struct {
	// Root is its name in promptbuilder's settings, Mount the path under which a read root here has it.
	Root  string `yaml:"root"`
	Mount string `yaml:"mount"`
}

// ToolsRoot is a folder of the disk.
type ToolsRoot struct {
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
	// Bootstrap is the name of a folder in promptbuilder's settings that has the files which the prompts of its sessions begin with, such as
	// AGENTS.md; empty: there are none.
	Bootstrap string `yaml:"bootstrap"`
	// AskHardLinks has reads of files with several names asked about, where they are refused else.
	AskHardLinks bool `yaml:"ask_hard_links"`
}

// loadTools reads a tools file; an empty path gives one that reaches nothing. The error names the file and everything that is wrong in it.
func loadTools(name string) (ToolsFile, error) {
	if name == "" {
		return parseTools(nil)
	}
	text, err := yamlx.ReadFile(name)
	if err != nil {
		return ToolsFile{}, fmt.Errorf("the tools file: %w", err)
	}
	read, err := parseTools(text)
	if err != nil {
		return ToolsFile{}, fmt.Errorf("the tools file %s:\n%w", name, err)
	}
	return read, nil
}

// parseTools reads the text of a tools file. The error has everything that is wrong: with lines where it cannot be read.
func parseTools(text []byte) (ToolsFile, error) {
	f := ToolsFile{Exec: execchild.DefaultConfig(), FileCharacters: 4000, BootstrapCharacters: 12_000}
	if err := yamlx.Decode(text, &f); err != nil {
		return ToolsFile{}, err
	}
	if err := errors.Join(f.check()...); err != nil {
		return ToolsFile{}, err
	}
	return f, nil
}

func (f ToolsFile) check() (wrong []error) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if n := len(f.Roots) + len(f.ReadRoots); n > maxRoots {
		add("there are %d folders, at most %d are taken", n, maxRoots)
	}
	if f.FileCharacters < 1 || f.BootstrapCharacters < f.FileCharacters || f.BootstrapCharacters > maxCharacters {
		add("file_characters and bootstrap_characters: must be from 1 to %d, the second no less than the first", maxCharacters)
	}
	mounts := map[string]bool{}
	for _, r := range f.ReadRoots {
		mounts[r.Mount] = true
	}
	for i, s := range f.Skills {
		if s.Root == "" || !mounts[s.Mount] {
			add("skills[%d]: must have the name of a folder in promptbuilder's settings as root, and the mount of one of read_roots", i)
		}
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
