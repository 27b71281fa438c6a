package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

const (
	// literalCreates is how many nodes we create in a round, the peer one: it takes that long.
	literalCreates = 200
	// fewNodes is how many a small store has.
	fewNodes = 1000
)

// literal creates a node as seed 004 says it: its file, a line in nodes/index.tsv, and metadata/index.yaml with all nodes
// written anew. Nothing is synced, which is to its good, and so is that the index is one of 10,000 nodes.
type literal struct {
	dir   string
	index peerIndex
	made  int
}

func newLiteral(dir string) (*literal, error) {
	l := &literal{dir: dir, index: peerIndex{Nodes: map[string]peerEntry{}}}
	for _, n := range indexEntries(openedNodes) {
		l.index.Nodes[n.ID.String()] = peerEntry{Timestamp: n.Created, Keywords: n.Keywords[0] + "," + n.Keywords[1], Summary: n.Summary}
	}
	return l, os.MkdirAll(dir, 0o700)
}

func (l *literal) create(_ context.Context, n node.Node) error {
	n.ID = uuid.Must(uuid.NewV7())
	l.made++
	path := fmt.Sprintf("%03d.xml", l.made)
	if err := os.WriteFile(filepath.Join(l.dir, path), format.EncodeNode(n), 0o600); err != nil {
		return err
	}
	tsv, err := os.OpenFile(filepath.Join(l.dir, "index.tsv"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(tsv, "%s\t%s\t%s\n", path, n.ID, n.Created.Format(time.RFC3339Nano))
	if err := errors.Join(err, tsv.Close()); err != nil {
		return err
	}
	l.index.Nodes[n.ID.String()] = peerEntry{Timestamp: n.Created}
	data, err := yamlx.Marshal(l.index)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, "index.yaml"), data, 0o600)
}

// creatingInLarge measures a durable create in a store of 10,000 nodes, which opening filled.
func creatingInLarge(ctx context.Context, dir string) (rows []benchtable.Row, err error) {
	large, err := openEngine(filepath.Join(dir, "opening"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, large.Close()) }()
	small, err := openEngine(filepath.Join(dir, "small"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, small.Close()) }()
	if _, err := burstOf(ctx, writers, fewNodes, small.create); err != nil {
		return nil, err
	}
	peer, err := newLiteral(filepath.Join(dir, "literal"))
	if err != nil {
		return nil, err
	}
	row := benchtable.Row{
		Ours: "durable creates in a store of 10,000 nodes, 1 writer", Peer: "files as seed 004 says them, index.yaml with yaml.v3, no fsync",
		Unit: "per second", Goal: benchtable.AtLeast(15),
	}
	var grown []float64
	err = row.Measure(
		func() (float64, error) {
			few, err := burstOf(ctx, 1, literalCreates, small.create)
			if err != nil {
				return 0, err
			}
			many, err := burstOf(ctx, 1, literalCreates, large.create)
			grown = append(grown, many.p50.Seconds()/few.p50.Seconds())
			return many.rate, errors.Join(err, small.flush(ctx), large.flush(ctx))
		},
		peerRate(ctx, 1, 1, peer.create))
	most := benchtable.AtMost(1.3)
	row.Facts = []benchtable.Fact{{Name: "half of the creates, in times of those in 1,000 nodes", Figure: benchtable.Median(grown), Goal: &most}}
	return []benchtable.Row{row}, err
}
