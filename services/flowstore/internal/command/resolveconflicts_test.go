package command

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// Each kind of conflict: what stays where, what is told, what is left for a person.
func TestResolveConflicts(t *testing.T) {
	t.Parallel()
	nothing := func(clone) {}
	for name, c := range map[string]struct {
		ours, theirs func(c clone)
		code         int
		told         []string
		check        func(c clone)
	}{
		"both changed a text": {
			func(c clone) { c.replace("nodes/000/000.xml", "\none\n", "\neins\n") },
			func(c clone) { c.replace("nodes/000/000.xml", "\none\n", "\nun\n") },
			0, []string{"nodes/000/000.xml: both changed nodes/" + idOf("one").String() + "; both are kept, ours here and theirs as nodes/000/001.xml; theirs counts; remove the one that you do not want"},
			func(c clone) {
				if !strings.Contains(c.files()["nodes/000/000.xml"], "eins") || !strings.Contains(c.files()["nodes/000/001.xml"], "\nun\n") {
					c.Error("a version is lost")
				}
			},
		},
		"ours removed a node, theirs changed it": {
			func(c clone) { c.must(os.Remove(c.path("nodes/000/000.xml"))) },
			func(c clone) { c.replace("nodes/000/000.xml", "\none\n", "\nun\n") },
			0, []string{"nodes/000/000.xml: ours is without it, and theirs changed it"},
			func(c clone) {
				if !strings.Contains(c.files()["nodes/000/000.xml"], "\nun\n") {
					c.Error("theirs is lost")
				}
			},
		},
		"theirs removed a node, ours changed it": {
			func(c clone) { c.replace("nodes/000/000.xml", "\none\n", "\neins\n") },
			func(c clone) { c.must(os.Remove(c.path("nodes/000/000.xml"))) },
			0, []string{"nodes/000/000.xml: theirs is without it, and ours changed it"}, nothing,
		},
		"the file of a removed node is not given again": {
			func(c clone) { c.add("a", 1); c.add("gone", 1); c.must(os.Remove(c.path("nodes/000/002.xml"))) },
			func(c clone) { c.add("b", 1) },
			1, []string{
				"nodes/000/001.xml: ours stays; nodes/" + idOf("b").String() + " of theirs is nodes/000/003.xml now",
				"1 nodes that flows hold are in no file", "flows/000/000.yaml: holds nodes/" + idOf("gone").String() + ", and no file that can be read does",
			}, nothing,
		},
		"a file in the trash keeps its place": {
			func(c clone) { c.add("a", 1); write(c.T, c.path("trash/nodes/000/004.xml"), "kept") },
			func(c clone) { c.add("b", 1) },
			0, []string{"nodes/000/001.xml: ours stays; nodes/" + idOf("b").String() + " of theirs is nodes/000/005.xml now"}, nothing,
		},
		"two flows in one place": {
			func(c clone) { c.newFlow("a") }, func(c clone) { c.newFlow("b") },
			0, []string{"flows/000/001.yaml: ours stays; flows/" + idOf("b").String() + " of theirs is flows/000/002.yaml now"},
			func(c clone) {
				if rows := strings.Count(c.files()["flows/index.tsv"], "\n"); rows != 4 {
					c.Errorf("%d rows", rows)
				}
			},
		},
		"both named the flow": {
			func(c clone) { c.replace("flows/000/000.yaml", `"novel"`, `"ours"`) },
			func(c clone) { c.replace("flows/000/000.yaml", `"novel"`, `"theirs"`) },
			0, []string{`flows/000/000.yaml: name: both changed it; "ours", of ours, stays, and "theirs", of theirs, does not`},
			func(c clone) {
				if f, _ := c.read(); f.Name != "ours" {
					c.Errorf("the name is %q", f.Name)
				}
			},
		},
		"ours took a node out, theirs went on elsewhere": {
			func(c clone) {
				c.edit(func(tx store.Tx) error {
					return tx.ChangeFlow(novel, flow.Change{At: tx.Now(), Remove: []flow.Member{{Index: 1, Node: idOf("one")}}})
				})
			},
			func(c clone) { c.add("b", 0) },
			0, []string{"flows/000/000.yaml: both changed it"},
			func(c clone) {
				if f, _ := c.read(); !slices.Equal(f.Members, []flow.Member{{Index: 2, Node: idOf("b")}}) {
					c.Errorf("%+v", f.Members)
				}
			},
		},
		"comments of theirs": {
			func(c clone) { c.replace("flows/000/000.yaml", `"novel"`, `"ours"`) },
			func(c clone) {
				c.replace("flows/000/000.yaml", `name: "novel"`, "# why\nname: \"novel\" # so\nmood: calm")
			},
			0, []string{"flows/000/000.yaml: both changed it"},
			func(c clone) {
				text := c.files()["flows/000/000.yaml"]
				for _, want := range []string{"# why", "# so", "mood: calm", `name: "ours"`} {
					if !strings.Contains(text, want) {
						c.Errorf("%q is lost: %s", want, text)
					}
				}
			},
		},
		"comments of both": {
			func(c clone) { c.replace("flows/000/000.yaml", `name: "novel"`, "name: \"novel\" # mine") },
			func(c clone) { c.replace("flows/000/000.yaml", `name: "novel"`, "name: \"novel\" # yours") },
			0, []string{"which theirs added by hand are not in it"},
			func(c clone) {
				if text := c.files()["flows/000/000.yaml"]; !strings.Contains(text, "# mine") {
					c.Error(text)
				}
			},
		},
		"a broken node": {
			func(c clone) { c.replace("nodes/000/000.xml", "<contents>", "<contents") },
			func(c clone) { c.replace("nodes/000/000.xml", "<contents>", "<content>") },
			1, []string{"1 files are not decided", "nodes/000/000.xml: ours cannot be read: line ", "; neither can theirs: line "},
			func(c clone) {
				if text := c.files()["nodes/000/000.xml"]; strings.Contains(text, "<contents>") || !strings.Contains(text, "<contents\n") {
					c.Error("it was changed")
				}
			},
		},
		"a broken flow beside two nodes": {
			func(c clone) { c.add("a", 1); c.replace("flows/000/000.yaml", "id: ", "- ") },
			func(c clone) { c.add("b", 1) },
			1, []string{"nodes/000/001.xml: ours stays; nodes/" + idOf("b").String() + " of theirs is nodes/000/002.xml now", "flows/000/000.yaml: ours cannot be read"},
			func(c clone) {
				if left := c.git("ls-files", "--unmerged"); strings.Contains(left, ".xml") || !strings.Contains(left, "flows/000/000.yaml") {
					c.Errorf("git has as undecided: %s", left)
				}
			},
		},
		"other files": {
			func(c clone) {
				write(c.T, c.path("README"), "a\n")
				c.replace(".gitignore", "metadata/\n", "") // As it was in trees from before.
				write(c.T, c.path("metadata/tags.yaml"), "a: 1\n")
			},
			func(c clone) {
				write(c.T, c.path("README"), "b\n")
				c.replace(".gitignore", "metadata/\n", "")
				write(c.T, c.path("metadata/tags.yaml"), "b: 1\n")
			},
			1, []string{"README: is no node, no flow", "metadata/tags.yaml: is made from nodes and flows: it is left out"},
			func(c clone) {
				if _, err := os.Stat(c.path("metadata/tags.yaml")); err == nil || c.git("ls-files", "metadata/tags.yaml") != "" {
					c.Error("the derived file is there")
				}
			},
		},
		"a link": {
			func(c clone) { c.must(os.Symlink("000.xml", c.path("nodes/000/001.xml"))) },
			func(c clone) { write(c.T, c.path("nodes/000/001.xml"), "x") },
			1, []string{"nodes/000/001.xml"}, nothing,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := conflict(t, c.ours, c.theirs)
			code, said := x.resolve()
			if code != c.code {
				t.Errorf("exit code %d: %s", code, said)
			}
			for _, want := range c.told {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not told: %s", want, said)
				}
			}
			c.check(x)
			if code == 0 {
				x.git("commit", "-q", "--no-edit")
			}
		})
	}
}

