package format_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

var flowID = id3

// novel is a flow with everything that a flow can have.
func novel() flow.Flow {
	return flow.Examine(flow.Flow{
		ID: flowID, Name: "夜明けの町", Description: "第一稿", Created: noon, Updated: noon.Add(time.Hour),
		Story: flow.Story{
			Title: ptr("夜明けの町"), Keywords: []string{"夜明け", "yes", "a: b"}, Genres: []string{"幻想"},
			Synopsis: ptr("町から人が消えた。\n少女だけが残る。\n"), Setting: ptr("海辺の町。\n\n  駅は一つ。"), Plot: ptr(""), Note: ptr("静かに {朝|夜} を待つ"),
			DialogueLevel: ptr("少なめ"), Rating: ptr("general"),
		},
		Members: []flow.Member{{Index: 1, Node: id1}, {Index: 2, Node: id2}, {Index: 3, Node: id3}},
		Edges:   []flow.Edge{{From: 1, To: 2}, {From: 1, To: 3, Name: "雨の \"夜\"\n"}},
		Heads:   []flow.Head{{Name: "雨の夜", Index: 3}, {Name: "main", Index: 2}},
		Links:   []flow.Link{{From: 2, Flow: id1}, {Flow: id2}},
		Current: 3,
		Next:    7,
	})
}

func bare() flow.Flow {
	return flow.Examine(flow.Flow{ID: flowID, Name: "x", Created: noon, Updated: noon})
}

func decodeFlow(t *testing.T, data []byte) flow.Flow {
	t.Helper()
	f, err := format.DecodeFlow(data)
	if err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	return f
}

