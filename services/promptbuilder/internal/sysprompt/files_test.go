package sysprompt

import (
	"slices"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// edges are the bytes of a text between two characters as a reader sees them.
func edges(text string) []int {
	all := []int{0}
	for rest, state := text, -1; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		all = append(all, all[len(all)-1]+len(cluster))
	}
	return all
}

// Whatever is cut, and however: what is printed of a file has the size that the report says, at most its cap with the mark inside, and is
// cut between characters as a reader sees them; what was dropped is where the report says.
func TestCutsOfFiles(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"吾輩は猫である。", "か\u3099", "ハ\u309a", "👨‍👩‍👧‍👦", "🏴\u200d☠\ufe0f", "🇯🇵🇫🇷", "한", "ᄒ\u1161\u11ab", "e\u0301\u0323", "a", "\n", "# 見出し\n", "必ず守る。\n", "NEVER\n", "葛\U000e0100", "①",
	}
	const mark = "\n[... truncated ...]"
	rapid.Check(t, func(t *rapid.T) {
		text := passage.Body(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 60).Draw(t, "pieces"), "")).Text
		unit := rapid.SampledFrom([]passage.Unit{passage.Characters, passage.Bytes}).Draw(t, "unit")
		how := rapid.SampledFrom([]Truncation{Head, HeadTail, Digest}).Draw(t, "truncation")
		most := rapid.IntRange(24, 40).Draw(t, "max")
		if rapid.Bool().Draw(t, "larger") {
			most = rapid.IntRange(41, 200).Draw(t, "max")
		}
		p := build(t, Request{Files: []File{{Name: "a.md", Content: []byte(text)}}, Bootstrap: Bootstrap{Max: most, Unit: unit, Truncation: how}})
		if text == "" {
			if p.Files[0].State != FileEmpty {
				t.Fatalf("%+v", p.Files)
			}
			return
		}
		got, report := p.file(t, "a.md")
		if report.Raw != unit.Size(text) || report.Printed != unit.Size(got) || report.Printed > most {
			t.Fatalf("%q: %+v, at most %d", got, report, most)
		}
		if unit.Size(text) <= most {
			if got != text || report.State != FileOK || report.DroppedTo != 0 {
				t.Fatalf("%q of %q: %+v", got, text, report)
			}
			return
		}
		head, tail := text[:report.DroppedFrom], text[report.DroppedTo:]
		between, begins := strings.CutPrefix(got, head+mark)
		between, ends := strings.CutSuffix(between, tail)
		if !begins || !ends || report.State != FileTruncated || report.Cause != causeFile {
			t.Fatalf("%q is not %q, the mark and %q: %+v", got, head, tail, report)
		}
		if places := edges(text); !slices.Contains(places, report.DroppedFrom) || !slices.Contains(places, report.DroppedTo) {
			t.Fatalf("cut at %d and %d of %q, between characters are %v", report.DroppedFrom, report.DroppedTo, text, places)
		}
		checkCut(t, how, text[report.DroppedFrom:report.DroppedTo], between, tail)
	})
}

// checkCut looks at what stands behind the mark: nothing, the end, or lines that matter and the end.
func checkCut(t *rapid.T, how Truncation, dropped, between, tail string) {
	switch how {
	case Head:
		if between != "" || tail != "" {
			t.Fatalf("behind the mark stands %q", between+tail)
		}
	case HeadTail:
		if between != "\n" {
			t.Fatalf("between mark and end stands %q", between)
		}
	case Digest:
		lines := slices.Collect(strings.Lines(dropped))
		for line := range strings.Lines(strings.TrimPrefix(between, "\n")) {
			at := slices.Index(lines, line)
			if at < 0 || !strings.HasPrefix(line, "# ") && !strings.Contains(line, "必ず") && !strings.Contains(line, "NEVER") {
				t.Fatalf("%q is no line of %q that matters", line, dropped)
			}
			lines = lines[at+1:]
		}
	}
}