// What a person decided by hand and did not yet add stays.
func TestResolveLeavesHandwork(t *testing.T) {
	t.Parallel()
	x := conflict(t, func(c clone) { c.add("a", 1) }, func(c clone) { c.add("b", 1) })
	text := string(format.EncodeNode(node.Node{ID: idOf("c"), Created: time.Unix(0, 0)}))
	write(t, x.path("nodes/000/001.xml"), text)
	if code, said := x.resolve(); code != 1 || !strings.Contains(said, "nodes/000/001.xml: was edited since the merge") || x.files()["nodes/000/001.xml"] != text {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// What cannot be decided is not taken for gone either, where a person took it away and did not tell git.
func TestResolveLeavesWhatIsTakenAway(t *testing.T) {
	t.Parallel()
	const file = "nodes/000/000.xml"
	x := conflict(t, func(c clone) { c.replace(file, "<contents>", "<contents") }, func(c clone) { c.replace(file, "<contents>", "<content>") })
	x.must(os.Remove(x.path(file)))
	if code, said := x.resolve(); code != 1 || !strings.Contains(said, file+": ours cannot be read") || strings.Contains(said, "is gone") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if x.git("ls-files", "--unmerged") == "" {
		t.Error("git has it as decided")
	}
}

// Who took one side of a file, and did not yet add it, has both all the same.
func TestResolveAfterASideWasTaken(t *testing.T) {
	t.Parallel()
	x := conflict(t, func(c clone) { c.add("a", 1) }, func(c clone) { c.add("b", 1) })
	x.git("checkout", "-q", "--theirs", "nodes/000/001.xml")
	x.resolved()
	if f, problems := x.read(); len(f.Members) != 3 || len(problems) > 0 || !strings.Contains(x.files()["nodes/000/001.xml"], idOf("a").String()) {
		t.Errorf("%+v, %v", f, problems)
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	needGit(t)
	c := newClone(t)
	if code, _, said := run(t, "resolve", c.tree); code != 1 || !strings.Contains(said, "no tree of flowstore") {
		t.Errorf("no tree: exit code %d, %s", code, said)
	}
	write(t, c.path("nodes/index.tsv"), format.IndexHeader)
	if code, _, said := run(t, "resolve", c.tree); code != 1 || !strings.Contains(said, "not a git repository") {
		t.Errorf("no repository: exit code %d, %s", code, said)
	}
}
