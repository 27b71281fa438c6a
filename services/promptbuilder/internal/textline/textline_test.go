package textline_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// TestLines: the lines with their ends are the text, and no line has an end inside.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(append(strings.Split(textline.Ends, ""), "\r\n", "あ", "a", " ", "　"))).Draw(t, "text"), "")
		var whole strings.Builder
		number, position := 0, textline.NewPosition(text)
		for start, line := range textline.All(text) {
			number++
			whole.WriteString(line)
			end, size := textline.End(line)
			if end+size != len(line) {
				t.Fatalf("an end inside of %q", line)
			}
			for at := range line {
				gotLine, gotColumn := position.Of(start + at)
				if wantColumn := 1 + len([]rune(line[:at])); gotLine != number || gotColumn != wantColumn {
					t.Fatalf("place %d of %q is line %d, column %d, want %d, %d", start+at, text, gotLine, gotColumn, number, wantColumn)
				}
			}
		}
		if whole.String() != text {
			t.Fatalf("%q became %q", text, whole.String())
		}
	})
}

func TestPositionGoesBack(t *testing.T) {
	t.Parallel()
	p := textline.NewPosition("ab\r\nあい\u2028c")
	for _, tt := range []struct{ at, line, column int }{{13, 3, 1}, {7, 2, 2}, {0, 1, 1}, {14, 3, 2}} {
		if line, column := p.Of(tt.at); line != tt.line || column != tt.column {
			t.Errorf("%d is line %d, column %d, want %d, %d", tt.at, line, column, tt.line, tt.column)
		}
	}
}

func TestStrip(t *testing.T) {
	t.Parallel()
	if got := textline.Strip("\x1c　 あ い\u0085\n"); got != "あ い" || textline.IsBlank('\u200b') {
		t.Errorf("%q", got)
	}
}