func TestFlowFiles(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]flow.Flow{"novel.yaml": novel(), "bare.yaml": bare()} {
		data := format.EncodeFlow(f)
		testkit.Golden(t, name, data)
		if diff := cmp.Diff(f, decodeFlow(t, data), sameTime); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The texts of cases/flowstore.md 20: what YAML takes for something else is the same text when it comes back.
var case20 = []string{
	"yes", "NO", "null", "~", "2024-01-01", "2024-09-19T01:52:55.944", "12:30:45", "1_000", "0x1F", "<<", ": ", "#x", "- a", " lead", "a\nb",
	"タグ：名", "🙂", "", "trail ", "a\r\nb", "\x00\x1b\u0085\u2028\ufeff\ufffe", `"quoted\"`, "'", "a\n\n\n", "\n", "\na", "a\n \nb", "a\n\tb", "a\nb ",
	"%", "@", "`", "*a", "&a", "!t", "a #b", "{a: b}", "[", "|", "---\na", "a\n---\n...\n", "a\n# b", "か\u3099", "👩‍👩‍👧", "\ufffd", "\t", "a\tb\nc\t",
}

func TestFlowstore20TextsThatYAMLTakesForSomethingElse(t *testing.T) {
	t.Parallel()
	for _, text := range case20 {
		f := novel()
		f.Name, f.Description, f.Story.Title, f.Story.Note = text, text, &text, &text
		if text != "" {
			f.Story.Keywords = []string{text, "x", text}
		}
		if diff := cmp.Diff(f, decodeFlow(t, format.EncodeFlow(f)), sameTime); diff != "" {
			t.Errorf("%q: %s\n%s", text, diff, format.EncodeFlow(f))
		}
	}
}

// cases/flowstore.md 14 for flows, and 25: marks and line ends of editors change no value.
func TestFlowstore14And25ConvertedFlow(t *testing.T) {
	t.Parallel()
	converted := "\ufeff" + strings.ReplaceAll(string(format.EncodeFlow(novel())), "\n", "\r\n")
	got := decodeFlow(t, []byte(converted))
	if diff := cmp.Diff(novel(), got, sameTime); diff != "" {
		t.Error(diff)
	}
	if got.Etag() != novel().Etag() {
		t.Error("the flow has another etag than before")
	}
}

// cases/flowstore.md 19: the id and the time of a flow come out of its file, to the microsecond; a change leaves other edges alone.
func TestFlowstore19IDAndTime(t *testing.T) {
	t.Parallel()
	f := novel()
	f.Edges = []flow.Edge{{From: 1, To: 2}, {From: 2, To: 3}}
	got := decodeFlow(t, format.EncodeFlow(f))
	if got.ID != flowID || !got.Updated.Equal(noon.Add(time.Hour)) || len(got.Edges) != 2 || len(got.Members) != 3 {
		t.Errorf("%+v", got)
	}
}

const handMade = `# 第一稿、消さないこと

# 町の話
id: 0197A1B2-C3D6-7E5F-8A9B-0C1D2E3F4A5B
name: 夜明けの町 # 仮題
colour: red
created: 2025-05-09 06:48:06+09:00
updated: 2025-05-09T07:48:06Z
story:
  keywords: 夜明け, 海、 町
  synopsis: >-
    町から人が
    消えた。
  pace: slow
nodes:
# the beginning
- index: 1
  id: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b # 序章

- {id: 0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b, index: 2}
connections:
  - from: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b
    to: 2
    name: 本筋
current: 0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b

# おわり
`

func TestHandMadeFlow(t *testing.T) {
	t.Parallel()
	want := flow.Examine(flow.Flow{
		ID: flowID, Name: "夜明けの町", Created: noon.Truncate(time.Second), Updated: time.Date(2025, 5, 9, 7, 48, 6, 0, time.UTC),
		Story:   flow.Story{Keywords: []string{"夜明け", "海", "町"}, Synopsis: ptr("町から人が 消えた。")},
		Members: []flow.Member{{Index: 1, Node: id1}, {Index: 2, Node: id2}},
		Edges:   []flow.Edge{{From: 1, To: 2, Name: "本筋"}},
		Current: 2,
	})
	if diff := cmp.Diff(want, decodeFlow(t, []byte(handMade)), sameTime); diff != "" {
		t.Error(diff)
	}
}

// Comments, unknown keys and the order of a hand-edited file survive a change (field/flowstore.md row 23).
func TestUpdateHandMadeFlow(t *testing.T) {
	t.Parallel()
	f := decodeFlow(t, []byte(handMade)).Apply(flow.Change{
		At:      noon.Add(2 * time.Hour),
		Add:     []flow.Member{{Index: 3, Node: id3}},
		Connect: []flow.Edge{{From: 1, To: 3}},
		Current: ptr(3),
	})
	got, kept := format.UpdateFlow([]byte(handMade), f)
	if !kept {
		t.Error("what the person wrote is not kept")
	}
	testkit.Golden(t, "edited.yaml", got)
	if diff := cmp.Diff(f, decodeFlow(t, got), sameTime); diff != "" {
		t.Error(diff)
	}
	again, kept := format.UpdateFlow(got, f)
	if diff := cmp.Diff(string(got), string(again)); diff != "" || !kept {
		t.Errorf("an update without a change changes the file: %s", diff)
	}
}

// What is taken away goes with what stands in its lines, and nothing else: comments of their own lines, unknown keys, other
// entries, and how the ends of a connection are written.
const handMadeLists = `# by hand
id: 0197A1B2-C3D6-7E5F-8A9B-0C1D2E3F4A5B
name: 夜明けの町
nodes:
# the beginning
- index: 1
  id: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b # 序章
  mood: calm
# the middle
- {id: 0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b, index: 2} # 二章

# not yet sure
- index: 3
  id: 0197a1b2-c3d6-7e5f-8a9b-0c1d2e3f4a5b
- index: 9 # no id
connections:
- from: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b
  to: 2
  weight: 5 # 重い
# the other way
- {from: 1, to: 0197a1b2-c3d6-7e5f-8a9b-0c1d2e3f4a5b}
- {to: 3, from: 2, name: 雨} # rain
- from: 2
  to: 3
`

func TestTakeAwayByHand(t *testing.T) {
	t.Parallel()
	second, third := flow.Member{Index: 2, Node: id2}, flow.Member{Index: 3, Node: id3}
	for name, c := range map[string]flow.Change{
		"disconnected.yaml": {Disconnect: []flow.Edge{{From: 1, To: 3}}},
		"twice.yaml":        {Disconnect: []flow.Edge{{From: 2, To: 3}}},
		"removed.yaml":      {Remove: []flow.Member{second}},
		"last.yaml":         {Remove: []flow.Member{third}},
		"all.yaml":          {Remove: []flow.Member{{Index: 1, Node: id1}, second, third}},
		"named.yaml":        {Connect: []flow.Edge{{From: 1, To: 2, Name: "本筋: 1"}, {From: 2, To: 3, Name: "雪"}}},
		"moved.yaml":        {Disconnect: []flow.Edge{{From: 1, To: 2}}, Connect: []flow.Edge{{From: 3, To: 2, Name: "x"}, {From: 1, To: 3}}},
	} {
		before := decodeFlow(t, []byte(handMadeLists))
		if name == "moved.yaml" {
			before = before.Apply(flow.Change{Disconnect: []flow.Edge{{From: 2, To: 3}}})
		}
		after := before.Apply(c)
		after.Updated = before.Updated
		got, kept := format.UpdateFlow([]byte(handMadeLists), after)
		if !kept {
			t.Errorf("%s: what the person wrote is not kept", name)
		}
		testkit.Golden(t, name, got)
		if diff := cmp.Diff(string(format.EncodeFlow(after)), string(format.EncodeFlow(decodeFlow(t, got)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Words that a person wrote by hand are changed where they stand: other keys, comments and unknown keys stay as they are.
const handMadeWords = `id: 0197A1B2-C3D6-7E5F-8A9B-0C1D2E3F4A5B
name: 夜明けの町 # 仮題
# what it is about
description: >
  長い
  説明
story: # 設定
  keywords: 夜明け, 海、 町 # 三つ
  # not sure
  title: t
  pace: slow
  synopsis: |
    町から
    人が消えた。
  # the end is open
  plot: 'a: b'
colour: red
nodes: []
`

func TestRewriteByHand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old  string
		edit func(f *flow.Flow)
	}{
		"words.yaml": {handMadeWords, func(f *flow.Flow) {
			f.Name, f.Description = "yes", "一行目\n二行目\n"
			f.Story.Title, f.Story.Note, f.Story.Plot, f.Story.Genres = nil, ptr("雨"), ptr("x\ty\n\nz"), []string{"幻想", "no"}
		}},
		"onestory.yaml": {handMadeWords, func(f *flow.Flow) { f.Story.Keywords = []string{"海"} }},
		"nostory.yaml":  {handMadeWords, func(f *flow.Flow) { f.Story, f.Description = flow.Story{}, "" }},
		"newstory.yaml": {"# by hand\nid: " + flowID.String() + "\nnodes: []\n", func(f *flow.Flow) {
			f.Name, f.Story.Title = "n", ptr("t")
		}},
		"wrongstory.yaml": {"# by hand\nid: " + flowID.String() + "\nname: [a]\nstory: 5\nnodes: []\n", func(f *flow.Flow) {
			f.Name, f.Story.Title = "n", ptr("t")
		}},
	} {
		before := decodeFlow(t, []byte(c.old))
		to := before
		c.edit(&to)
		after := before.Apply(before.Rewriting(to))
		after.Updated = before.Updated
		got, kept := format.UpdateFlow([]byte(c.old), after)
		if !kept {
			t.Errorf("%s: what the person wrote is not kept", name)
		}
		testkit.Golden(t, name, got)
		again := decodeFlow(t, got)
		if diff := cmp.Diff(string(format.EncodeFlow(after)), string(format.EncodeFlow(again))); diff != "" || len(again.Problems) > 0 {
			t.Errorf("%s: %q %s", name, again.Problems, diff)
		}
	}
}

// The next index outlives the member that had the last one, in a canonical file and in one made by hand.
func TestIndexIsNeverReused(t *testing.T) {
	t.Parallel()
	canonical := format.EncodeFlow(bare().Apply(flow.Change{Add: []flow.Member{{Index: 1, Node: id1}, {Index: 2, Node: id2}}}))
	for _, old := range []string{string(canonical), "# by hand\n" + string(canonical)} {
		f := decodeFlow(t, []byte(old)).Apply(flow.Change{Remove: []flow.Member{{Index: 2, Node: id2}}})
		data, kept := format.UpdateFlow([]byte(old), f)
		if again := decodeFlow(t, data); again.Next != 3 || !kept || len(again.Problems) > 0 {
			t.Errorf("next is %d, kept %v in\n%s", again.Next, kept, data)
		}
	}
	for text, next := range map[string]int{"next: 1": 3, "next: 8": 8, "next: 0": 3, "next: -1": 3, "next: x": 3, "next: 1000000001": 1_000_000_001, "next: 1000000002": 3} {
		f := decodeFlow(t, []byte(strings.Replace(string(canonical), "nodes:", text+"\nnodes:", 1)))
		if told := len(f.Problems) > 0; f.Next != next || told != (next == 3 && text != "next: 1") {
			t.Errorf("%s: next is %d, %q", text, f.Next, f.Problems)
		}
	}
}

func TestUpdateFlow(t *testing.T) {
	t.Parallel()
	canonical := string(format.EncodeFlow(novel()))
	change := flow.Change{At: noon.Add(2 * time.Hour), Current: ptr(0)}
	for name, c := range map[string]struct {
		old  string
		kept bool
	}{
		"canonical":            {canonical, true},
		"a comment":            {canonical + "# end\n", true},
		"no lists":             {"id: " + flowID.String() + "\n# why\n", true},
		"empty lists":          {"# why\nid: " + flowID.String() + "\nnodes: []\nconnections:\n", true},
		"lists in one line":    {"id: " + flowID.String() + "\nnodes: [{index: 1, id: " + id1.String() + "}]\nconnections: []\n", true},
		"nodes are no list":    {"id: " + flowID.String() + "\nnodes: 5\n", false},
		"no flow":              {"name: x\n", false},
		"a current to nothing": {strings.Replace(canonical, "current: 3", "current: 99", 1), true},
		"current twice":        {canonical + "current: 99\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, err := format.DecodeFlow([]byte(c.old))
			if err != nil {
				before = bare()
			}
			after := before.Apply(flow.Change{At: change.At, Add: []flow.Member{{Index: before.Next, Node: flowID}}, Current: change.Current})
			if _, held := before.IndexOf(flowID); held {
				after = before.Apply(change)
			}
			got, kept := format.UpdateFlow([]byte(c.old), after)
			if kept != c.kept {
				t.Errorf("kept is %v\n%s", kept, got)
			}
			if diff := cmp.Diff(string(format.EncodeFlow(after)), string(format.EncodeFlow(decodeFlow(t, got)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFlowProblems(t *testing.T) {
	t.Parallel()
	got := decodeFlow(t, []byte(`id: 0197a1b2-c3d6-7e5f-8a9b-0c1d2e3f4a5b
name: [a]
name: b
created: yesterday
updated: 2025-05-09T06:48:06
story: {title: [x], title: y, keywords: {a: b}, genres: [c, [d]]}
nodes:
  - index: one
    id: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b
  - index: 1
  - 5
connections:
  - from: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b
    to: 2
current: first
`)).Problems
	want := []string{
		"name: line 3: stands there twice; the first counts",
		"name: line 2: must be a text; it is left out",
		`created: line 4: "yesterday" is not a time such as 2025-05-09T06:48:06.533720+09:00; it is left out`,
		"updated: line 5: has no zone, such as Z or +09:00; it is taken for UTC",
		"story.title: line 6: stands there twice; the first counts",
		"story.title: line 6: must be a text; it is left out",
		"story.keywords: line 6: must be a list; it is left out",
		"story.genres: line 6: must be a text; it is left out",
		"nodes: line 8: needs an index, a whole number, and an id, a UUID; it is left out",
		"nodes: line 10: needs an index, a whole number, and an id, a UUID; it is left out",
		"nodes: line 11: must be an entry of keys and values; it is left out",
		"connections: line 13: needs from and to, indexes or ids of nodes of this flow; it is left out",
		"current: line 15: must be the index or the id of a node of this flow; it is left out",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnreadableFlows(t *testing.T) {
	t.Parallel()
	id := "id: " + flowID.String() + "\n"
	for text, want := range map[string]string{
		"":                      `id: "" is not a UUID such as 0192f000-0000-7000-8000-000000000001`,
		"id: main\n":            `id: "main" is not a UUID such as 0192f000-0000-7000-8000-000000000001`,
		"- a\n":                 "is no mapping of keys to values",
		"id: [\n":               "is not YAML: line 1: did not find expected node content",
		id + "---\n" + id:       "holds more than one document",
		id + "a: &x b\nc: *x\n": "line 3: is an alias (*x); write the value out",
		id + "<<<<<<< HEAD\nnodes: []\nconnections: []\n": "is not YAML: line 2: could not find expected ':'",
		"id: \xff\n":                 "is not YAML: invalid leading UTF-8 octet",
		strings.Repeat("\x00", 2000): "is not YAML: control characters are not allowed",
	} {
		_, err := format.DecodeFlow([]byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}
