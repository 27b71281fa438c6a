package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// finds compares a store with what was acknowledged.
func (u *user) finds(s *Store) error {
	ctx := context.Background()
	for id, want := range u.nodes {
		got, err := s.Node(ctx, ns, id)
		if u.trash[store.Thing{Kind: store.KindNode, ID: id}] {
			if dropped := (*store.DroppedError)(nil); !errors.As(err, &dropped) {
				return errors.Join(fmt.Errorf("the node %s was dropped and is %+v", id, got), err)
			}
			continue
		}
		if err != nil || !bytes.Equal(format.EncodeNode(got), format.EncodeNode(want)) {
			return errors.Join(fmt.Errorf("the node %s was acknowledged and is %+v", id, got), err)
		}
	}
	for id, want := range u.flows {
		got, err := s.Flow(ctx, ns, id)
		if u.trash[store.Thing{Kind: store.KindFlow, ID: id}] {
			if dropped := (*store.DroppedError)(nil); !errors.As(err, &dropped) {
				return errors.Join(fmt.Errorf("the flow %s was dropped and is %+v", id, got), err)
			}
			continue
		}
		if err != nil || !bytes.Equal(format.EncodeFlow(got), format.EncodeFlow(want)) {
			return errors.Join(fmt.Errorf("the flow %s was acknowledged as\n%s and is\n%s", id, format.EncodeFlow(want), format.EncodeFlow(got)), err)
		}
	}
	if err := u.findsPurged(s); err != nil {
		return err
	}
	problems, err := s.Problems(ctx, ns)
	if err != nil || len(problems) > 0 {
		return errors.Join(fmt.Errorf("problems: %v", problems), err)
	}
	return nil
}

// findsRequests is apart from finds, since it takes an Update.
func (u *user) findsRequests(s *Store) error {
	return s.Update(context.Background(), ns, func(tx store.Tx) error {
		for id, want := range u.requests {
			if got, ok, err := tx.Request(id); !ok || err != nil || got.Result != want {
				return errors.Join(fmt.Errorf("the request %s was acknowledged and is %v", id, got), err)
			}
		}
		return nil
	})
}

// findsInTree compares the files with what was acknowledged: all of it, nothing else, nothing torn, and the indexes right.
func (u *user) findsInTree(tree filesys.FS) error {
	readNode := func(data []byte) (format.Row, error) {
		n, err := format.DecodeNode(data)
		if err == nil && !bytes.Equal(data, format.EncodeNode(u.nodes[n.ID])) {
			err = fmt.Errorf("it is not as it was acknowledged:\n%s", data)
		}
		return format.Row{ID: n.ID, Time: n.Created}, err
	}
	readFlow := func(data []byte) (format.Row, error) {
		f, err := format.DecodeFlow(data)
		return format.Row{ID: f.ID, Time: f.Updated}, err
	}
	droppedNodes, droppedFlows := 0, 0
	for t, dropped := range u.trash {
		switch {
		case dropped && t.Kind == store.KindNode:
			droppedNodes++
		case dropped:
			droppedFlows++
		}
	}
	return errors.Join(u.findsTombstones(tree),
		filesAre(tree, format.Nodes, len(u.nodes)-droppedNodes, droppedNodes, readNode),
		filesAre(tree, format.Flows, len(u.flows)-droppedFlows, droppedFlows, readFlow))
}

// filesAre counts the files of a kind in the tree and in the trash.
func filesAre(tree filesys.FS, kind format.Kind, want, wantDropped int, read func([]byte) (format.Row, error)) error {
	n, err := filesIn(tree, kind, read)
	if err != nil || n != want {
		return errors.Join(fmt.Errorf("%d files of %s in the tree, acknowledged %d", n, kind, want), err)
	}
	sp := &space{tree: filesys.Sub(tree, ns), nodes: newIndex(format.Nodes), flows: newIndex(format.Flows), log: nopLog}
	list, err := sp.listKind(trashPath(string(kind)))
	if err != nil || len(list) != wantDropped {
		return errors.Join(fmt.Errorf("%d files of %s in the trash, acknowledged %d", len(list), kind, wantDropped), err)
	}
	for _, f := range list {
		data, err := sp.tree.ReadFile(f.Path, format.MaxFile)
		if err == nil {
			_, err = read(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}

// filesIn reads all files of a kind and compares them with the index.
func filesIn(tree filesys.FS, kind format.Kind, read func([]byte) (format.Row, error)) (int, error) {
	text, err := tree.ReadFile(path.Join(ns, string(kind), "index.tsv"), maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte(format.IndexHeader), nil
	}
	rows, sound := kind.ReadIndex(text)
	if err != nil || !sound {
		return 0, errors.Join(fmt.Errorf("the index of %s is %q", kind, text), err)
	}
	byPath := map[string]format.Row{}
	for _, r := range rows {
		byPath[r.Path] = r
	}
	sp := &space{tree: filesys.Sub(tree, ns), nodes: newIndex(format.Nodes), flows: newIndex(format.Flows), log: nopLog}
	list, err := sp.listKind(string(kind))
	if err != nil || len(list) != len(byPath) {
		return 0, errors.Join(fmt.Errorf("%d files, %d rows in the index of %s", len(list), len(byPath), kind), err)
	}
	for _, f := range list {
		data, err := tree.ReadFile(path.Join(ns, f.Path), format.MaxFile)
		if err != nil {
			return 0, err
		}
		held, err := read(data)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", f.Path, err)
		}
		if r := byPath[strings.TrimPrefix(f.Path, string(kind)+"/")]; r.ID != held.ID || !r.Time.Equal(held.Time) {
			return 0, fmt.Errorf("%s holds %v, the index says %v", f.Path, held, r)
		}
	}
	return len(list), nil
}
