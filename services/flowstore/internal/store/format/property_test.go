package format_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
)

// texts draws strings in which the things that formats stumble over are frequent.
func texts() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"]]>", "]", ">", "\r", "\n", "\r\n", "\\", `\u{0`, "}", "\x00", "\x1b", "\ufffe", "\uffff", "\ufeff", "<", "&", "&#13;", `"`, " ", "\t", "- ", ": ", "#", "|", "\u0085", "\u2028", "町", "か\u3099"}),
		rapid.String(),
	)
	return rapid.Custom(func(t *rapid.T) string {
		var text string
		for _, p := range rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces") {
			text += p
		}
		return text
	})
}

func ids() *rapid.Generator[uuid.UUID] {
	return rapid.Custom(func(t *rapid.T) uuid.UUID {
		return uuid.UUID(rapid.SliceOfN(rapid.ByteRange(1, 255), 16, 16).Draw(t, "id"))
	})
}

func times() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		micros := rapid.Int64Range(0, 4e15).Draw(t, "time")
		if zone := rapid.IntRange(-14*60, 14*60).Draw(t, "zone"); zone != 0 {
			return time.UnixMicro(micros).In(time.FixedZone("", zone*60))
		}
		return time.UnixMicro(micros).UTC()
	})
}

func lists() *rapid.Generator[[]string] {
	return rapid.Custom(func(t *rapid.T) []string {
		if list := rapid.SliceOfN(texts(), 0, 3).Draw(t, "list"); len(list) > 0 {
			return list
		}
		return nil
	})
}

func biases() *rapid.Generator[[]sampling.Bias] {
	return rapid.Custom(func(t *rapid.T) []sampling.Bias {
		if list := rapid.SliceOfN(rapid.Make[sampling.Bias](), 0, 3).Draw(t, "list"); len(list) > 0 {
			return list
		}
		return nil
	})
}

func nodes() *rapid.Generator[node.Node] {
	count, seconds := rapid.IntRange(0, 1<<31-1), rapid.Float64Min(0)
	return rapid.Custom(func(t *rapid.T) node.Node {
		n := node.Node{ID: ids().Draw(t, "id"), Created: times().Draw(t, "created"), Model: texts().Draw(t, "model"), Tags: lists().Draw(t, "tags")}
		for range rapid.IntRange(0, 3).Draw(t, "texts") {
			n.Texts = append(n.Texts, node.Text{
				Role: texts().Draw(t, "role"), Content: texts().Draw(t, "content"),
				Count: count.Draw(t, "count"), Duration: seconds.Draw(t, "duration"), Rate: seconds.Draw(t, "rate"),
			})
		}
		n.Summary = node.Summary{Text: texts().Draw(t, "summary"), Built: rapid.OneOf(rapid.Just(time.Time{}), times()).Draw(t, "built")}
		n.Summary.Stale = n.Summary.Text == "" || rapid.Bool().Draw(t, "stale")
		if n.Summary.Text != "" && rapid.Bool().Draw(t, "source known") {
			n.Summary.Source = n.Source()
		}
		if rapid.Bool().Draw(t, "judged") {
			n.Score, n.Note = rapid.Ptr(rapid.Float64(), true).Draw(t, "score"), texts().Draw(t, "note")
		}
		if rapid.Bool().Draw(t, "generated") {
			g := rapid.Make[node.Generation]().Draw(t, "generation")
			g.Backend, g.Error, g.Picks = texts().Draw(t, "backend"), texts().Draw(t, "error"), lists().Draw(t, "picks")
			if g.Sampling != nil {
				g.Sampling.Stop, g.Sampling.Grammar, g.Sampling.LogitBias = lists().Draw(t, "stop"), texts().Draw(t, "grammar"), biases().Draw(t, "biases")
				if g.Sampling.DRY != nil {
					g.Sampling.DRY.Breakers = lists().Draw(t, "breakers")
				}
			}
			n.Generation = &g
		}
		return plusZero(n)
	})
}

// plusZero makes 0 of -0, as nodes have it that came in (node.Rounded).
func plusZero(n node.Node) node.Node {
	for i := range n.Texts {
		n.Texts[i].Duration, n.Texts[i].Rate = n.Texts[i].Duration+0, n.Texts[i].Rate+0
	}
	if n.Score != nil {
		*n.Score += 0
	}
	if g := n.Generation; g != nil {
		g.PromptSeconds, g.AnswerSeconds = g.PromptSeconds+0, g.AnswerSeconds+0
		if g.Sampling != nil {
			s := g.Sampling.PlusZero()
			g.Sampling = &s
		}
	}
	return n
}

func TestNodesComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := nodes().Draw(t, "node")
		data := format.EncodeNode(n)
		back, err := format.DecodeNode(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(n, back, sameTime); diff != "" {
			t.Fatalf("%s\n%s", diff, data)
		}
		if n.Etag() != back.Etag() {
			t.Fatalf("another etag, read from\n%s", data)
		}
		if !format.IsCanonical(data) {
			t.Fatalf("the fast reader does not take\n%s", data)
		}
		if again := format.EncodeNode(back); !bytes.Equal(again, data) {
			t.Fatalf("written again:\n%s\ninstead of\n%s", again, data)
		}
	})
}

