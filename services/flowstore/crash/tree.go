package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

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

// compareTree parses every file of the flushed tree and holds it to the ledger.
func (t *trial) compareTree() error {
	found := map[string]map[string]string{}
	errNodes := t.eachFile(format.Nodes, func(path string, data []byte) string {
		n, err := format.DecodeNode(data)
		if err != nil {
			t.lose("%s: %v", path, err)
			return ""
		}
		t.find(found, path, node.Name(n.ID), nodeFileParts(n))
		return n.ID.String()
	})
	errFlows := t.eachFile(format.Flows, func(path string, data []byte) string {
		f, err := format.DecodeFlow(data)
		if err != nil {
			t.lose("%s: %v", path, err)
			return ""
		}
		t.find(found, path, flow.Name(f.ID), flowFileParts(f))
		return f.ID.String()
	})
	for thing, want := range t.ledger.is {
		t.compareParts("the file of "+thing, want, found[thing])
		delete(found, thing)
	}
	for thing := range found {
		t.lose("there is a file of %s, and nobody asked for it", thing)
	}
	return errors.Join(errNodes, errFlows)
}

func (t *trial) find(found map[string]map[string]string, path, thing string, parts map[string]string) {
	if found[thing] != nil {
		t.lose("%s: %s is in two files", path, thing)
	}
	found[thing] = parts
}

// eachFile visits the files of a kind; visit gives the id of what is in it. The index has to lead to each of them.
func (t *trial) eachFile(kind format.Kind, visit func(path string, data []byte) (id string)) error {
	root := filepath.Join(t.data, "default", string(kind))
	data, err := os.ReadFile(filepath.Join(root, "index.tsv"))
	if err != nil {
		return err
	}
	rows, sound := kind.ReadIndex(data)
	if !sound {
		t.lose("%s/index.tsv has lines that cannot be read", kind)
	}
	indexed := map[string]string{}
	for _, r := range rows {
		indexed[r.Path] = r.ID.String()
	}
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
			t.lose("%s/%s is no file of ours", kind, path)
			continue
		}
		text, err := os.ReadFile(full)
		if err != nil {
			return fmt.Errorf("reading %s: %w", full, err)
		}
		if id := visit(path, text); id != indexed[filepath.ToSlash(path)] {
			t.lose("%s/%s holds %s; the index says %q", kind, path, id, indexed[path])
		}
	}
	return nil
}

// check has `flowstore check` look through the tree.
func (t *trial) check(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, t.binary, "check", t.data).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		t.lose("flowstore check (exit code %d): %s", exit.ExitCode(), out)
	case err != nil:
		return fmt.Errorf("flowstore check: %w", err)
	}
	return nil
}
