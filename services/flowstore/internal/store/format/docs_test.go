package format_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// The examples of the page that explains the files are files as they are written.
func TestDocumentedFiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "flowstore-files.md"))
	if err != nil {
		t.Fatal(err)
	}
	example := func(language string) string {
		_, rest, found := strings.Cut(string(page), "```"+language+"\n")
		page = []byte(rest) // the next one is behind it
		text, _, closed := strings.Cut(rest, "```")
		if !found || !closed {
			t.Fatalf("the page has no example in %s", language)
		}
		return text
	}
	text := example("xml")
	if diff := cmp.Diff(text, string(format.EncodeNode(decodeNode(t, []byte(text))))); diff != "" {
		t.Errorf("node: %s", diff)
	}
	text = example("yaml")
	f := decodeFlow(t, []byte(text))
	if diff := cmp.Diff(text, string(format.EncodeFlow(f))); diff != "" || len(f.Problems) > 0 {
		t.Errorf("flow: %q %s", f.Problems, diff)
	}
	var b bytes.Buffer
	text = example("yaml")
	tags, err := format.DecodeTags([]byte(text))
	err = errors.Join(err, format.EncodeTags(&b, tags.Updated, slices.Values(tags.Tags)))
	if diff := cmp.Diff(text, b.String()); diff != "" || err != nil || len(tags.Problems) > 0 {
		t.Errorf("tags: %v %q %s", err, tags.Problems, diff)
	}
	b.Reset()
	text = example("yaml")
	nodes, err := format.DecodeNodeIndex([]byte(text))
	err = errors.Join(err, format.EncodeNodeIndex(&b, nodes.Updated, slices.Values(nodes.Nodes)))
	if diff := cmp.Diff(text, b.String()); diff != "" || err != nil || len(nodes.Problems) > 0 {
		t.Errorf("index: %v %q %s", err, nodes.Problems, diff)
	}
	text = example("tsv")
	rows, problems := format.ReadTombstones([]byte(text))
	written := []byte(format.TombstonesHeader)
	for _, r := range rows {
		written = format.AppendTombstone(written, r)
	}
	if diff := cmp.Diff(text, string(written)); diff != "" || len(problems) > 0 || len(rows) == 0 {
		t.Errorf("tombstones: %q %s", problems, diff)
	}
	if c, err := format.DecodeConfig([]byte(example("yaml"))); err != nil || len(c.Warnings)+len(c.Foreign) > 0 {
		t.Errorf("config: %v %q %q", err, c.Warnings, c.Foreign)
	}
}
