// Package promptsfile reads the prompts file: folders that prompts may be made from, sections of every system prompt, and what
// stands in for what a request leaves open (docs/system-prompt.md).
package promptsfile

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/sysprompt"
)

// Settings are what a prompts file says.
type Settings struct {
	Folders  map[string]sysprompt.Folder
	Defaults sysprompt.Defaults
}

// maxRoots bounds the folders of a file.
const maxRoots = 64

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// file is a prompts file. Agents are the names that seed 003 has for system.defaults.
type file struct {
	Roots  map[string]root `yaml:"roots"`
	System struct {
		Defaults defaults  `yaml:"defaults"`
		Sections []section `yaml:"sections"`
	} `yaml:"system"`
	Agents struct {
		Defaults aliases `yaml:"defaults"`
	} `yaml:"agents"`
}

type root struct {
	Path  string `yaml:"path"`
	Mount string `yaml:"mount"`
}

type defaults struct {
	Workspace string `yaml:"workspace"`
	Zone      string `yaml:"user_timezone"`
	Format    string `yaml:"time_format"`
	MaxChars  int    `yaml:"bootstrap_max_chars"`
}

type aliases struct {
	Workspace string `yaml:"workspace"`
	Zone      string `yaml:"userTimezone"`
	Format    string `yaml:"timeFormat"`
	MaxChars  int    `yaml:"bootstrapMaxChars"`
}

// section is a sysprompt.Custom as the file has it.
type section struct {
	ID        string   `yaml:"id"`
	Heading   string   `yaml:"heading"`
	Text      string   `yaml:"text"`
	Class     string   `yaml:"class"`
	Modes     []string `yaml:"modes"`
	Order     int      `yaml:"order"`
	Untrusted bool     `yaml:"untrusted"`
}

var (
	classes = map[string]sysprompt.Class{"": sysprompt.Unset, "identity": sysprompt.Identity, "stable": sysprompt.Stable, "session": sysprompt.Session, "volatile": sysprompt.Volatile}
	modes   = map[string]sysprompt.Mode{"full": sysprompt.Full, "minimal": sysprompt.Minimal}
)

// Load reads a prompts file; an empty path is no file. Paths in it are relative to its folder. The error names the file and
// every problem in it with line and key.
func Load(name string) (Settings, error) {
	if name == "" {
		return Settings{}, nil
	}
	text, err := yamlx.ReadFile(name)
	if err != nil {
		return Settings{}, fmt.Errorf("the prompts file: %w", err)
	}
	s, err := Parse(text, filepath.Dir(name))
	if err != nil {
		return Settings{}, fmt.Errorf("the prompts file %s:\n%w", name, err)
	}
	return s, nil
}

// Parse reads the text of a prompts file that is in a folder. The error is a *yamlx.Error with every problem.
func Parse(text []byte, dir string) (Settings, error) {
	tree, err := yamlx.Parse(text)
	if err != nil {
		return Settings{}, err
	}
	var f file
	if err := yamlx.DecodeNode(tree, &f); err != nil {
		return Settings{}, err
	}
	p := &problems{tree: tree}
	s := Settings{Folders: p.folders(f.Roots, dir), Defaults: sysprompt.Defaults{
		Workspace:  one(p, "workspace", f.System.Defaults.Workspace, f.Agents.Defaults.Workspace),
		Zone:       one(p, "user_timezone", f.System.Defaults.Zone, f.Agents.Defaults.Zone),
		TimeFormat: one(p, "time_format", f.System.Defaults.Format, f.Agents.Defaults.Format),
		MaxChars:   one(p, "bootstrap_max_chars", f.System.Defaults.MaxChars, f.Agents.Defaults.MaxChars),
		Sections:   p.sections(f.System.Sections),
	}}
	for _, v := range sysprompt.CheckDefaults(s.Defaults) {
		p.add(v.Field, "%s", v.Description)
	}
	slices.SortStableFunc(p.wrong.Problems, func(a, b yamlx.Problem) int { return cmp.Compare(a.Node.Line, b.Node.Line) })
	if len(p.wrong.Problems) > 0 {
		return Settings{}, &p.wrong
	}
	return s, nil
}

