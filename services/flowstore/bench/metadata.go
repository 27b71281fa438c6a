package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

const (
	// listedNodes is how many nodes our side has in metadata/index.yaml, peerNodes how many yaml.v3 has: it compares all
	// keys with each other, and would take minutes for ours. At a tenth it is at its best, and figures are per second.
	listedNodes = 100_000
	peerNodes   = listedNodes / 10
	// indexRows is how many rows nodes/index.tsv has: as many as a namespace holds nodes.
	indexRows = format.Slots
)

// peerIndex is metadata/index.yaml as one would write it down for yaml.v3.
type peerIndex struct {
	Updated time.Time            `yaml:"updated"`
	Nodes   map[string]peerEntry `yaml:"nodes"`
}

type peerEntry struct {
	Timestamp time.Time `yaml:"timestamp"`
	Keywords  string    `yaml:"keywords"`
	Summary   string    `yaml:"summary"`
}

func indexEntries(n int) []format.NodeEntry {
	r := rand.New(rand.NewPCG(18, 26))
	nodes := make([]format.NodeEntry, n)
	for i := range nodes {
		nodes[i] = format.NodeEntry{
			ID: rowID(r, i), Created: time.Unix(int64(i), 0).UTC(), Keywords: []string{"夜明け", "駅", fmt.Sprintf("章%d", i%100)},
			Summary: fmt.Sprintf("%d 番目の夜、少女は駅で\"切符\"を買い、誰もいない列車に乗った。", r.IntN(n)),
		}
	}
	return nodes
}

// rowID gives the i-th of rising ids.
func rowID(r *rand.Rand, i int) (id uuid.UUID) {
	binary.BigEndian.PutUint32(id[:], uint32(i))
	binary.BigEndian.PutUint64(id[8:], r.Uint64())
	id[6], id[8] = 0x70, 0x80
	return id
}

func encodeIndex(nodes []format.NodeEntry) ([]byte, error) {
	var b bytes.Buffer
	err := format.EncodeNodeIndex(&b, time.Unix(0, 0).UTC(), slices.Values(nodes))
	return b.Bytes(), err
}

// perSecond times one run over n things.
func perSecond(n int, run func() error) (float64, error) {
	start := time.Now()
	err := run()
	return float64(n) / time.Since(start).Seconds(), err
}

// savingMetadata measures writing metadata/index.yaml.
func savingMetadata(context.Context, string) (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: "writing metadata/index.yaml of 100,000 nodes", Peer: "yaml.v3, 10,000 nodes", Unit: "nodes per second", Goal: benchtable.AtLeast(20),
	}
	nodes := indexEntries(listedNodes)
	peer := peerIndex{Nodes: map[string]peerEntry{}}
	for _, n := range nodes[:peerNodes] {
		peer.Nodes[n.ID.String()] = peerEntry{Timestamp: n.Created, Keywords: n.Keywords[0] + "," + n.Keywords[1], Summary: n.Summary}
	}
	err := row.Measure(
		func() (float64, error) {
			return perSecond(listedNodes, func() error { return format.EncodeNodeIndex(io.Discard, time.Unix(0, 0), slices.Values(nodes)) })
		},
		func() (float64, error) {
			return perSecond(peerNodes, func() error {
				_, err := yamlx.Marshal(peer)
				return err
			})
		})
	return row, err
}

