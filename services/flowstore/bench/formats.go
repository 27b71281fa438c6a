package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

const (
	// filesPerRound is how often a node's file is written or read in a round.
	filesPerRound = 5000
	// flowMembers is how many nodes the flow has that is saved and loaded.
	flowMembers = 10_000
)

// turn is a node of 5 KB as a turn of a story makes it, with how it was made.
func turn() node.Node {
	half := 0.5
	n := sampleNode()
	n.ID, n.Tags = uuid.Must(uuid.NewV7()), []string{"夜明け", "R&D <1>"}
	n.Texts[1].Content = strings.Repeat("返事はなかった。\n", 160)
	n.Texts[1].Count, n.Texts[1].Duration = 1280, 12.5
	n.Generation = &node.Generation{
		Backend: "gemma", Kind: "llamacpp", Address: "http://127.0.0.1:18080", Model: "gemma.gguf", Window: 4096, Task: "CONT_INFO",
		PromptDigest: "9f86d081884c7d65", PromptTokens: 3200, AnswerTokens: 1280, AnswerSeconds: 12.5, Finish: "stop",
		Sampling: &sampling.Sampling{Temperature: &half, MinP: &half, MaxTokens: 250, Stop: []string{"***"}}, RequestDigest: "2c26b46b68ffc68f",
	}
	return n
}

// xmlFile is a node's file as one would write it down for encoding/xml.
type xmlFile struct {
	XMLName   xml.Name  `xml:"node"`
	ID        string    `xml:"id,attr"`
	Timestamp string    `xml:"timestamp,attr"`
	Texts     []xmlPart `xml:"contents>text"`
	Metadata  struct {
		Model      string `xml:"model"`
		Generation struct {
			Attrs    []xml.Attr `xml:",any,attr"`
			Backend  xmlPart    `xml:"backend"`
			Prompt   xmlPart    `xml:"prompt"`
			Answer   xmlPart    `xml:"answer"`
			Sampling struct {
				Attrs []xml.Attr `xml:",any,attr"`
				Stop  []string   `xml:"stop"`
			} `xml:"sampling"`
			Request xmlPart `xml:"request"`
		} `xml:"generation"`
		Summary xmlPart  `xml:"summary"`
		Tags    []string `xml:"tags>tag"`
	} `xml:"metadata"`
}

type xmlPart struct {
	Attrs   []xml.Attr `xml:",any,attr"`
	Content string     `xml:",cdata"`
}

// nodeFiles measures writing and reading a node's file.
func nodeFiles(context.Context, string) ([]benchtable.Row, error) {
	n := turn()
	data := format.EncodeNode(n)
	var plain xmlFile
	if err := xml.Unmarshal(data, &plain); err != nil {
		return nil, err
	}
	write := benchtable.Row{Ours: "writing the file of a node, 6 KB", Peer: "encoding/xml", Unit: "per second", Goal: benchtable.AtLeast(20)}
	read := benchtable.Row{Ours: "reading it", Peer: "encoding/xml", Unit: "per second", Goal: benchtable.AtLeast(8)}
	errWrite := write.Measure(
		func() (float64, error) { return repeated(func() error { format.EncodeNode(n); return nil }) },
		func() (float64, error) { return repeated(func() error { _, err := xml.Marshal(plain); return err }) })
	errRead := read.Measure(
		func() (float64, error) {
			return repeated(func() error { _, err := format.DecodeNode(data); return err })
		},
		func() (float64, error) { return repeated(func() error { return xml.Unmarshal(data, &xmlFile{}) }) })
	// What no writer can save: memory for the file, and a look at each byte.
	var copied []byte
	floor, err := repeated(func() error {
		copied = append(make([]byte, 0, len(data)), data...)
		if bytes.IndexByte(copied, 0) >= 0 {
			return errors.New("a NUL")
		}
		return nil
	})
	write.Facts = []benchtable.Fact{
		{Name: "floor: memory for the file, copied and looked through once, per second", Figure: floor},
		{Name: "allocations per file", Figure: allocations(func() { format.EncodeNode(n) })},
		{Name: "bytes of the file", Figure: float64(len(data))},
	}
	read.Facts = []benchtable.Fact{{Name: "allocations per file", Figure: allocations(func() { _, _ = format.DecodeNode(data) })}}
	return []benchtable.Row{write, read}, errors.Join(errWrite, errRead, err)
}

