package format_test

import (
	"os"
	"path/filepath"
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
		_, rest, _ := strings.Cut(string(page), "```"+language+"\n")
		text, _, found := strings.Cut(rest, "```")
		if !found {
			t.Fatalf("the page has no example in %s", language)
		}
		return text
	}
	n := decodeNode(t, []byte(example("xml")))
	if diff := cmp.Diff(example("xml"), string(format.EncodeNode(n))); diff != "" {
		t.Errorf("node: %s", diff)
	}
	f := decodeFlow(t, []byte(example("yaml")))
	if diff := cmp.Diff(example("yaml"), string(format.EncodeFlow(f))); diff != "" || len(f.Problems) > 0 {
		t.Errorf("flow: %q %s", f.Problems, diff)
	}
}
