package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

func (s *server) flush(ctx context.Context) error {
	if _, err := s.client.FlushStore(ctx, &flowstorev1.FlushStoreRequest{}); err != nil {
		return fmt.Errorf("flushing: %w", err)
	}
	return nil
}

// compareTree parses every file of the flushed tree, of its trash, and its tombstones, and holds them to the ledger.
func (t *trial) compareTree() error {
	found := map[string]map[string]string{}
	errs := errors.Join(t.findFiles("", found), t.findFiles("trash", found), t.findTombstones(found))
	for thing, want := range t.ledger.is {
		if kept := t.ledger.kept[thing]; kept != nil {
			want = maps.Clone(kept)
			want[partTrash] = isThere
		}
		t.compareParts("the file of "+thing, want, found[thing])
		delete(found, thing)
	}
	for thing := range found {
		t.Lose("there is a file of %s, and nobody asked for it", thing)
	}
	return errs
}

// findFiles parses the files of the tree, or of a folder of it.
func (t *trial) findFiles(folder string, found map[string]map[string]string) error {
	errNodes := t.eachFile(folder, format.Nodes, func(path string, data []byte) string {
		n, err := format.DecodeNode(data)
		if err != nil {
			t.Lose("%s: %v", path, err)
			return ""
		}
		t.find(found, path, node.Name(n.ID), nodeFileParts(n))
		return n.ID.String()
	})
	errFlows := t.eachFile(folder, format.Flows, func(path string, data []byte) string {
		f, err := format.DecodeFlow(data)
		if err != nil {
			t.Lose("%s: %v", path, err)
			return ""
		}
		t.find(found, path, flow.Name(f.ID), flowFileParts(f))
		return f.ID.String()
	})
	return errors.Join(errNodes, errFlows)
}

// findTombstones reads what was purged.
func (t *trial) findTombstones(found map[string]map[string]string) error {
	data, err := os.ReadFile(filepath.Join(t.data, "default", "tombstones.tsv"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	rows, problems := format.ReadTombstones(data)
	for _, p := range problems {
		t.Lose("tombstones.tsv: %s", p)
	}
	for _, r := range rows {
		thing := node.Name(r.ID)
		if r.Kind == format.Flows {
			thing = flow.Name(r.ID)
		}
		t.find(found, "tombstones.tsv", thing, map[string]string{partPurged: r.Reason})
	}
	return err
}

func (t *trial) find(found map[string]map[string]string, path, thing string, parts map[string]string) {
	if found[thing] != nil {
		t.Lose("%s: %s is in two files", path, thing)
	}
	if strings.HasPrefix(path, "trash/") {
		parts[partTrash] = isThere
	}
	found[thing] = parts
}

// eachFile visits the files of a kind; visit gives the id of what is in it. The index has to lead to each of them in the tree.
func (t *trial) eachFile(folder string, kind format.Kind, visit func(path string, data []byte) (id string)) error {
	indexed := map[string]string{}
	if folder == "" {
		var err error
		if indexed, err = t.readIndex(kind); err != nil {
			return err
		}
	}
	root := filepath.Join(t.data, "default", folder, string(kind))
	paths, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err != nil {
		return err
	}
	for _, full := range paths {
		path, err := filepath.Rel(root, full)
		if err != nil {
			return err
		}
		if _, ours := kind.ParseName(filepath.ToSlash(path)); !ours {
			t.Lose("%s is no file of ours", full)
			continue
		}
		text, err := os.ReadFile(full)
		if err != nil {
			return fmt.Errorf("reading %s: %w", full, err)
		}
		id := visit(filepath.ToSlash(filepath.Join(folder, string(kind), path)), text)
		if want := indexed[filepath.ToSlash(path)]; folder == "" && id != want {
			t.Lose("%s holds %s; the index says %q", full, id, want)
		}
	}
	return nil
}

// readIndex gives the ids in the index of a kind, by path.
func (t *trial) readIndex(kind format.Kind) (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(t.data, "default", string(kind), "index.tsv"))
	if err != nil {
		return nil, err
	}
	rows, sound := kind.ReadIndex(data)
	if !sound {
		t.Lose("%s/index.tsv has lines that cannot be read", kind)
	}
	indexed := map[string]string{}
	for _, r := range rows {
		indexed[r.Path] = r.ID.String()
	}
	return indexed, nil
}
