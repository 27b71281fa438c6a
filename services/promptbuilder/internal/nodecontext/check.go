package nodecontext

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/tokens"
)

// The bounds of a request.
const (
	maxNodes = 2000
	maxBytes = 16 << 20 // of all texts of nodes
	maxAsk   = 4 << 20  // of the prompt
	maxTags  = 64
)

// Violation is something wrong with a request.
type Violation struct{ Field, Description string }

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)

// checker gathers what is wrong with a request.
type checker struct{ wrong []Violation }

func (c *checker) add(field, format string, args ...any) {
	c.wrong = append(c.wrong, Violation{field, fmt.Sprintf(format, args...)})
}

// Check finds what is wrong with a request.
func Check(r Request) []Violation {
	c := &checker{}
	known := c.nodes(r.Nodes)
	c.named("path", r.Path, known)
	c.named("refs", r.Refs, known)
	for i, id := range r.Parents {
		if !slices.Contains(r.Path, id) {
			c.add(fmt.Sprintf("parents[%d]", i), "must be in path: %.60q", id)
		}
	}
	if r.LinesOnly && len(r.Parents) > 0 {
		c.add("parents", "not together with lines_only: no node is printed in full")
	}
	if len(r.Prompt) > maxAsk {
		c.add("prompt", "must have at most %d bytes, and has %d", maxAsk, len(r.Prompt))
	}
	ancestors := 0
	if r.Ancestors != nil {
		ancestors = *r.Ancestors
	}
	for _, n := range []struct {
		field string
		value int
	}{{"ancestors_max", ancestors}, {"max_tokens", r.MaxTokens}, {"trim_step", r.TrimStep}} {
		if n.value < 0 {
			c.add(n.field, "must not be negative, and is %d", n.value)
		}
	}
	if _, ok := tokens.Estimate(r.Counter); !ok || r.Counter != "" && r.Backend != "" {
		c.add("counter", "must be %s or %s, and only without a backend", tokens.NameEst1, tokens.NameChars4)
	}
	c.texts(r.Locale, r.Texts)
	return c.wrong
}

// nodes checks the nodes, and gives their ids.
func (c *checker) nodes(nodes []Node) map[string]bool {
	if len(nodes) > maxNodes {
		c.add("nodes", "must have at most %d entries, and has %d", maxNodes, len(nodes))
	}
	known, size := map[string]bool{}, 0
	taken := map[string]bool{} // The case of an id does not count.
	for i, n := range nodes {
		field := fmt.Sprintf("nodes[%d]", i)
		switch {
		case !uuidForm.MatchString(n.ID):
			c.add(field+".id", "must be a UUID, and is %.60q", n.ID)
		case taken[strings.ToLower(n.ID)]:
			c.add(field+".id", "is that of an earlier node, too")
		}
		known[n.ID], taken[strings.ToLower(n.ID)] = true, true
		if len(n.Tags) > maxTags {
			c.add(field+".tags", "must have at most %d entries, and has %d", maxTags, len(n.Tags))
		}
		size += len(n.Prompt) + len(n.Answer) + len(n.Summary)
	}
	if size > maxBytes {
		c.add("nodes", "must have at most %d bytes of text, and have %d", maxBytes, size)
	}
	return known
}

// named checks ids of nodes.
func (c *checker) named(field string, ids []string, known map[string]bool) {
	for i, id := range ids {
		if !known[id] {
			c.add(fmt.Sprintf("%s[%d]", field, i), "no such node is in nodes: %.60q", id)
		}
	}
}
