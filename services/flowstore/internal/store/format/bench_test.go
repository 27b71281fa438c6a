package format_test

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
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

// usual is a node of 5 KB, as a turn of a story makes it.
func usual() node.Node {
	n := whole()
	n.Texts[1].Content = strings.Repeat("返事はなかった。\n", 160)
	return n
}

// The writer and the reader beside encoding/xml with the same content: the ratios are the goal (at least 20 and 8).
func BenchmarkEncodeNode(b *testing.B) {
	n := usual()
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(format.EncodeNode(n))))
		for b.Loop() {
			format.EncodeNode(n)
		}
	})
	b.Run("encoding_xml", func(b *testing.B) {
		peer := peerOf(b, n)
		for b.Loop() {
			if _, err := xml.Marshal(peer); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecodeNode(b *testing.B) {
	data := format.EncodeNode(usual())
	edited := bytes.Replace(data, []byte("<contents>"), []byte("<contents >"), 1) // no longer canonical
	for _, c := range []struct {
		name string
		read func() error
	}{
		{"ours", func() error { _, err := format.DecodeNode(data); return err }},
		{"head", func() error { _, _, err := format.Reader{}.NodeHead(data); return err }},
		{"edited", func() error { _, err := format.DecodeNode(edited); return err }},
		{"encoding_xml", func() error { return xml.Unmarshal(data, &peerNode{}) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := c.read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// peerNode is a node as a program with encoding/xml alone would have it.
type peerNode struct {
	XMLName   xml.Name   `xml:"node"`
	ID        string     `xml:"id,attr"`
	Timestamp string     `xml:"timestamp,attr"`
	Texts     []peerText `xml:"contents>text"`
	Metadata  struct {
		Model      string         `xml:"model"`
		Generation peerGeneration `xml:"generation"`
		Summary    peerText       `xml:"summary"`
		Tags       []string       `xml:"tags>tag"`
	} `xml:"metadata"`
}

type peerText struct {
	Attrs   []xml.Attr `xml:",any,attr"`
	Content string     `xml:",cdata"`
}

type peerGeneration struct {
	Attrs    []xml.Attr `xml:",any,attr"`
	Backend  peerText   `xml:"backend"`
	Prompt   peerText   `xml:"prompt"`
	Answer   peerText   `xml:"answer"`
	Error    string     `xml:"error"`
	Picks    []string   `xml:"picks>pick"`
	Sampling struct {
		Attrs []xml.Attr `xml:",any,attr"`
		Stop  []string   `xml:"stop"`
	} `xml:"sampling"`
	Request peerText `xml:"request"`
}

func peerOf(b *testing.B, n node.Node) (peer peerNode) {
	b.Helper()
	if err := xml.Unmarshal(format.EncodeNode(n), &peer); err != nil {
		b.Fatal(err)
	}
	return peer
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

// The time of a node must be the same at both sizes (field/perf.md 7, row 18).
func BenchmarkDecodeNodeIndex(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			data := encodeNodes(b, manyNodes(n))
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if x, err := format.DecodeNodeIndex(data); err != nil || len(x.Nodes) != n {
					b.Fatal(len(x.Nodes), err)
				}
			}
		})
	}
}

func BenchmarkEncodeNodeIndex(b *testing.B) {
	nodes := manyNodes(100_000)
	for b.Loop() {
		if err := format.EncodeNodeIndex(io.Discard, noon, slices.Values(nodes)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeTags(b *testing.B) {
	var tags []format.TagEntry
	nodes := manyNodes(100_000)
	for i := range 1000 {
		t := format.TagEntry{Tag: fmt.Sprintf("タグ%04d", i)}
		for j := i % 200; j < len(nodes); j += 200 {
			t.Nodes = append(t.Nodes, nodes[j].ID)
		}
		tags = append(tags, t)
	}
	data := encodeTags(b, tags)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if x, err := format.DecodeTags(data); err != nil || len(x.Tags) != 1000 {
			b.Fatal(len(x.Tags), err)
		}
	}
}