// problems collects what is wrong with a file.
type problems struct {
	tree  *yamlx.Node
	wrong yamlx.Error
}

func (p *problems) add(path, format string, args ...any) {
	node, rest := nearest(p.tree, path)
	if key := strings.TrimPrefix(path, "system.defaults."); rest != "" && otherNames[key] != "" {
		if other, rest := nearest(p.tree, "agents.defaults."+otherNames[key]); rest == "" {
			node = other
		}
	}
	p.wrong.Problems = append(p.wrong.Problems, yamlx.Problem{Path: path, Node: node, Message: fmt.Sprintf(format, args...)})
}

// otherNames are the keys of aliases, by those of defaults.
var otherNames = map[string]string{"workspace": "workspace", "user_timezone": "userTimezone", "time_format": "timeFormat", "bootstrap_max_chars": "bootstrapMaxChars"}

// nearest follows a path, such as `system.sections[1].class`, as far as the file has it, and gives what of it the file has not.
func nearest(n *yamlx.Node, path string) (at *yamlx.Node, rest string) {
	for {
		next, left := step(n, path)
		if next == nil || left == path {
			return n, path
		}
		n, path = next, left
	}
}

// step follows the first element of a path. A key may have dots in it.
func step(n *yamlx.Node, path string) (next *yamlx.Node, rest string) {
	if n.Kind == yamlx.Sequence {
		number, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(number); err == nil && i < len(n.Content) {
			return n.Content[i], strings.TrimPrefix(rest, ".")
		}
		return nil, path
	}
	if n.Kind != yamlx.Mapping {
		return nil, path
	}
	rest = path
	for i := 0; i+1 < len(n.Content); i += 2 {
		after, found := strings.CutPrefix(path, n.Content[i].Value)
		if found && len(after) < len(rest) && (after == "" || after[0] == '.' || after[0] == '[') {
			next, rest = n.Content[i+1], after
		}
	}
	return next, strings.TrimPrefix(rest, ".")
}

// one takes the value of a key or of its other name; both must not differ.
func one[T comparable](p *problems, key string, value, alias T) T {
	var none T
	if value != none && alias != none && value != alias {
		p.add("system.defaults."+key, "and its other name under agents.defaults differ; leave one of them out")
	}
	return cmp.Or(value, alias)
}

func (p *problems) folders(all map[string]root, dir string) map[string]sysprompt.Folder {
	if len(all) > maxRoots {
		p.add("roots", "there are %d; there may be at most %d", len(all), maxRoots)
	}
	folders := map[string]sysprompt.Folder{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		if !nameForm.MatchString(name) {
			p.add("roots."+name, "a name is 1 to 63 small letters, digits, dots, dashes and underscores, and begins with a letter or digit")
		}
		folder := sysprompt.Folder{Path: r.Path, Mount: cmp.Or(r.Mount, "/"+name)}
		if err := folder.Check(); err != nil {
			p.add("roots."+name, "%v", err)
		}
		if !filepath.IsAbs(folder.Path) {
			folder.Path = filepath.Join(dir, folder.Path)
		}
		folders[name] = folder
	}
	return folders
}

func (p *problems) sections(all []section) []sysprompt.Custom {
	var out []sysprompt.Custom
	for i, s := range all {
		path := fmt.Sprintf("system.sections[%d]", i)
		class, ok := classes[s.Class]
		if !ok {
			p.add(path+".class", "must be identity, stable, session or volatile, and is %.40q", s.Class)
		}
		c := sysprompt.Custom{ID: s.ID, Heading: s.Heading, Text: s.Text, Class: class, Order: s.Order, Untrusted: s.Untrusted}
		for j, word := range s.Modes {
			mode, ok := modes[word]
			if !ok {
				p.add(fmt.Sprintf("%s.modes[%d]", path, j), "must be full or minimal, and is %.40q", word)
			}
			c.Modes = append(c.Modes, mode)
		}
		out = append(out, c)
	}
	return out
}
