package command

import (
	"os"
	"strings"
	"testing"
)

// What a person decided before resolve is decided: it brings nothing of the other side back.
func TestResolveGoesByWhatAPersonDecided(t *testing.T) {
	t.Parallel()
	const file = "nodes/000/000.xml"
	ours := func(c clone) { c.replace(file, "one", "ours text") }
	for name, c := range map[string]struct {
		theirs, decide func(c clone)
		keeps          bool
	}{
		"for ours": {
			func(c clone) { c.replace(file, "one", "theirs text") },
			func(c clone) { c.git("checkout", "--ours", file); c.git("add", file) },
			true,
		},
		"against both": {
			func(c clone) { c.must(os.Remove(c.path(file))) },
			func(c clone) { c.git("rm", "-q", file) },
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, y := clones(t)
			ours(x)
			x.commit()
			c.theirs(y)
			y.commit()
			x.merge(y)
			c.decide(x)
			x.resolved()
			var nodes []string
			for name, text := range x.files() {
				if strings.HasPrefix(name, "nodes/") && strings.HasSuffix(name, ".xml") {
					nodes = append(nodes, text)
				}
			}
			if kept := len(nodes) == 1 && strings.Contains(nodes[0], "ours text"); kept != c.keeps || len(nodes) > 1 {
				t.Errorf("the nodes are %q", nodes)
			}
		})
	}
}

// Theirs takes a node out of a flow that ours gives another name: it stays out, however often resolve runs.
func TestResolveTwiceKeepsANodeOut(t *testing.T) {
	t.Parallel()
	x, y := clones(t)
	x.add("a", 1)
	x.commit()
	y.git("pull", "-q", "--ff-only", x.tree, "HEAD")
	x.replace("flows/000/000.yaml", "name: ", "name: saga # ")
	x.commit()
	y.drop(nodeOf("a"))
	y.commit()
	x.merge(y)
	x.resolved()
	f, _ := x.read()
	for _, m := range f.Members {
		if m.Node == idOf("a") {
			t.Error("the node is back")
		}
	}
}
