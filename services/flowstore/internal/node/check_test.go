package node_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/check"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// Rows 27 and 28 of field/flowstore.md: a role is one of four, or none, and no tag holds what stands between tags in a list. All
// that is wrong is told at once.
func TestCheckRolesAndTags(t *testing.T) {
	t.Parallel()
	n := node.Node{Tags: []string{"夜明け・町", "a b"}, Texts: []node.Text{{}}}
	for _, role := range node.Roles {
		n.Texts = append(n.Texts, node.Text{Role: role})
	}
	if found := n.Check(); len(found) > 0 {
		t.Error(found)
	}
	wrong := node.Node{
		Tags:  []string{"a,b", "a，b", "fine", "a、b", ""},
		Texts: []node.Text{{Role: "user"}, {Role: "User"}, {Role: "writer"}},
	}
	const role, comma = "must be one of user, assistant, system, tool", "holds a comma; give each tag an item of its own"
	want := []check.Violation{
		{Field: "texts[1].role", Message: role}, {Field: "texts[2].role", Message: role},
		{Field: "tags[0]", Message: comma}, {Field: "tags[1]", Message: comma}, {Field: "tags[3]", Message: comma},
		{Field: "tags[4]", Message: "is empty"},
	}
	if diff := cmp.Diff(want, wrong.Check()); diff != "" {
		t.Error(diff)
	}
}
