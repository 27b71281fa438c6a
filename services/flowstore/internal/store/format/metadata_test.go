package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

func encodeTags(t testing.TB, tags []format.TagEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := format.EncodeTags(&b, noon, slices.Values(tags)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeNodes(t testing.TB, nodes []format.NodeEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := format.EncodeNodeIndex(&b, noon, slices.Values(nodes)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMetadataFiles(t *testing.T) {
	t.Parallel()
	nodes := []format.NodeEntry{
		{ID: id1, Created: noon, Keywords: []string{"夜明け", "yes"}, Summary: "町から人が消えた。\n\"少女\"だけが残る。"},
		{ID: id2},
	}
	tags := []format.TagEntry{{Tag: "yes", Nodes: []uuid.UUID{id1}}, {Tag: "夜明け", Nodes: []uuid.UUID{id1, id2}}}
	index, list := encodeNodes(t, nodes), encodeTags(t, append(tags, format.TagEntry{Tag: "誰もいない"}))
	testkit.Golden(t, "index.yaml", index)
	testkit.Golden(t, "tags.yaml", list)
	x, err := format.DecodeNodeIndex(index)
	if diff := cmp.Diff(format.NodeIndex{Updated: noon, Nodes: nodes}, x, sameTime); diff != "" || err != nil {
		t.Error(err, diff)
	}
	y, err := format.DecodeTags(list)
	if diff := cmp.Diff(format.TagIndex{Updated: noon, Tags: tags}, y, sameTime); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, empty := range []string{string(encodeNodes(t, nil)), string(encodeTags(t, nil))} {
		if !strings.HasPrefix(empty, "updated: 2025-05-09T06:48:06.533720+09:00\n") || !strings.HasSuffix(empty, "s: {}\n") {
			t.Errorf("nothing is %q", empty)
		}
	}
	var b bytes.Buffer
	if err := format.EncodeTags(&b, time.Time{}, slices.Values(tags[:0])); err != nil || b.String() != "tags: {}\n" {
		t.Errorf("without a time: %q, %v", b.String(), err)
	}
}

// Tags in which YAML sees no text, and one that is longer than what parsers take for a key.
var oddTags = append([]string{
	strings.Repeat("\x01", 256), strings.Repeat("夜", 999), "a: b", "<<: *x", "? a", "yes: no", "trailing:", "\"", `\u0041`,
}, case20...)

// cases/flowstore.md 20: tags come back as the same texts from our reader, from yaml.v3 and from PyYAML.
func TestFlowstore20TagsThatYAMLTakesForSomethingElse(t *testing.T) {
	t.Parallel()
	names := slices.Clone(oddTags)
	slices.Sort(names)
	var tags []format.TagEntry
	for _, name := range slices.Compact(names) {
		tags = append(tags, format.TagEntry{Tag: name, Nodes: []uuid.UUID{id1}})
	}
	data := encodeTags(t, tags)
	x, err := format.DecodeTags(data)
	if diff := cmp.Diff(format.TagIndex{Updated: noon, Tags: tags}, x, sameTime); diff != "" || err != nil {
		t.Errorf("ours: %v %s", err, diff)
	}
	x, err = format.DecodeTags(append(data, "# edited\n"...))
	if diff := cmp.Diff(format.TagIndex{Updated: noon, Tags: tags}, x, sameTime); diff != "" || err != nil {
		t.Errorf("ours, edited: %v %s", err, diff)
	}
	want := map[string][]string{}
	for _, tag := range tags {
		want[tag.Tag] = []string{id1.String()}
	}
	var peer struct{ Tags map[string][]string }
	root, err := yamlx.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Decode(&peer); err != nil { // yaml.v3's own
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, peer.Tags); diff != "" {
		t.Errorf("yaml.v3: %s", diff)
	}
	var python3 map[string][]string
	python(t, "yaml", `
import sys, json, yaml
print(json.dumps(yaml.safe_load(open(sys.argv[1], encoding="utf-8"))["tags"]))`, []string{writeFile(t, t.TempDir(), "tags.yaml", data)}, &python3)
	if diff := cmp.Diff(want, python3); diff != "" {
		t.Errorf("PyYAML: %s", diff)
	}
}

func TestMetadataInAnotherOrderIsRefused(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"nodes": format.EncodeNodeIndex(&bytes.Buffer{}, noon, slices.Values([]format.NodeEntry{{ID: id2}, {ID: id1}})),
		"node":  format.EncodeNodeIndex(&bytes.Buffer{}, noon, slices.Values([]format.NodeEntry{{ID: id2}, {ID: id2}})),
		"tags":  format.EncodeTags(&bytes.Buffer{}, noon, slices.Values([]format.TagEntry{{Tag: "b"}, {Tag: "a"}})),
		"tag":   format.EncodeTags(&bytes.Buffer{}, noon, slices.Values([]format.TagEntry{{Tag: "b"}, {Tag: "b"}})),
		"items": format.EncodeTags(&bytes.Buffer{}, noon, slices.Values([]format.TagEntry{{Tag: "b", Nodes: []uuid.UUID{id2, id1}}})),
	} {
		var own *format.Error
		if !errors.As(err, &own) || !strings.Contains(own.Reason, "each once") {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := errors.New("disk full")
	if err := format.EncodeTags(failing{full}, noon, slices.Values([]format.TagEntry{{Tag: "b", Nodes: []uuid.UUID{id1}}})); !errors.Is(err, full) {
		t.Errorf("the error of the file is %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// What hands, merges and power cuts make of the files: read as far as it can be, told with its line, and never a panic.
func TestDamagedMetadata(t *testing.T) {
	t.Parallel()
	const a, b = "0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "0197A1B2-C3D5-7E5F-8A9B-0C1D2E3F4A5B"
	nodes := func(text string) (int, []string, error) {
		x, err := format.DecodeNodeIndex([]byte(text))
		return len(x.Nodes), x.Problems, err
	}
	tags := func(text string) (int, []string, error) {
		x, err := format.DecodeTags([]byte(text))
		return len(x.Tags), x.Problems, err
	}
	for _, c := range []struct {
		name, text, err string
		read            func(string) (int, []string, error)
		found           int
		problems        []string
	}{
		{name: "a node twice", read: nodes, text: "nodes:\n  " + a + ":\n    summary: \"x\"\n  " + a + ":\n", found: 1, problems: []string{"nodes." + a + ": line 4: stands there twice; the first counts"}},
		{name: "a node twice, edited", read: nodes, text: "# x\nnodes:\n  " + a + ":\n    summary: x\n  " + b + ": {}\n  " + strings.ToUpper(a) + ": {}\n", found: 2, problems: []string{"nodes." + a + ": line 6: stands there twice; the first counts"}},
		{name: "a node twice, far apart", read: nodes, text: "nodes:\n  " + a + ":\n  " + b + ":\n  " + a + ":\n", found: 2, problems: []string{"nodes." + a + ": line 4: stands there twice; the first counts"}},
		{name: "no UUID", read: nodes, text: "nodes:\n  x: {}\n", problems: []string{`nodes.x: line 2: "x" is not a UUID such as 0192f000-0000-7000-8000-000000000001; it is left out`}},
		{name: "no entry", read: nodes, text: "nodes:\n  " + a + ": [1]\n", problems: []string{"nodes." + a + ": line 2: must be a mapping of keys to values; it is left out"}},
		{name: "no time", read: nodes, text: "updated: now\nnodes:\n  " + a + ": {timestamp: then, keywords: [a, b]}\nmood: x\n", found: 1, problems: []string{
			"mood: line 4: is not known; it is left out", `updated: line 1: "now" is not a time such as 2025-05-09T06:48:06.533720+09:00; it is left out`,
			`timestamp: line 3: "then" is not a time such as 2025-05-09T06:48:06.533720+09:00; it is left out`}},
		{name: "a tag twice", read: tags, text: "tags:\n  \"x\":\n    - " + a + "\n  \"x\":\n    - " + a + "\n", found: 1, problems: []string{"tags.x: line 4: stands there twice; the first counts"}},
		{name: "a tag twice, edited", read: tags, text: "tags:\n  x: [" + a + "]\n  'x': [" + a + "]\n", found: 1, problems: []string{"tags.x: line 3: stands there twice; the first counts"}},
		{name: "a node twice under a tag", read: tags, text: "tags:\n  \"x\":\n    - " + a + "\n    - " + a + "\n", found: 1, problems: []string{"tags.x." + a + ": line 4: stands there twice; the first counts"}},
		{name: "a tag without a name", read: tags, text: "tags:\n  null: [" + a + "]\n  yes: [" + a + ", 5]\n", found: 2, problems: []string{`tags.yes: line 3: "5" is not a UUID such as 0192f000-0000-7000-8000-000000000001; it is left out`}},
		{name: "a tag that is no list", read: tags, text: "tags:\n  x: " + a + "\n", problems: []string{"tags.x: line 2: must be a list; it is left out"}},
		{name: "conflict", read: tags, text: "<<<<<<< HEAD\ntags: {}\n=======\ntags: {}\n>>>>>>> b\n", err: "is not YAML"},
		{name: "torn", read: nodes, text: "nodes:\n  " + a + ":\n    summary: \"x", err: "is not YAML"},
		{name: "zeros", read: nodes, text: strings.Repeat("\x00", 100), err: "is not YAML"},
		{name: "nothing", read: nodes, text: "", err: `has no mapping "nodes"`},
		{name: "a list", read: tags, text: "tags: [x]\n", err: `has no mapping "tags"`},
		{name: "another file", read: tags, text: "nodes: {}\n", err: `has no mapping "tags"`},
		{name: "bomb", read: tags, text: "a: &a [x]\ntags: {x: *a}\n", err: "is an alias"},
		{name: "large and edited", read: tags, text: "tags: {}\n#" + strings.Repeat(" ", yamlx.MaxBytes), err: "the limit is 16777216"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found, problems, err := c.read(c.text)
			var own *format.Error
			switch {
			case c.err != "" && (!errors.As(err, &own) || !strings.Contains(own.Reason, c.err)):
				t.Errorf("the error is %v, not %s", err, c.err)
			case c.err == "" && err != nil:
				t.Error(err)
			}
			if diff := cmp.Diff(c.problems, problems); diff != "" || found != c.found {
				t.Errorf("%d entries; %s", found, diff)
			}
		})
	}
}

func TestProblemsOfMetadataAreBounded(t *testing.T) {
	t.Parallel()
	x, err := format.DecodeTags([]byte("tags:\n" + strings.Repeat("  x: []\n", 500)))
	if err != nil || len(x.Problems) != 101 || x.Problems[100] != "and 399 more" {
		t.Errorf("%d problems, %v", len(x.Problems), err)
	}
}

// The seed's own examples, with UUIDs for its places, and hand-made forms of them.
func TestSeedMetadata(t *testing.T) {
	t.Parallel()
	const a, b = "0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b"
	x, err := format.DecodeNodeIndex([]byte("updated: 2025-05-08T13:55:22+09:00\nnodes:\n  " + a +
		":\n    timestamp: 2025-05-08T12:30:45+09:00\n    keywords: キーワード1,キーワード2、 キーワード3\n    summary: インデックス用要約\n  " + b +
		":\n    timestamp: 2025-05-08T12:45:12+09:00\n"))
	want := []format.NodeEntry{
		{ID: id1, Created: time.Date(2025, 5, 8, 12, 30, 45, 0, noon.Location()), Keywords: []string{"キーワード1", "キーワード2", "キーワード3"}, Summary: "インデックス用要約"},
		{ID: id2, Created: time.Date(2025, 5, 8, 12, 45, 12, 0, noon.Location())},
	}
	if diff := cmp.Diff(want, x.Nodes, sameTime); diff != "" || err != nil || len(x.Problems) > 0 {
		t.Error(err, x.Problems, diff)
	}
	y, err := format.DecodeTags([]byte("updated: 2025-05-08T13:55:22+09:00\ntags:\n  タグ名1:\n    - " + a + "\n    - " + b + "\n"))
	if diff := cmp.Diff([]format.TagEntry{{Tag: "タグ名1", Nodes: []uuid.UUID{id1, id2}}}, y.Tags); diff != "" || err != nil || len(y.Problems) > 0 {
		t.Error(err, y.Problems, diff)
	}
}

func TestMetadataComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var nodes []format.NodeEntry
		var tags []format.TagEntry
		all := rapid.SliceOfDistinct(ids(), func(id uuid.UUID) uuid.UUID { return id }).Draw(rt, "ids")
		slices.SortFunc(all, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		for _, id := range all {
			nodes = append(nodes, format.NodeEntry{ID: id, Created: times().Draw(rt, "created"), Summary: texts().Draw(rt, "summary")})
		}
		names := rapid.SliceOfDistinct(texts(), func(s string) string { return s }).Draw(rt, "names")
		slices.Sort(names)
		for _, name := range names {
			if len(all) > 0 {
				tags = append(tags, format.TagEntry{Tag: name, Nodes: all[:1+len(name)%len(all)]})
			}
		}
		x, err := format.DecodeNodeIndex(encodeNodes(t, nodes))
		if diff := cmp.Diff(nodes, x.Nodes, sameTime, cmpopts.EquateEmpty()); diff != "" || err != nil || len(x.Problems) > 0 {
			rt.Fatal(err, x.Problems, diff)
		}
		y, err := format.DecodeTags(encodeTags(t, tags))
		if diff := cmp.Diff(tags, y.Tags); diff != "" || err != nil || len(y.Problems) > 0 {
			rt.Fatal(err, y.Problems, diff)
		}
	})
}

// manyNodes are entries as long chats make them.
func manyNodes(n int) []format.NodeEntry {
	nodes := make([]format.NodeEntry, n)
	for i := range nodes {
		nodes[i] = format.NodeEntry{
			ID:      uuid.UUID{0: 1, 6: 0x70, 8: 0x80, 12: byte(i >> 24), 13: byte(i >> 16), 14: byte(i >> 8), 15: byte(i)},
			Created: noon.Add(time.Duration(i) * time.Second), Keywords: []string{"夜明け", "駅", "切符"},
			Summary: fmt.Sprintf("%d 番目の夜、少女は駅で切符を買い、誰もいない列車に乗った。", i),
		}
	}
	return nodes
}

// cases/perf.md 10: of 100,000 nodes a doubled one is found and told with its line, without a YAML parser, which takes no file so large.
func TestPerf10ManyNodesAndOneTwice(t *testing.T) {
	t.Parallel()
	nodes := manyNodes(100_000)
	data := encodeNodes(t, nodes)
	if len(data) < yamlx.MaxBytes {
		t.Fatalf("%d bytes would go through a parser", len(data))
	}
	data = append(data, "  "+nodes[7].ID.String()+":\n    summary: \"again\"\n"...)
	x, err := format.DecodeNodeIndex(data)
	if err != nil || len(x.Nodes) != len(nodes) || x.Nodes[7].Summary != nodes[7].Summary {
		t.Errorf("%d nodes, %v", len(x.Nodes), err)
	}
	want := []string{"nodes." + nodes[7].ID.String() + ": line 400003: stands there twice; the first counts"}
	if diff := cmp.Diff(want, x.Problems); diff != "" {
		t.Error(diff)
	}
}
