package fit_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/fit"
)

// charactersOf counts 2 for what stands around a text, and 1 for each character.
func charactersOf(text string) func(from, to int) int {
	return func(from, to int) int { return 2 + utf8.RuneCountInString(text[from:to]) }
}

func TestTrim(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text      string
		top       bool
		low, high int
		want      string
	}{
		{"一二三\n四五六\n七八九", true, 0, 10, "四五六\n七八九"},
		{"一二三\n四五六\n七八九", true, 0, 9, "四五六\n七八九"},
		{"一二三\n四五六\n七八九", true, 0, 8, "七八九"},
		{"一二三\n四五六\n\n七八九", false, 0, 10, "一二三\n四五六"},
		{"一二三\n四五六\n\n　七八九", false, 0, 8, "一二三"},
		{"一二。三四。五六。", true, 0, 9, "三四。五六。"},
		{"一二。三四。五六。", false, 0, 9, "一二。三四。"},
		{"一二三四五六七八九", true, 0, 6, "六七八九"},
		{"一二三四五六七八九", false, 0, 6, "一二三四"},
		{"一\n二三四五六七八九十", false, 0, 9, "一\n二三四五六"}, // a line would leave less than half
		{"一二三四\n五六七八九", false, 7, 9, "一二三四\n五六"},  // and here less than the least
		{"一|漢字《かんじ》", false, 0, 10, "一"},
		{"一|漢字《かんじ》", false, 9, 10, "一|漢字《かんじ》"},
		{"一二三四", false, 5, 4, "一二三"},
		{"一二三", true, 0, 2, ""},
		{"一二三", true, 0, 5, "一二三"},
		{"　\n　一", true, 0, 3, ""},
	} {
		from, to := fit.Trim(tt.text, tt.top, tt.low, tt.high, charactersOf(tt.text))
		if got := tt.text[from:to]; got != tt.want {
			t.Errorf("%q, from the top %t, from %d to %d: %q is left, want %q", tt.text, tt.top, tt.low, tt.high, got, tt.want)
		}
	}
}

// TestTrimKeepsItsBounds: no more than high is left but where low demands it, and what is left stands at its side whole.
func TestTrimKeepsItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, top := story().Draw(t, "text"), rapid.Bool().Draw(t, "top")
		if strings.TrimSpace(text) == "" {
			t.Skip("a block is never blank")
		}
		count := charactersOf(text)
		all := count(0, len(text))
		high := rapid.IntRange(0, all).Draw(t, "high")
		low := rapid.IntRange(0, high).Draw(t, "low")
		from, to := fit.Trim(text, top, low, high, count)
		n := count(from, to)
		if from == to {
			n = 0
		}
		if n > high && n-low > 64+8 || n < low {
			t.Fatalf("%d of %d tokens are left, want %d to %d", n, all, low, high)
		}
		if from < to && (top && to != len(text) || !top && from != 0) || inside(text, from) || to < len(text) && strings.TrimSpace(text[to:]) != "" && inside(text, to) && !strings.HasPrefix(text[to:], "　") {
			t.Fatalf("%q is left of %q", text[from:to], text)
		}
	})
}
