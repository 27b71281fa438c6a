package format_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// A node in the form of seed 004, 4.1: what it shows is what people write by hand.
const seedNode = `<?xml version="1.0" encoding="utf-8"?>
<node id="0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" timestamp="2025-05-09T06:48:06.533720+09:00">
<contents>
<text role="user" count="6" duration="1.20" rate="4.99"><![CDATA[
港町の朝を、
三行で。
]]></text>
<text role="assistant" count="14" duration="0.08" rate="179.49"><![CDATA[
霧が晴れる。
舟が戻る。
]]></text>
</contents>
<metadata>
<model>gemini-2.0-flash-001</model>
<summary updated="false" last_built="2025-05-09T06:48:06.533720+09:00"><![CDATA[
港町の朝の描写
]]></summary>
<tags>
<tag>港町</tag>
<tag>朝</tag>
<tag>霧</tag>
</tags>
</metadata>
</node>
`

// A flow in the form of seed 004, 5.1, with its comments.
const seedFlow = `id: 0197a1b2-c3d6-7e5f-8a9b-0c1d2e3f4a5b
name: 港町の話
created: 2025-05-07T10:00:00+09:00
updated: 2025-05-08T13:55:22+09:00
description: 朝から夜まで
# 番号は順序ではない
nodes:
  - index: 1
    id: 0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b
  - index: 2
    id: 0197a1b2-c3d5-7e5f-8a9b-0c1d2e3f4a5b
  - index: 3
    id: 0197a1b2-c3d6-7e5f-8a9b-0c1d2e3f4a5b
# 分かれて、また合う
connections:
  # 分かれる
  - from: 1
    to: 2
  - from: 1
    to: 3
  # 合う
  - from: 2
    to: 3
`

// seed 004, 4.1 and 5.1: files in the form of its examples load, and a change leaves everything else as it was written.
func TestSeedExamples(t *testing.T) {
	t.Parallel()
	n := decodeNode(t, []byte(seedNode))
	want := node.Node{
		ID: id1, Created: noon, Model: "gemini-2.0-flash-001", Tags: []string{"港町", "朝", "霧"},
		Texts: []node.Text{
			{Role: "user", Content: "港町の朝を、\n三行で。", Count: 6, Duration: 1.2, Rate: 4.99},
			{Role: "assistant", Content: "霧が晴れる。\n舟が戻る。", Count: 14, Duration: 0.08, Rate: 179.49},
		},
		Summary: node.Summary{Text: "港町の朝の描写", Built: noon},
	}
	if diff := cmp.Diff(want, n, sameTime); diff != "" {
		t.Error(diff)
	}
	n.Tags = []string{"港町", "霧"}
	data, kept := format.UpdateNode([]byte(seedNode), n)
	if diff := cmp.Diff(strings.Replace(seedNode, "<tag>朝</tag>\n", "", 1), string(data)); diff != "" || !kept {
		t.Errorf("kept is %v: %s", kept, diff)
	}
	f := decodeFlow(t, []byte(seedFlow))
	if f.Name != "港町の話" || f.Description != "朝から夜まで" || len(f.Members) != 3 || len(f.Edges) != 3 || len(f.Problems) > 0 ||
		f.Created.Format(time.RFC3339) != "2025-05-07T10:00:00+09:00" {
		t.Errorf("%+v", f)
	}
	changed, kept := format.UpdateFlow([]byte(seedFlow), f.Apply(flow.Change{At: noon, Disconnect: f.Edges[:1]}))
	wantFlow := strings.Replace(strings.Replace(seedFlow, "2025-05-08T13:55:22+09:00", "2025-05-09T06:48:06.533720+09:00", 1), "  - from: 1\n    to: 2\n", "", 1)
	for _, line := range strings.SplitAfter(wantFlow, "\n") {
		if !strings.Contains(string(changed), line) || !kept {
			t.Errorf("kept is %v, lost is %q in\n%s", kept, line, changed)
		}
	}
}

// seed 004, 4.3: its names have two digits.
func TestSeedNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"00/00.xml", "01/00.xml"} {
		if _, ours := format.Nodes.ParseName(name); !ours {
			t.Errorf("%s is not read", name)
		}
	}
	rows, sound := format.Nodes.ReadIndex([]byte("relpath\tuuid\ttimestamp\n00/01.xml\t" + id1.String() + "\t2025-05-09T06:49:10.123456+09:00\n"))
	if !sound || len(rows) != 1 || rows[0].Path != "00/01.xml" || rows[0].ID != id1 {
		t.Errorf("%v %v", rows, sound)
	}
}
