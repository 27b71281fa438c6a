package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// The tree itself. Not cached when run with -count=1, as make does.
func TestTree(t *testing.T) {
	t.Parallel()
	violations, err := Check(testkit.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

func TestGoodTree(t *testing.T) {
	t.Parallel()
	violations, err := Check(filepath.Join("testdata", "good"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations {
		t.Error(v)
	}
}

// Every rule is shown to fail on a tree that breaks it.
func TestBadTree(t *testing.T) {
	t.Parallel()
	violations, err := Check(filepath.Join("testdata", "bad"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	seen := map[string]bool{}
	for _, v := range violations {
		fmt.Fprintf(&b, "%s:%d: %s (%s)\n", v.File, v.Line, v.What, v.Rule)
		seen[v.Rule+v.Why] = true
		if v.Why == "" {
			t.Errorf("%s gives no reason", v.Rule)
		}
	}
	testkit.Golden(t, "bad.txt", []byte(b.String()))
	for _, r := range importRules {
		if !seen[r.name+r.why] {
			t.Errorf("import rule %q never fails", r.name)
		}
	}
	for _, r := range callRules {
		if !seen[r.name+r.why] {
			t.Errorf("call rule %q never fails", r.name)
		}
	}
	for _, r := range []string{"file size" + whyFile, "function size" + whyFunc, "package comment" + whyPackageDoc, "doc comment" + whyDoc, "package name" + whyName} {
		if !seen[r] {
			t.Errorf("rule %q never fails", r)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"a/b", "a/b", true}, {"a/b", "a/b/c", false}, {"a/b/c", "a/b", false}, {"a/...", "a", true}, {"a/...", "a/b/c", true},
		{"a/...", "b", false}, {"*/b", "a/b", true}, {"a/*test", "a/llmtest", true}, {"a/*test", "a/testkit", false}, {"...", "x/y", true},
		{"a/*/...", "a/b/c", true}, {"a/*/...", "a", false},
	} {
		if got := match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

func TestUnparsableFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte("package is no Go"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(dir); err == nil {
		t.Error("a file that is no Go is no error")
	}
}
