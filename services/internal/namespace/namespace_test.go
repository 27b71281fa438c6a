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
	for _, ns := range []string{Default, "a", "0", "team-a", strings.Repeat("a", 63)} {
		if !Valid(ns) {
			t.Errorf("%q is refused", ns)
		}
	}
	for _, ns := range []string{"", ".", "..", "a/b", "-a", "a-", "A", "é", "a\n", "a.b", strings.Repeat("a", 64)} {
		if Valid(ns) {
			t.Errorf("%q is accepted", ns)
		}
	}
}