func flows() *rapid.Generator[flow.Flow] {
	maybe := rapid.Ptr(texts(), true)
	return rapid.Custom(func(t *rapid.T) flow.Flow {
		f := flow.Flow{
			ID: ids().Draw(t, "id"), Name: texts().Draw(t, "name"), Description: texts().Draw(t, "description"),
			Created: times().Draw(t, "created"), Updated: times().Draw(t, "updated"),
			Story: flow.Story{
				Title: maybe.Draw(t, "title"), Keywords: lists().Draw(t, "keywords"), Genres: lists().Draw(t, "genres"),
				Synopsis: maybe.Draw(t, "synopsis"), Setting: maybe.Draw(t, "setting"), Plot: maybe.Draw(t, "plot"),
				Note: maybe.Draw(t, "note"), DialogueLevel: maybe.Draw(t, "dialogue"), Rating: maybe.Draw(t, "rating"),
			},
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "members") {
			f.Members = append(f.Members, flow.Member{Index: 2*i + 1, Node: ids().Draw(t, "node")})
		}
		index := rapid.IntRange(0, 12)
		for range rapid.IntRange(0, 6).Draw(t, "edges") {
			f.Edges = append(f.Edges, flow.Edge{From: index.Draw(t, "from"), To: index.Draw(t, "to"), Name: texts().Draw(t, "edge")})
		}
		for name := range rapid.MapOfN(texts().Filter(func(s string) bool { return s != "" }), rapid.Just(0), 0, 3).Draw(t, "heads") {
			f.Heads = append(f.Heads, flow.Head{Name: name, Index: max(index.Draw(t, "head"), 1)})
		}
		for range rapid.IntRange(0, 3).Draw(t, "links") {
			f.Links = append(f.Links, flow.Link{From: index.Draw(t, "begin"), Flow: ids().Draw(t, "flow")})
		}
		f.Next = rapid.SampledFrom([]int{0, 0, 20}).Draw(t, "next")
		if len(f.Members) > 0 && rapid.Bool().Draw(t, "place") {
			f.Current = f.Members[0].Index
		}
		slices.SortFunc(f.Edges, func(a, b flow.Edge) int { return a.From - b.From })
		f = flow.Examine(f)
		f.Problems = slices.DeleteFunc(f.Problems, func(p string) bool { return p[:4] == "conn" && p[len(p)-4:] == "once" })
		return f
	})
}

func TestFlowsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := flows().Draw(t, "flow")
		data := format.EncodeFlow(f)
		back, err := format.DecodeFlow(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if len(f.Problems) == 0 {
			f.Problems = nil
		}
		if diff := cmp.Diff(f, back, sameTime, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s\n%s", diff, data)
		}
	})
}

// Whatever a person adds to a file in the way of comments and keys is there after a change, and every value as well.
func TestEditedFlowsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := flows().Draw(t, "flow")
		old := append([]byte("# by hand\n\n"), format.EncodeFlow(f)...)
		old = append(old, "mood: calm # too\n"...)
		before, err := format.DecodeFlow(old)
		if err != nil {
			t.Fatalf("%v\n%s", err, old)
		}
		var gone []flow.Member
		if len(before.Members) > 0 {
			gone = []flow.Member{rapid.SampledFrom(before.Members).Draw(t, "removed")}
		}
		var cut []flow.Edge
		if len(before.Edges) > 0 {
			cut = []flow.Edge{rapid.SampledFrom(before.Edges).Draw(t, "cut")}
		}
		var heads []flow.Head
		for _, h := range append(before.Heads, flow.Head{Name: "new"}) {
			heads = append(heads, flow.Head{Name: h.Name, Index: rapid.SampledFrom([]int{0, h.Index, before.Next}).Draw(t, "moved")})
		}
		var unlink []flow.Link
		if len(before.Links) > 0 {
			unlink = []flow.Link{rapid.SampledFrom(before.Links).Draw(t, "unlinked")}
		}
		other := rapid.Ptr(texts(), true)
		var story *flow.Story
		if rapid.Bool().Draw(t, "rewrite") {
			story = &flow.Story{Title: other.Draw(t, "new title"), Keywords: lists().Draw(t, "new keywords"), Plot: other.Draw(t, "new plot")}
		}
		after := before.Apply(flow.Change{
			At:     times().Draw(t, "at"),
			Remove: gone, Disconnect: cut, Unlink: unlink, Heads: heads,
			Link: []flow.Link{{From: before.Next, Flow: uuid.UUID{15: 2}}, {Flow: ids().Draw(t, "linked")}}[:rapid.IntRange(0, 2).Draw(t, "link")],
			Name: other.Draw(t, "new name"), Description: other.Draw(t, "new description"), Story: story,
			Add:     []flow.Member{{Index: before.Next, Node: uuid.UUID{15: 1}}},
			Connect: []flow.Edge{{From: rapid.IntRange(0, before.Next-1).Draw(t, "from"), To: before.Next, Name: texts().Draw(t, "named")}},
			Current: rapid.SampledFrom([]*int{nil, ptr(0), ptr(before.Next)}).Draw(t, "current"),
		})
		data, kept := format.UpdateFlow(old, after)
		back, err := format.DecodeFlow(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(string(format.EncodeFlow(after)), string(format.EncodeFlow(back))); diff != "" {
			t.Fatalf("%s\n%s", diff, data)
		}
		if !kept || !slices.Equal(data[:11], []byte("# by hand\n\n")) || !slices.Contains([]string{"mood: calm # too\n"}, string(data[len(data)-17:])) {
			t.Fatalf("kept is %v:\n%s", kept, data)
		}
	})
}
