// Package peer is what flowstore's file engine is measured against: the same port, each node durable by itself.
package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/memory"
)

// Store is an engine that makes each new node durable by itself, as programs do that keep text files: it writes the file
// under another name, syncs it, renames it and syncs its folder, all callers at once. It keeps no index and no request
// ids on disk and so does less than ours. The service around it is the same.
type Store struct {
	store.Store
	data string
	made atomic.Int64
}

// perFolder is how many files a folder takes, as ours do.
const perFolder = 100

// New makes the folders for so many files beforehand, so that making them is not measured.
func New(data string, files int) (*Store, error) {
	p := &Store{Store: memory.New(time.Now), data: data}
	for n := range files/perFolder + 1 {
		if err := os.MkdirAll(p.folder(n), 0o700); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Store) folder(n int) string { return filepath.Join(p.data, fmt.Sprintf("%03d", n)) }

// Update implements store.Store.
func (p *Store) Update(ctx context.Context, ns string, fn func(store.Tx) error) error {
	noted := &notedTx{}
	err := p.Store.Update(ctx, ns, func(tx store.Tx) error {
		noted.Tx = tx
		return fn(noted)
	})
	if err != nil {
		return err
	}
	for _, n := range noted.nodes {
		if err := p.write(format.EncodeNode(n)); err != nil {
			return err
		}
	}
	return nil
}

// notedTx notes the nodes that are made.
type notedTx struct {
	store.Tx
	nodes []node.Node
}

// CreateNode implements store.Tx.
func (t *notedTx) CreateNode(n node.Node) error {
	t.nodes = append(t.nodes, n)
	return t.Tx.CreateNode(n)
}

func (p *Store) write(body []byte) error {
	n := int(p.made.Add(1) - 1)
	folder := p.folder(n / perFolder)
	name := filepath.Join(folder, fmt.Sprintf("%03d.xml", n%perFolder))
	if err := writeSynced(name+".tmp", body); err != nil {
		return err
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		return err
	}
	return syncFolder(folder)
}

func writeSynced(name string, body []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, errWrite := f.Write(body)
	return errors.Join(errWrite, f.Sync(), f.Close())
}

func syncFolder(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// NewID makes the ids of new nodes, as those of ours are made.
func (*Store) NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
