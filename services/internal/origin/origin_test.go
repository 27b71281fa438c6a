package origin

import (
	"strings"
	"testing"
)

func TestFrom(t *testing.T) {
	t.Parallel()
	if name := From(t.Context()); name != "" {
		t.Errorf("nobody: %q", name)
	}
	if name := From(With(t.Context(), "desk-1")); name != "desk-1" {
		t.Errorf("got %q", name)
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "desk-1", "tsumugi write", "~", strings.Repeat("a", 64)} {
		if !Valid(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", " ", " a", "a ", "a\nb", "a\x00", "a\x7f", "紡ぎ", "a\n", External, strings.Repeat("a", 65)} {
		if Valid(name) {
			t.Errorf("%q is taken", name)
		}
	}
}
