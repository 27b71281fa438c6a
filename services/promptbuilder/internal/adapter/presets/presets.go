// Package presets reads the presets file: choices for story prompts under names (docs/story-prompt.md).
package presets

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

//go:embed default.yaml
var standard []byte

// maxPresets bounds a file: ListPresets has no pages.
const maxPresets = 64

// nameForm is what a name looks like, as that of a backend.
var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// file is a presets file.
type file struct {
	Presets map[string]yamlx.Node `yaml:"presets"`
}

// Load gives the preset of each wrapping, and those of a presets file beside or instead of them; an empty path is no file.
// The error names the file and every problem in it with line and key.
func Load(path string) (map[string]story.Preset, error) {
	all, err := Parse(standard)
	if err != nil || path == "" {
		return all, err
	}
	text, err := yamlx.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the presets file: %w", err)
	}
	own, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the presets file %s:\n%w", path, err)
	}
	maps.Copy(all, own)
	return all, nil
}

// Parse reads the text of a presets file. The error is a *yamlx.Error with every problem.
func Parse(text []byte) (map[string]story.Preset, error) {
	root, err := yamlx.Parse(text)
	if err != nil {
		return nil, err
	}
	p := &parser{}
	var f file
	p.decode("", root, &f)
	if n := len(f.Presets); n == 0 || n > maxPresets {
		p.add("presets", yamlx.Get(root, "presets"), "there are %d; there must be from 1 to %d", n, maxPresets)
	}
	all := map[string]story.Preset{}
	for _, name := range slices.Sorted(maps.Keys(f.Presets)) {
		node := f.Presets[name]
		all[name] = p.preset(name, &node)
	}
	if len(p.wrong.Problems) > 0 {
		return nil, &p.wrong
	}
	return all, nil
}

// parser collects what is wrong with a file.
type parser struct{ wrong yamlx.Error }

func (p *parser) add(path string, node *yamlx.Node, format string, args ...any) {
	p.wrong.Problems = append(p.wrong.Problems, yamlx.Problem{Path: path, Node: node, Message: fmt.Sprintf(format, args...)})
}

// decode fills dst from the node at path, and gives the keys that it could not read.
func (p *parser) decode(path string, node *yamlx.Node, dst any) map[string]bool {
	var wrong *yamlx.Error
	if !errors.As(yamlx.DecodeNode(node, dst), &wrong) {
		return nil
	}
	unread := map[string]bool{}
	for _, problem := range wrong.Problems {
		unread[problem.Path] = true
		problem.Path = join(path, problem.Path)
		p.wrong.Problems = append(p.wrong.Problems, problem)
	}
	return unread
}

func (p *parser) preset(name string, node *yamlx.Node) story.Preset {
	path := "presets." + name
	if !nameForm.MatchString(name) {
		p.add(path, node, "a name is 1 to 63 small letters, digits, dots, dashes and underscores, and begins with a letter or digit")
	}
	var e entry
	unread := p.decode(path, node, &e)
	preset := e.preset(name)
	for _, v := range preset.Check() {
		if !unread[v.Field] { // else it is what the key stands at when it is left out
			p.add(join(path, v.Field), find(node, v.Field), "%s", v.Description)
		}
	}
	return preset
}

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

// find gives the node of a key such as `sampling.stop[1]`, or the nearest around it that is there.
func find(node *yamlx.Node, key string) *yamlx.Node {
	for level := range strings.SplitSeq(strings.ReplaceAll(key, "[", ".["), ".") {
		next := yamlx.Get(node, level)
		if i, err := strconv.Atoi(strings.Trim(level, "[]")); err == nil && node.Kind == yamlx.Sequence && i < len(node.Content) {
			next = node.Content[i]
		}
		if next == nil {
			break
		}
		node = next
	}
	return node
}
