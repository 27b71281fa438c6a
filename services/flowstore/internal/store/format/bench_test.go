package format_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// long is a flow of 10,000 nodes in a row.
func long() flow.Flow {
	f := novel()
	f.Members, f.Edges, f.Current = nil, nil, 1
	for i := range 10_000 {
		id := uuid.UUID{6: 0x40, 8: 0x80}
		binary.BigEndian.PutUint32(id[12:], uint32(i+1))
		f.Members = append(f.Members, flow.Member{Index: i + 1, Node: id})
		if i > 0 {
			f.Edges = append(f.Edges, flow.Edge{From: i, To: i + 1})
		}
	}
	return flow.Examine(f)
}

func BenchmarkEncodeNode(b *testing.B) {
	n := whole()
	n.Texts[1].Content = strings.Repeat("返事はなかった。\n", 160)
	b.SetBytes(int64(len(format.EncodeNode(n))))
	for b.Loop() {
		format.EncodeNode(n)
	}
}

func BenchmarkDecodeNode(b *testing.B) {
	n := whole()
	n.Texts[1].Content = strings.Repeat("返事はなかった。\n", 160)
	data := format.EncodeNode(n)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := format.DecodeNode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeFlow(b *testing.B) {
	f := long()
	for b.Loop() {
		format.EncodeFlow(f)
	}
}

func BenchmarkDecodeFlow(b *testing.B) {
	data := format.EncodeFlow(long())
	for b.Loop() {
		if _, err := format.DecodeFlow(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdateFlow(b *testing.B) {
	old := long()
	data := format.EncodeFlow(old)
	changed := old.Apply(flow.Change{At: noon, Add: []flow.Member{{Index: old.Next, Node: id1}}})
	for b.Loop() {
		if _, kept := format.UpdateFlow(data, changed); !kept {
			b.Fatal("not kept")
		}
	}
}

func BenchmarkReadIndex(b *testing.B) {
	data := []byte(format.IndexHeader)
	for n := range 100_000 {
		data = format.AppendRow(data, format.Row{Path: format.Nodes.SlotPath(n), ID: id1, Time: noon})
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, sound := format.Nodes.ReadIndex(data); !sound {
			b.Fatal("not sound")
		}
	}
}
