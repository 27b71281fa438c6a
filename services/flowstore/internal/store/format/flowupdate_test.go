package format_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// OURS are the ids of the flow, and THEIRS what only looks like one.
const shoutedIDs = `id: OURS
current: OURS
heads:
  "THEIRS": OURS
links:
  - flow: OURS
    from: OURS
  - {flow: "OURS", by: THEIRS}
nodes:
  - index: 1
    id: OURS # THEIRS
    by: THEIRS
  - index: 2
    id: 0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b
connections:
  - from: OURS
    to: 2
by: THEIRS
`

// field/flowstore.md row 12.
func TestUpdateWritesIDsInLowerCase(t *testing.T) {
	t.Parallel()
	upper, lower := strings.ToUpper(id1.String()), id1.String()
	old := strings.NewReplacer("OURS", upper, "THEIRS", upper).Replace(shoutedIDs)
	f := decodeFlow(t, []byte(old))
	if len(f.Problems) > 0 || len(f.Edges) != 1 || len(f.Links) != 2 || len(f.Heads) != 1 {
		t.Fatalf("read as %+v", f)
	}
	got, kept := format.UpdateFlow([]byte(old), f)
	want := strings.NewReplacer("OURS", lower, "THEIRS", upper).Replace(shoutedIDs)
	if diff := cmp.Diff(want, string(got)); diff != "" || !kept {
		t.Errorf("kept %v: %s", kept, diff)
	}
}
