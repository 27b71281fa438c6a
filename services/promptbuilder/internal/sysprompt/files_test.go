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

// cutByHand is a text cut as 1.3 says it: what is printed, the bytes that were dropped, and the lines of these that are printed all the same.
func cutByHand(text string, n int, unit passage.Unit, how Truncation) (printed string, from, to int, kept []string) {
	const mark = "[... truncated ...]"
	m := n - 21
	switch how {
	case HeadTail:
		head, tail := unit.Head(text, m-m/4), unit.Tail(text, m/4)
		return head + "\n" + mark + "\n" + tail, len(head), len(text) - len(tail), nil
	case Digest:
		head, tail := unit.Head(text, m/2), unit.Tail(text, m/4)
		room, lines := m/4, ""
		for line := range strings.Lines(text[len(head) : len(text)-len(tail)]) {
			orders := strings.HasPrefix(line, "# ") || strings.Contains(line, "必ず") || strings.Contains(line, "NEVER")
			if orders && unit.Size(line) <= room {
				kept, lines, room = append(kept, line), lines+line, room-unit.Size(line)
			}
		}
		return head + "\n" + mark + "\n" + lines + tail, len(head), len(text) - len(tail), kept
	}
	head := unit.Head(text, n-20)
	return head + "\n" + mark, len(head), len(text), nil
}

// Whatever is cut, and however: what is printed of a file is what the rule says, has the size that the report says, at most its cap with the
// mark inside, and is cut between characters as a reader sees them; what was dropped is where the report says, with the headings in it.
func TestCutsOfFiles(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"吾輩は猫である。", "か\u3099", "ハ\u309a", "👨‍👩‍👧‍👦", "🏴\u200d☠\ufe0f", "🇯🇵🇫🇷", "한", "ᄒ\u1161\u11ab", "e\u0301\u0323", "a", "\n", "\n# 見出し\n", "\n必ず守る。\n", "NEVER\n", "葛\U000e0100", "①",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := passage.Body(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 60).Draw(t, "pieces"), "")).Text
		unit := rapid.SampledFrom([]passage.Unit{passage.Characters, passage.Bytes}).Draw(t, "unit")
		how := rapid.SampledFrom([]Truncation{Head, HeadTail, Digest}).Draw(t, "truncation")
		most := rapid.OneOf(rapid.IntRange(24, 40), rapid.IntRange(41, 300)).Draw(t, "max")
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
		want, from, to, kept := cutByHand(text, most, unit, how)
		if got != want || report.DroppedFrom != from || report.DroppedTo != to || report.State != FileTruncated || report.Cause != causeFile {
			t.Fatalf("%q, want %q, bytes %d to %d dropped: %+v", got, want, from, to, report)
		}
		if places := edges(text); !slices.Contains(places, from) || !slices.Contains(places, to) {
			t.Fatalf("cut at %d and %d of %q, between characters are %v", from, to, text, places)
		}
		var lost []string
		for line := range strings.Lines(text[from:to]) {
			if strings.HasPrefix(line, "# ") && !slices.Contains(kept, line) {
				lost = append(lost, passage.Line(line))
			}
		}
		if how != Digest && (!slices.Equal(report.LostHeadings, lost[:min(len(lost), maxLost)]) || report.Lost != len(lost)) { // of a digest equal lines may be kept and lost
			t.Fatalf("%q and %d in all are told as lost, and %q are, of %q", report.LostHeadings, report.Lost, lost, text[from:to])
		}
	})
}
