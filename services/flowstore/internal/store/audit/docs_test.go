package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// TestDocs: docs/check.md has a row for each kind.
func TestDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs", "check.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") {
			rows++
		}
	}
	for _, kind := range store.Damages {
		if !strings.Contains(string(text), "\n| `"+string(kind)+"` | ") {
			t.Errorf("docs/check.md has no row for %s", kind)
		}
	}
	if rows != len(store.Damages) {
		t.Errorf("docs/check.md has %d rows for %d kinds", rows, len(store.Damages))
	}
}
