package roots

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// head is what a SKILL.md says of its skill.
type head struct {
	Name, Description string
	// OS, Bins, Env and Config are what it asks for: one of the systems, and all of the others.
	OS, Bins, Env, Config []string
	// Warnings are what had to be guessed, each a sentence.
	Warnings []string
}

const fence = "---"

// parse reads the front matter: what stands between a first line `---` and a line `---` or the end. Where the name is missing, it
// is that of the folder. A value with a colon that is not quoted is read as it stands, with a warning; strict refuses it. The
// error is a sentence with line and column where it is about one.
func parse(data []byte, folder string, strict bool) (head, error) {
	text := passage.Body(string(data)).Text
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != fence {
		return head{}, errors.New("it has no front matter: its first line must be ---, then name and description, then --- again")
	}
	var lines []string
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == fence {
			break
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	h := head{}
	root, err := yamlx.Parse([]byte(strings.Join(lines, "\n")))
	if err != nil {
		quoted, changed := quote(lines)
		repaired, again := yamlx.Parse([]byte(strings.Join(quoted, "\n")))
		if again != nil || len(changed) == 0 {
			return head{}, fmt.Errorf("its front matter (line 1 is the one behind ---) %w", err)
		}
		if strict {
			return head{}, fmt.Errorf("the value of %s has a colon; put it in quotes", strings.Join(changed, ", "))
		}
		root = repaired
		h.Warnings = append(h.Warnings, "the value of "+strings.Join(changed, ", ")+" has a colon and no quotes; it was read as it stands")
	}
	return h.fill(root, folder)
}

// plain is a key with a value that is in no quotes, and of one line.
var plain = regexp.MustCompile(`^([A-Za-z_-]+):[ \t]+([^"'|>\[{#&*!%@` + "`" + `].*)$`)

// quote puts values with a colon in quotes, and names their keys.
func quote(lines []string) (quoted, changed []string) {
	for _, line := range lines {
		if m := plain.FindStringSubmatch(line); len(m) == 3 && strings.Contains(m[2]+" ", ": ") {
			line = m[1] + `: '` + strings.ReplaceAll(strings.TrimRight(m[2], " \t"), "'", "''") + "'"
			changed = append(changed, m[1])
		}
		quoted = append(quoted, line)
	}
	return quoted, changed
}

func (h head) fill(root *yamlx.Node, folder string) (head, error) {
	if root.Kind != yamlx.Mapping {
		return head{}, errors.New("its front matter must be keys and values")
	}
	var err error
	if h.Name, err = scalar(root, "name"); err != nil {
		return head{}, err
	}
	if h.Description, err = scalar(root, "description"); err != nil {
		return head{}, err
	}
	if h.Name == "" {
		h.Name = folder
	}
	if h.Description == "" {
		return head{}, errors.New("it has no description: a model cannot tell when to use it")
	}
	asks := yamlx.Get(root, "requires")
	for key, to := range map[string]*[]string{"os": &h.OS, "bins": &h.Bins, "env": &h.Env, "config": &h.Config} {
		for _, from := range []*yamlx.Node{root, asks} {
			*to = append(*to, list(yamlx.Get(from, key))...)
		}
	}
	return h, nil
}

// scalar gives a value as a text: 3000 and true are texts, too.
func scalar(root *yamlx.Node, key string) (string, error) {
	n := yamlx.Get(root, key)
	if n == nil {
		return "", nil
	}
	if n.Kind != yamlx.Scalar {
		return "", fmt.Errorf("its %s must be a text, and is a list or a map (line %d, column %d of the front matter)", key, n.Line, n.Column)
	}
	return passage.Line(n.Value), nil
}

// list gives the texts of a list, or one of a text.
func list(n *yamlx.Node) []string {
	switch {
	case n == nil:
		return nil
	case n.Kind == yamlx.Scalar && n.Value != "":
		return []string{n.Value}
	}
	var all []string
	for _, c := range n.Content {
		if n.Kind == yamlx.Sequence && c.Kind == yamlx.Scalar {
			all = append(all, c.Value)
		}
	}
	return all
}