// repeated gives how often per second something can be done.
func repeated(run func() error) (float64, error) {
	return perSecond(filesPerRound, func() error {
		for range filesPerRound {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	})
}

func allocations(run func()) float64 {
	const times = 1000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		run()
	}
	runtime.ReadMemStats(&after)
	return float64((after.Mallocs - before.Mallocs) / times)
}

// yamlFlow is a flow's file as one would write it down for yaml.v3.
type yamlFlow struct {
	ID          string       `yaml:"id"`
	Name        string       `yaml:"name"`
	Created     time.Time    `yaml:"created"`
	Updated     time.Time    `yaml:"updated"`
	Current     int          `yaml:"current,omitempty"`
	Next        int          `yaml:"next"`
	Nodes       []yamlMember `yaml:"nodes"`
	Connections []yamlEdge   `yaml:"connections"`
}

type yamlMember struct {
	Index int    `yaml:"index"`
	ID    string `yaml:"id"`
}

type yamlEdge struct {
	From int    `yaml:"from"`
	To   int    `yaml:"to"`
	Name string `yaml:"name,omitempty"`
}

// line is a flow of nodes in a row, and what yaml.v3 has of it.
func line(members int) (flow.Flow, yamlFlow) {
	f := flow.Flow{ID: uuid.Must(uuid.NewV7()), Name: "夜明けの町", Created: time.Now().UTC(), Updated: time.Now().UTC(), Current: 1, Next: members + 1}
	y := yamlFlow{ID: f.ID.String(), Name: f.Name, Created: f.Created, Updated: f.Updated, Current: f.Current, Next: f.Next}
	for i := range members {
		id := uuid.UUID{6: 0x70, 8: 0x80}
		binary.BigEndian.PutUint32(id[:], uint32(i+1))
		f.Members, y.Nodes = append(f.Members, flow.Member{Index: i + 1, Node: id}), append(y.Nodes, yamlMember{i + 1, id.String()})
		if i > 0 {
			f.Edges, y.Connections = append(f.Edges, flow.Edge{From: i, To: i + 1}), append(y.Connections, yamlEdge{From: i, To: i + 1})
		}
	}
	return flow.Examine(f), y
}

// flowFiles measures saving and loading a flow.
func flowFiles(context.Context, string) ([]benchtable.Row, error) {
	f, plain := line(flowMembers)
	data := format.EncodeFlow(f)
	edited := bytes.Replace(data, []byte("\nnodes:\n"), []byte("\nnodes: # 手で書いた\n"), 1)
	save := benchtable.Row{Ours: "saving a flow of 10,000 nodes", Peer: "yaml.v3", Unit: "ms", Goal: benchtable.AtMost(0.01)}
	load := benchtable.Row{Ours: "loading it", Peer: "yaml.v3", Unit: "ms", Goal: benchtable.AtMost(0.05)}
	errSave := save.Measure(
		func() (float64, error) { return millis(func() error { format.EncodeFlow(f); return nil }) },
		func() (float64, error) { return millis(func() error { _, err := yamlx.Marshal(plain); return err }) })
	var byHand []float64
	errLoad := load.Measure(
		func() (float64, error) { return millis(func() error { return loadFlow(data) }) },
		func() (float64, error) {
			peer, err := millis(func() error { return loadYAML(data) })
			if err != nil {
				return 0, err
			}
			hand, err := millis(func() error { return loadFlow(edited) })
			byHand = append(byHand, hand/peer)
			return peer, err
		})
	most := benchtable.AtMost(2)
	save.Facts = []benchtable.Fact{
		{Name: "bytes of the file", Figure: float64(len(data))},
		{Name: "allocations", Figure: allocations(func() { format.EncodeFlow(f) })},
	}
	load.Facts = []benchtable.Fact{{Name: "with a comment in it, in times of yaml.v3", Figure: benchtable.Median(byHand), Goal: &most}}
	return []benchtable.Row{save, load}, errors.Join(errSave, errLoad)
}

func millis(run func() error) (float64, error) {
	start := time.Now()
	err := run()
	return float64(time.Since(start).Nanoseconds()) / 1e6, err
}

func loadFlow(data []byte) error {
	f, err := format.DecodeFlow(data)
	if err == nil && len(f.Members) != flowMembers {
		err = fmt.Errorf("%d members", len(f.Members))
	}
	return err
}

func loadYAML(data []byte) error {
	root, err := yamlx.Parse(data)
	if err != nil {
		return err
	}
	var y yamlFlow
	if err := root.Decode(&y); err != nil { // of yaml.v3 itself
		return err
	}
	if len(y.Nodes) != flowMembers {
		return fmt.Errorf("%d members", len(y.Nodes))
	}
	return nil
}
