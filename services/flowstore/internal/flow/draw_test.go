package flow_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// The first eight are the shapes of TestHistoryOrder (field/flowstore.md row 29).
func TestDraw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		n     int
		edges string
		want  string
	}{
		{"a line", 4, "1-2 2-3 3-4", "1→2→3→4"},
		{"a fork", 4, "1-2 2-3 2-4", "1→2<|  2<3|  2<4"},
		{"two lines", 4, "1-3 2-4", "1→3|2→4"},
		{"two roots meet", 4, "1-3 2-3 3-4", "1>3|2>3|>3→4"},
		{"fork and merge", 6, "1-2 2-3 2-4 3-5 4-5 5-6", "1→2<|  2<3>5|  2<4>5|>5→6"},
		{"branches stay together", 8, "1-2 2-3 2-4 3-5 4-6 5-7 6-7 7-8", "1→2<|  2<3→5>7|  2<4→6>7|>7→8"},
		{"three branches", 7, "1-2 2-3 2-4 2-5 3-6 4-6 5-6 6-7", "1→2<|  2<3>6|  2<4>6|  2<5>6|>6→7"},
		{"a fork in a branch", 7, "1-2 1-3 2-4 2-5 4-6 5-6 3-7", "1<|  1<2<|    2<4>6|    2<5>6|  >6|  1<3→7"},
		{"a short cut past a branch", 4, "1-2 2-3 3-4 1-4", "1<|  1<>4|  1<2→3>4|>4"},
		{"two forks into the same two", 4, "1-3 1-4 2-3 2-4", "1<|  1<>3|  1<>4|2<|  2<>3|  2<>4|>3|>4"},
		{"a branch that goes on", 6, "1-2 1-3 2-4 3-4 4-5 2-6", "1<|  1<2<|    2<>4|    2<6|  1<3>4|>4→5"},
		{"a later member before an earlier one", 3, "3-1 1-2", "3→1→2"},
		{"a cycle made by hand", 3, "1-2 2-3 3-1", "1→2→3|×3→1"},
		{"an edge to nothing", 2, "1-2 2-9", "1→2|×2→9"},
		{"alone", 2, "", "1|2"},
		{"nothing at all", 0, "", ""},
	} {
		if got := strings.Join(graph(c.n, c.edges).Draw(), "|"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.ReplaceAll(got, "|", "\n"), strings.ReplaceAll(c.want, "|", "\n"))
		}
	}
}

// Whatever a flow is, each of its edges is drawn once, and each member begins a line or stands in one.
func TestDrawingIsTheFlow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "members")
		f := flow.Flow{ID: uuid.UUID{1}}
		for i := range n {
			f.Members = append(f.Members, flow.Member{Index: i + 1, Node: node(i + 1)})
		}
		index := rapid.IntRange(1, n+1)
		for range rapid.IntRange(0, 14).Draw(t, "edges") {
			f.Edges = append(f.Edges, flow.Edge{From: index.Draw(t, "from"), To: index.Draw(t, "to")})
		}
		f = flow.Examine(f)
		lines := f.Draw()
		var want, members []string
		for _, e := range f.Edges {
			want = append(want, fmt.Sprint(e.From, "-", e.To))
		}
		for _, m := range f.Members {
			members = append(members, fmt.Sprint(m.Index))
		}
		gotEdges, gotMembers := read(t, lines)
		slices.Sort(want)
		if diff := cmp.Diff(want, gotEdges, noneIsEmpty) + cmp.Diff(members, gotMembers, noneIsEmpty); diff != "" {
			t.Errorf("%s\n%s", strings.Join(lines, "\n"), diff)
		}
	})
}

var number = regexp.MustCompile(`\d+`)

// read takes a drawing apart into the edges and members that it shows.
func read(t *rapid.T, lines []string) (edges, members []string) {
	for _, line := range lines {
		line = strings.TrimLeft(line, " ")
		line, skipped := strings.CutPrefix(line, "×")
		all := number.FindAllString(line, -1)
		signs := regexp.MustCompile(`[→<>]+`).FindAllString(line, -1)
		switch {
		case skipped || strings.Contains(line, "<>"):
		case strings.HasPrefix(line, ">"):
			signs = signs[1:]
			members = append(members, all[0])
		case strings.HasPrefix(line, all[0]+"<") && len(all) > 1: // behind its parent, whose line has it
		default:
			members = append(members, all[0])
		}
		for i, sign := range signs {
			if i+1 == len(all) { // "<" at the end: the edges have lines of their own
				break
			}
			edges = append(edges, all[i]+"-"+all[i+1])
			if !skipped && (sign == "→" || sign == "<") {
				members = append(members, all[i+1])
			}
		}
	}
	slices.Sort(edges)
	slices.SortFunc(members, func(a, b string) int {
		x, errA := strconv.Atoi(a)
		y, errB := strconv.Atoi(b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		return x - y
	})
	return edges, members
}

// A flow that branches at each node is set in no further than a screen is wide, and a long line is drawn in a moment.
func TestDrawDeep(t *testing.T) {
	t.Parallel()
	const n = 2000
	var deep []string
	for i := 1; i+2 <= n; i += 2 {
		deep = append(deep, fmt.Sprintf("%d-%d %[1]d-%d", i, i+1, i+2))
	}
	for _, line := range graph(n, strings.Join(deep, " ")).Draw() {
		if len(line) > 60 {
			t.Fatalf("%q", line)
		}
	}
}
