package format_test

import (
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// What belongs to this machine alone, and what is made from the rest, is not for git: two branches never agree on the latter.
func TestGitIgnore(t *testing.T) {
	t.Parallel()
	if format.GitIgnore != ".flowstore/\nmetadata/\n*.tmp\n" {
		t.Errorf("%q", format.GitIgnore)
	}
}
