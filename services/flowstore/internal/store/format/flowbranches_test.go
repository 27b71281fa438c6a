package format_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

const handMadeBranches = `# by hand
id: 0197a1b2-c3d6-7e5f-8a9b-0c1d2e3f4a5b
# the ways it may go
heads:
  main: 2 # the printed one
  # not yet
  rain: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b
  "yes": 1
links:
  # the draft
  - flow: 0197A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B
    why: older
  - {from: 0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b, flow: 0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b}
nodes:
  - index: 1
    id: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b
  - index: 2
    id: 0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b
`

// Heads and links of a file made by hand change where they stand; comments and keys of the person's own stay.
func TestUpdateHandMadeBranches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]flow.Change{
		"heads.yaml":    {Heads: []flow.Head{{Name: "main", Index: 1}, {Name: "yes"}, {Name: "null", Index: 2}}, Link: []flow.Link{{From: 1, Flow: id2}, {Flow: id2}}},
		"headless.yaml": {Heads: []flow.Head{{Name: "main"}, {Name: "yes"}, {Name: "rain"}}, Unlink: []flow.Link{{Flow: id1}, {From: 2, Flow: id2}}},
	} {
		before := decodeFlow(t, []byte(handMadeBranches))
		if len(before.Problems) > 0 || len(before.Heads) != 3 || len(before.Links) != 2 {
			t.Fatalf("read as %+v", before)
		}
		after := before.Apply(c)
		after.Updated = before.Updated
		got, kept := format.UpdateFlow([]byte(handMadeBranches), after)
		if !kept {
			t.Errorf("%s: what the person wrote is not kept", name)
		}
		testkit.Golden(t, name, got)
		if diff := cmp.Diff(string(format.EncodeFlow(after)), string(format.EncodeFlow(decodeFlow(t, got)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What cannot be read is left out and told, beginning with its place.
func TestWrongHeadsAndLinks(t *testing.T) {
	t.Parallel()
	const file = "id: 0197a1b2-c3d6-7e5f-8a9b-0c1d2e3f4a5b\n"
	for text, want := range map[string]string{
		"heads: 5\n":                     "heads: line 2: must be a mapping of names to indexes or ids of nodes; it is left out",
		"heads:\n  a: x\n":               `heads: "a": line 3: must be the index or the id of a node of this flow; it is left out`,
		"heads:\n  a: 0\n":               `heads: "a": line 3: must be the index or the id of a node of this flow; it is left out`,
		"heads:\n  \"\": 1\n":            "heads: line 3: a name is empty; it is left out",
		"heads:\n  a: 3\n":               `heads: "a": no node has index 3`,
		"heads:\n":                       "",
		"heads: {}\n":                    "",
		"links: x\n":                     "links: line 2: must be a list; it is left out",
		"links: [x]\n":                   "links: line 2: must be an entry of keys and values; it is left out",
		"links: [{flow: x}]\n":           "links: line 2: needs flow, a UUID, and where it begins at a node, from, its index or id; it is left out",
		"links: [{from: 1}]\n":           "links: line 2: needs flow, a UUID, and where it begins at a node, from, its index or id; it is left out",
		"links:\n":                       "",
		"heads: {a: x}\nheads: {b: x}\n": "heads: line 3: stands there twice; the first counts",
	} {
		f := decodeFlow(t, []byte(file+text))
		if got := strings.Join(f.Problems, "; "); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("%q: %q", text, got)
		}
		after := f.Apply(flow.Change{Add: []flow.Member{{Index: f.Next, Node: id1}}, Heads: []flow.Head{{Name: "a", Index: f.Next}}})
		if got := strings.Join(after.Problems, "; "); strings.Contains(got, `"a"`) {
			t.Errorf("%q: told still: %q", text, got)
		}
	}
}
