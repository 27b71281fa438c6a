package namespace

import (
	"strings"
	"testing"
)

func TestFrom(t *testing.T) {
	t.Parallel()
	if ns := From(t.Context()); ns != Default {
		t.Errorf("none: %q", ns)
	}
	if ns := From(With(t.Context(), "team-a")); ns != "team-a" {
		t.Errorf("got %q", ns)
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for _, ns := range []string{Default, "a", "0", "team-a", "console", "com10", "nul-1", strings.Repeat("a", 63)} {
		if !Valid(ns) {
			t.Errorf("%q is refused", ns)
		}
	}
	for _, ns := range []string{
		"", " ", ".", "..", "../a", "a/..", "a/b", "/a", `a\b`, `c:`, "-a", "a-", "A", "Default", "é", "e\u0301", "日本", "ａ", "a\n", "a\x00", "a.b", ".flowstore",
		"a\u202e", "con", "nul", "com1", "lpt9", strings.Repeat("a", 64),
	} {
		if Valid(ns) {
			t.Errorf("%q is accepted", ns)
		}
	}
}
