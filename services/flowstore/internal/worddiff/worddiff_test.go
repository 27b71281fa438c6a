package worddiff_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/worddiff"
)

// show writes parts as `equal [-deleted-]{+inserted+}`.
func show(parts []worddiff.Part) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, map[worddiff.Op]string{worddiff.Equal: "%s", worddiff.Delete: "[-%s-]", worddiff.Insert: "{+%s+}"}[p.Op], p.Text)
	}
	return b.String()
}

func TestDiff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""},
		{"same 文", "same 文", "same 文"},
		{"", "new", "{+new+}"},
		{"old", "", "[-old-]"},
		{"the quick fox", "the slow fox", "the [-quick-]{+slow+} fox"},
		{"雨が降る。", "雪が降る夜。", "[-雨-]{+雪+}が降る{+夜+}。"},
		{"プレーヤー", "プレイヤー", "プレ[-ー-]{+イ+}ヤー"},
		{"quick修正x", "quick修理x", "quick修[-正-]{+理+}x"},
		{"か\u3099く", "かく", "[-か\u3099-]{+か+}く"},
		{"a b", "a  b", "a[- -]{+  +}b"},
		{"a\r\nb", "a\nb", "a[-\r-]\nb"},
		{"v1.2", "v1.3", "v1.[-2-]{+3+}"},
		{"👩\u200d👧", "👩", "[-👩\u200d👧-]{+👩+}"},
		{"\u3099a", "a", "[-\u3099-]a"},
	} {
		parts, coarse := worddiff.Diff(c.a, c.b)
		if got := show(parts); got != c.want || coarse {
			t.Errorf("%q and %q: %q, want %q (coarse %t)", c.a, c.b, got, c.want, coarse)
		}
	}
}

// sides puts parts together again.
func sides(parts []worddiff.Part) (a, b string) {
	var x, y strings.Builder
	for _, p := range parts {
		if p.Op != worddiff.Insert {
			x.WriteString(p.Text)
		}
		if p.Op != worddiff.Delete {
			y.WriteString(p.Text)
		}
	}
	return x.String(), y.String()
}

// Whatever the texts, no byte of them is lost, and no part is empty or could be one with the next.
func TestPartsAreTheTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab 雨が\n。ー\u3099\u200d1")))
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		parts, _ := worddiff.Diff(a, b)
		if x, y := sides(parts); x != a || y != b {
			t.Fatalf("%q, %q became %q, %q", a, b, x, y)
		}
		for i, p := range parts {
			if p.Text == "" || i > 0 && parts[i-1].Op == p.Op {
				t.Fatalf("part %d of %v", i, parts)
			}
		}
		if a == b && len(parts) > 1 {
			t.Fatalf("equal texts: %v", parts)
		}
	})
}

// A long text with many changes all over is told as closely as a short one; texts that have nothing in common end the search.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 20_000)
	for i := range words {
		words[i] = fmt.Sprint(random.IntN(3000))
	}
	changed := append([]string(nil), words...)
	for i := 10; i < len(changed); i += 20 {
		changed[i] = "new"
	}
	parts, coarse := worddiff.Diff(strings.Join(words, " "), strings.Join(changed, " "))
	inserted := 0
	for _, p := range parts {
		if p.Op == worddiff.Insert {
			inserted += strings.Count(p.Text, "new")
			if len(p.Text) > 100 {
				t.Errorf("a part of %d bytes is told as new", len(p.Text))
			}
		}
	}
	if inserted != 1000 || coarse {
		t.Errorf("%d of 1000 changes, coarse %t", inserted, coarse)
	}
	letters := func() string {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = "ab, .;"[random.IntN(6)]
		}
		return string(b)
	}
	a, b := letters(), letters()
	parts, coarse = worddiff.Diff(a, b)
	if x, y := sides(parts); x != a || y != b || !coarse || len(parts) > 300_000 {
		t.Errorf("%d parts, coarse %t", len(parts), coarse)
	}
}
