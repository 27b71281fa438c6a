package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// compareTree parses every file of the flushed tree and holds it to the ledger.
func (t *trial) compareTree() error {
	texts := map[string]string{}
	err := t.eachFile(format.Nodes, func(path string, data []byte) string {
		n, err := format.DecodeNode(data)
		if err != nil || len(n.Texts) != 1 {
			t.lose("%s: %v", path, err)
			return ""
		}
		name := "nodes/" + n.ID.String()
		if _, twice := texts[name]; twice {
			t.lose("%s: %s is in two files", path, name)
		}
		texts[name] = n.Texts[0].Content
		return n.ID.String()
	})
	if err != nil {
		return err
	}
	for name, text := range t.ledger.texts {
		if texts[name] != text {
			t.lose("%s has another text in its file: %q, acknowledged was %q", name, texts[name], text)
		}
	}
	if len(texts) != len(t.ledger.texts) {
		t.lose("there are files of %d nodes; %d were acknowledged", len(texts), len(t.ledger.texts))
	}
	return t.compareFlowFiles()
}

func (t *trial) compareFlowFiles() error {
	files := map[string]flow.Flow{}
	err := t.eachFile(format.Flows, func(path string, data []byte) string {
		f, err := format.DecodeFlow(data)
		if err != nil || len(f.Problems) > 0 {
			t.lose("%s: %v %q", path, err, f.Problems)
		}
		files["flows/"+f.ID.String()] = f
		return f.ID.String()
	})
	for _, record := range t.ledger.flows {
		f := files[record.name]
		parents := map[string][]string{}
		for _, m := range f.Members {
			name := "nodes/" + m.Node.String()
			parents[name] = nil
			for _, p := range f.Parents(m.Index) {
				parents[name] = append(parents[name], "nodes/"+p.Node.String())
			}
		}
		t.compareParents("the file of "+record.name, record.parents, parents)
	}
	return err
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
