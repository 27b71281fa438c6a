package sysprompt

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Looking through lines that may hold a value finds what looking through the whole text does.
func TestLintMissesNoLine(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"\n", "\n", " ", "a", "夜", "-", ":", "=", "\"", "2026-01-02", "T", "10:20", "12345", "1", "170000000", "message", "RUN", "_", "id", "Id", "0196b2c4-1111-7aaa-8bbb-0000a1b2c301",
		"fa690", "decade", "ſpan_id: 7", "\r", "req-ID = 4", "1712345678", "key: 0a1b2c", "2026-01-02 10:20",
	}
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "text"), "")
		var want []int
		for _, v := range volatile {
			for _, m := range v.form.FindAllStringSubmatchIndex(text, -1) {
				if at := m[2]; !slices.Contains(want, at) && (v.kind != "hash" || strings.ContainsAny(text[at:m[3]], "0123456789")) {
					want = append(want, at)
				}
			}
		}
		var got []int
		for _, d := range lint(Prompt{Text: text, Cache: Boundary{Byte: len(text)}}) {
			got = append(got, d.Byte)
		}
		if !slices.Equal(got, want[:min(len(want), maxFindings)]) {
			t.Errorf("found at %v, and it is at %v of %q", got, want, text)
		}
		found += len(got)
	})
	if found == 0 {
		t.Error("nothing was found in any text")
	}
}