// loadingMetadata measures reading it back.
func loadingMetadata(context.Context, string) (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: "reading metadata/index.yaml of 100,000 nodes", Peer: "yaml.v3 into a map, 10,000 nodes", Unit: "nodes per second", Goal: benchtable.AtLeast(20),
	}
	nodes := indexEntries(listedNodes)
	large, err := encodeIndex(nodes)
	if err != nil {
		return row, err
	}
	small, err := encodeIndex(nodes[:peerNodes])
	if err != nil {
		return row, err
	}
	var times, ratios []float64
	err = row.Measure(
		func() (float64, error) {
			few, err := perSecond(listedNodes, func() (err error) { // as many nodes, in ten files
				for range listedNodes / peerNodes {
					err = errors.Join(err, decodeIndex(small, peerNodes))
				}
				return err
			})
			if err != nil {
				return 0, err
			}
			many, err := perSecond(listedNodes, func() error { return decodeIndex(large, listedNodes) })
			times = append(times, listedNodes/many*1000)
			ratios = append(ratios, few/many*listedNodes/peerNodes)
			return many, err
		},
		func() (float64, error) { return perSecond(peerNodes, func() error { return decodePeer(small) }) })
	half, thirteen := benchtable.AtMost(500), benchtable.AtMost(13)
	row.Facts = []benchtable.Fact{
		{Name: "100,000 nodes, ms", Figure: benchtable.Median(times), Goal: &half},
		{Name: "time of ten times the nodes, in times", Figure: benchtable.Median(ratios), Goal: &thirteen},
		{Name: "bytes per node", Figure: float64(len(large)) / listedNodes},
	}
	return row, err
}

func decodeIndex(data []byte, n int) error {
	x, err := format.DecodeNodeIndex(data)
	if err == nil && len(x.Nodes) != n {
		err = fmt.Errorf("%d nodes, not %d", len(x.Nodes), n)
	}
	return err
}

func decodePeer(data []byte) error {
	root, err := yamlx.Parse(data)
	if err != nil {
		return err
	}
	var x peerIndex
	if err := root.Decode(&x); err != nil { // of yaml.v3 itself
		return err
	}
	if len(x.Nodes) != peerNodes {
		return fmt.Errorf("%d nodes, not %d", len(x.Nodes), peerNodes)
	}
	return nil
}

// loadingRows measures reading a full nodes/index.tsv into a map by id.
func loadingRows(context.Context, string) (benchtable.Row, error) {
	row := benchtable.Row{
		Ours: "reading nodes/index.tsv of 1,000,000 rows into a map", Peer: "encoding/csv and a map", Unit: "ms", Goal: benchtable.AtMost(0.6),
	}
	r := rand.New(rand.NewPCG(19, 26))
	data := []byte(format.IndexHeader)
	for i := range indexRows {
		data = format.AppendRow(data, format.Row{Path: format.Nodes.SlotPath(i), ID: rowID(r, i), Time: time.Unix(int64(i), 0).UTC()})
	}
	before := heap()
	rows, byID, err := readRows(data)
	if err != nil {
		return row, err
	}
	most := benchtable.AtMost(150)
	row.Facts = []benchtable.Fact{{Name: "memory of rows and map, MiB", Figure: float64(heap()-before) / (1 << 20), Goal: &most}}
	runtime.KeepAlive(rows)
	runtime.KeepAlive(byID)
	err = row.Measure(
		func() (float64, error) {
			start := time.Now()
			_, _, err := readRows(data)
			return float64(time.Since(start).Microseconds()) / 1000, err
		},
		func() (float64, error) {
			start := time.Now()
			err := readCSV(data)
			return float64(time.Since(start).Microseconds()) / 1000, err
		})
	return row, err
}

func readRows(data []byte) ([]format.Row, map[uuid.UUID]int32, error) {
	rows, sound := format.Nodes.ReadIndex(data)
	byID := make(map[uuid.UUID]int32, len(rows))
	for i, r := range rows {
		byID[r.ID] = int32(i)
	}
	if !sound || len(byID) != indexRows {
		return nil, nil, fmt.Errorf("%d rows, sound is %v", len(byID), sound)
	}
	return rows, byID, nil
}

func readCSV(data []byte) error {
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma = '\t'
	byID := map[string][]string{}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		byID[record[1]] = record
	}
	if len(byID) != indexRows+1 {
		return fmt.Errorf("%d rows", len(byID))
	}
	return nil
}
