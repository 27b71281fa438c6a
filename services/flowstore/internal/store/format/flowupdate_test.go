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

const aligned = `id: 0197a1b2-c3d6-7e5f-8a9b-0c1d2e3f4a5b   # the flow
name: old  # 仮題
description: |    # long
  x
story:  # 設定
  keywords: 海,町   # 二つ
  setting: "a
    b"  # of two lines
  plot:     # none yet
nodes:  # 全て
  - index: 1    # 一
    id: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b  # "x" # y
  - {index: 2, id: 0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b}	# a tab
  - index: 9  # no id
connections: []    # none
`

// The blanks before a comment behind a value stay, also where the value changes: comments stand below each other.
func TestUpdateKeepsTheBlanksBeforeComments(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n"} {
		old := strings.ReplaceAll(aligned, "\n", end)
		f := decodeFlow(t, []byte(old))
		f.Name, f.Story.Keywords = "new", []string{"海"}
		got, kept := format.UpdateFlow([]byte(old), f)
		want := strings.NewReplacer("old", `"new"`, "海,町   # 二つ", "  # 二つ\n    - \"海\"", "\"a\n    b\"  #", "\"a b\" #").Replace(aligned)
		if diff := cmp.Diff(want, string(got)); diff != "" || !kept {
			t.Errorf("kept %v: %s", kept, diff)
		}
	}
}
