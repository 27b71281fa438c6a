// Package bleve is the search index that the one of flowstore is measured against.
package bleve

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/cjk" // the analyzer that the mapping names
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/search/searchtest"
)

const (
	field = "text"
	// batch is how many nodes are written together, page how many hits are asked for.
	batch = 1000
	page  = 20
)

// Index is an index on disk.
type Index struct {
	dir   string
	index bleve.Index
}

// New makes an index of all nodes in a new folder. It keeps what a phrase is found by, and not the text.
func New(dir string, shelf *searchtest.Shelf) (*Index, error) {
	text := bleve.NewTextFieldMapping()
	text.Analyzer, text.Store, text.IncludeInAll, text.DocValues = "cjk", false, false, false
	m := bleve.NewIndexMapping()
	m.DefaultMapping = bleve.NewDocumentStaticMapping()
	m.DefaultMapping.AddFieldMappingsAt(field, text)
	x, err := bleve.New(dir, m)
	if err != nil {
		return nil, fmt.Errorf("make the index of bleve: %w", err)
	}
	b := x.NewBatch()
	for i, n := range shelf.Nodes {
		if err := b.Index(n.ID.String(), map[string]any{field: n.Texts[0].Content + "\n" + n.Texts[1].Content}); err != nil {
			return nil, fmt.Errorf("index a node: %w", err)
		}
		if (i+1)%batch == 0 || i+1 == len(shelf.Nodes) {
			if err := x.Batch(b); err != nil {
				return nil, fmt.Errorf("write a batch: %w", err)
			}
			b.Reset()
		}
	}
	return &Index{dir, x}, nil
}

// Search asks for the first page of the nodes that hold all of the words as phrases.
func (x *Index) Search(ctx context.Context, words []string) error {
	all := make([]query.Query, len(words))
	for i, w := range words {
		q := bleve.NewMatchPhraseQuery(w)
		q.SetField(field)
		all[i] = q
	}
	q := all[0]
	if len(all) > 1 {
		q = bleve.NewConjunctionQuery(all...)
	}
	res, err := x.index.SearchInContext(ctx, bleve.NewSearchRequestOptions(q, page, 0, false))
	if err == nil && res.Total == 0 {
		err = fmt.Errorf("bleve finds nothing for %q", words)
	}
	return err
}

// Bytes is how large its files are.
func (x *Index) Bytes() (int64, error) {
	size := int64(0)
	err := filepath.WalkDir(x.dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}

// Close closes its files.
func (x *Index) Close() error { return x.index.Close() }
