package promptbuilder

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// Tools of MCP servers have long schemas, and many: each that fits a section of the prompt is told, whole.
func TestLongSchemas(t *testing.T) {
	t.Parallel()
	schema := func(n int) string { return `{"description":"` + strings.Repeat("あ", n) + `"}` }
	var tools []tool.Shown
	for _, n := range []int{10, 30_000, 30_000, 49_000, 60_000, 5} {
		tools = append(tools, tool.Shown{Name: "server.tool", Input: schema(n)})
	}
	texts := arguments("words", tools)
	for _, text := range texts {
		if n := utf8.RuneCountInString(text); n > maxSection {
			t.Errorf("a section of %d characters", n)
		}
	}
	want := []string{"words", ""}
	for _, one := range tools {
		if line := "- server.tool: " + one.Input; utf8.RuneCountInString(line) <= maxSection {
			want = append(want, line)
		} else {
			want = append(want, "- server.tool")
		}
	}
	if got := strings.Split(strings.Join(texts, "\n"), "\n"); len(texts) != 3 || !slices.Equal(got, want) {
		t.Errorf("%d sections, %d lines", len(texts), len(got))
	}
	if got := arguments("words", nil); !slices.Equal(got, []string{"words"}) {
		t.Errorf("%q", got)
	}
}
