package nodecontext_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
)

// The latest nodes that are no parents are lines; the parent is read in full, and nothing else is.
func TestThePath(t *testing.T) {
	t.Parallel()
	s := newStore()
	for n := range 6 {
		s.put(n, fmt.Sprint("ask ", n), strings.Repeat("long ", 1000), "short", slices.Repeat([]int{n - 1}, min(n, 1))...)
	}
	s.broken[id(0)] = "not XML"
	two := 2
	got, c := s.build(t, nodecontext.Request{Parents: ids(5), Ancestors: &two})
	if diff := cmp.Diff(ids(3, 4, 5), got.Path); diff != "" || got.Ancestors != 2 || c.Seq != 41 || c.Built.Text != "built" {
		t.Errorf("%s %+v", diff, c)
	}
	if diff := cmp.Diff(ids(5), got.Parents); diff != "" {
		t.Error(diff)
	}
	if whole := s.read[nodecontext.Everything]; !slices.Equal(whole, ids(5)) || len(s.read) != 1 {
		t.Errorf("read %v", s.read)
	}
	if got.Nodes[2].Prompt != "ask 5" || len(got.Nodes[2].Answer) != 5000 || got.Nodes[0].Summary != "short" || got.Nodes[0].Answer != "" {
		t.Errorf("%.200v", got.Nodes)
	}
	none := 0
	if got, _ := s.build(t, nodecontext.Request{Parents: ids(5), Ancestors: &none}); len(got.Path) != 1 {
		t.Errorf("%v", got.Path)
	}
	if got, _ := s.build(t, nodecontext.Request{}); len(got.Path) != 0 {
		t.Errorf("a root has the path %v", got.Path)
	}
}

// What cannot be read is told, unless it is older than what was asked for.
func TestAHoleIsNotPassedOver(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		s := newStore()
		s.put(1, "a", "b", "")
		s.put(2, "a", "b", "", 1)
		s.broken[id(n)] = "not XML"
		var hole *nodecontext.UnreadableError
		if err := s.refused(t, nodecontext.Request{Parents: ids(2)}); !errors.As(err, &hole) || hole.Node != id(n) {
			t.Errorf("%v", err)
		}
	}
}

// A new node that merges branches has both ways, each node once and in the order of history, and all its parents in full.
func TestMergedBranches(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.put(1, "a", "b", "root")
	s.put(2, "a", "b", "left", 1)
	s.put(3, "a", "b", "left end", 2)
	s.put(4, "a", "b", "elsewhere", 1)
	s.put(5, "a", "b", "right", 1)
	got, _ := s.build(t, nodecontext.Request{Parents: ids(5, 3)})
	if diff := cmp.Diff(ids(1, 2, 3, 5), got.Path); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ids(3, 5), got.Parents); diff != "" {
		t.Error(diff)
	}
	if err := s.refused(t, nodecontext.Request{Parents: ids(5, 3, 9)}); err.Error() != "merge_parents[1] is not there" {
		t.Errorf("%v", err)
	}
}

// The order of references: those named, each with its nearest ancestors, those with tags, those found; each once, and at most so many.
func TestReferences(t *testing.T) {
	t.Parallel()
	s := newStore()
	for n := range 12 {
		s.put(n, "a", "b", "c")
	}
	s.before[id(3)] = ids(2)
	s.before[id(6)], s.before[id(5)], s.before[id(4)] = ids(4, 5), ids(2), ids(1)
	s.found["夜,港"], s.found["rain"] = ids(7, 6, 3), ids(8, 7, 9, 10, 11)
	r := nodecontext.Request{Parents: ids(3), Refs: nodecontext.Refs{
		IDs: ids(6, 3, 6), Ancestors: 3, Tags: []string{"夜", "港"}, Query: "rain", Max: 6,
	}}
	got, c := s.build(t, r)
	if diff := cmp.Diff(ids(6, 4, 5, 1, 7, 8), got.Refs); diff != "" {
		t.Error(diff)
	}
	var told []string
	for _, c := range c.Choices {
		told = append(told, fmt.Sprint(c.Node.String()[35:], c.Reason, c.Outcome, c.Of.String()[35:]))
	}
	want := []string{
		"6 ID TAKEN 0", "4 ANCESTOR TAKEN 6", "5 ANCESTOR TAKEN 6", "1 ANCESTOR TAKEN 6",
		"3 ID ON_PATH 0", "2 ANCESTOR ON_PATH 3",
		"6 ID REPEATED 0", "4 ANCESTOR REPEATED 6", "5 ANCESTOR REPEATED 6", "1 ANCESTOR REPEATED 6",
		"7 TAGS TAKEN 0", "6 TAGS REPEATED 0", "3 TAGS ON_PATH 0", "8 QUERY TAKEN 0",
	}
	for i, line := range want {
		want[i] = strings.ReplaceAll(line, " ", "")
	}
	if diff := cmp.Diff(want, told); diff != "" || !c.Approximate {
		t.Errorf("%s, approximate %v", diff, c.Approximate)
	}
	r.Refs = nodecontext.Refs{IDs: ids(6, 7, 8), Max: 2, Query: "rain"}
	s.pages = 0
	got, c = s.build(t, r)
	if len(got.Refs) != 2 || c.Choices[2].Outcome != nodecontext.OverMax || s.pages != 0 {
		t.Errorf("%v, %d pages", c.Choices, s.pages)
	}
}

// Where a search finds nothing but what is there already, it ends.
func TestASearchIsBounded(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.put(1, "a", "b", "c")
	s.found["rain"] = slices.Repeat(ids(1), 1000)
	got, c := s.build(t, nodecontext.Request{Parents: ids(1), Refs: nodecontext.Refs{Query: "rain"}})
	if len(got.Refs) != 0 || len(c.Choices) != 300 || s.pages != 150 {
		t.Errorf("%d choices, %d pages", len(c.Choices), s.pages)
	}
}

// All references that are not there are named at once.
func TestUnknownReferences(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.put(1, "a", "b", "c")
	var unknown *nodecontext.UnknownError
	err := s.refused(t, nodecontext.Request{Refs: nodecontext.Refs{IDs: ids(7, 1, 8)}})
	if !errors.As(err, &unknown) || !slices.Equal(unknown.IDs, ids(7, 8)) || !slices.Equal(unknown.At, []int{0, 2}) {
		t.Errorf("%v", err)
	}
}

// More text than one message holds is refused before it is sent.
func TestParentsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	s := newStore()
	large := strings.Repeat("x", 4<<20)
	s.put(1, large, large, "c")
	s.put(2, large, "b", "c")
	var over *nodecontext.TooLargeError
	if err := s.refused(t, nodecontext.Request{Parents: ids(1, 2)}); !errors.As(err, &over) || over.Bytes <= over.Limit {
		t.Errorf("%v", err)
	}
	s.build(t, nodecontext.Request{Parents: ids(1)})
}
