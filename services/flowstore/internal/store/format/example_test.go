package format_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

func ExampleEncodeNode() {
	file := format.EncodeNode(node.Node{
		ID:      uuid.MustParse("0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"),
		Created: time.Date(2025, 5, 9, 6, 48, 6, 533720000, time.FixedZone("", 9*3600)),
		Texts:   []node.Text{{Role: "user", Content: "夜明け前の町は静かだった。"}},
		Summary: node.Summary{Stale: true},
	})
	fmt.Print(string(file))
	// Output:
	// <?xml version="1.0" encoding="utf-8"?>
	// <node id="0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" timestamp="2025-05-09T06:48:06.533720+09:00">
	// <contents>
	// <text role="user"><![CDATA[
	// 夜明け前の町は静かだった。
	// ]]></text>
	// </contents>
	// <metadata>
	// <summary updated="true"/>
	// </metadata>
	// </node>
}

func ExampleKind_SlotPath() {
	fmt.Println(format.Nodes.SlotPath(9_999), format.Nodes.SlotPath(10_000), format.Flows.SlotPath(999_999))
	// Output: 099/099.xml 000/100.xml 999/999.yaml
}
