package nodecontext_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
)

// Case N of field/systemprompt-rules.md 6, of the context of case C1, and sentences beside it.
func TestAskedN(t *testing.T) {
	t.Parallel()
	var built nodecontext.Built
	for _, textID := range []string{"a1b2c301", "a1b2c302", "a1b2c303", "a1b2c304", "a1b2c305", ""} {
		built.Entries = append(built.Entries, nodecontext.Entry{ID: id(len(built.Entries)), TextID: textID})
	}
	for _, c := range []struct {
		answer string
		want   []string
	}{
		{"その前に確認します。\n[a1b2c304]の詳細を知りたい\n「[A1B2C305]の詳細を知りたい」。", []string{"a1b2c304", "a1b2c305"}},
		{"[a1b2c304]の詳細を知りたい\nと書くと読めます。", nil},
		{"[ffffffff]の詳細を知りたい", nil},
		{"Show the details of [a1b2c301]", []string{"a1b2c301"}},
		{"  \"Show the details of [a1b2c301].\" \n\n\u3000\n", []string{"a1b2c301"}},
		{"「[a1b2c301]の詳細を知りたい。」", []string{"a1b2c301"}},
		{"[a1b2c301]の詳細を知りたい\n[ffffffff]の詳細を知りたい\n[a1b2c302]の詳細を知りたい", []string{"a1b2c302"}},
		{"[a1b2c301]の詳細を知りたい\n[a1b2c301]の詳細を知りたい", []string{"a1b2c301"}},
		{"「[a1b2c301]の詳細を知りたい」と指示できます。", nil},
		{"- [a1b2c301]の詳細を知りたい", nil},
		{"[]の詳細を知りたい", nil},
		{"", nil},
	} {
		var got []string
		for _, e := range built.Asked(c.answer) {
			got = append(got, e.TextID)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.answer, diff)
		}
	}
	if _, ok := built.Printed(""); ok {
		t.Error("what stands nowhere is printed")
	}
}

// Whatever stands before: the sentences at the end of an answer, in any form, ask for their nodes, each once and in order, up to the first
// line that is none or names what is not printed.
func TestAskedAtTheEnd(t *testing.T) {
	t.Parallel()
	var built nodecontext.Built
	for i := range 5 {
		built.Entries = append(built.Entries, nodecontext.Entry{ID: id(i), TextID: fmt.Sprintf("a1b2c30%d", i)})
	}
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		var want []nodecontext.Entry
		for range rapid.IntRange(0, 8).Draw(t, "lines") {
			n := rapid.IntRange(0, 9).Draw(t, "line")
			switch {
			case n == 9:
				lines = append(lines, rapid.SampledFrom([]string{"", " ", "\t", "\u3000"}).Draw(t, "blank"))
			case n > 6:
				lines, want = append(lines, rapid.SampledFrom([]string{
					"[a1b2c301]", "[a1b2c301]の詳細を知りたい、と書く。", "- [a1b2c301]の詳細を知りたい", "「[a1b2c301]の詳細を知りたい", "Show the details of a1b2c301", "[a1b2c3011]の詳細を知りたい",
					"「「[a1b2c301]の詳細を知りたい」」", "show the details of [a1b2c301]", "> Show the details of [a1b2c301]", "x", "```",
				}).Draw(t, "other")), nil
			case n > 4:
				lines, want = append(lines, "[ffffffff]の詳細を知りたい"), nil
			default:
				textID := built.Entries[n].TextID
				if rapid.Bool().Draw(t, "upper") {
					textID = strings.ToUpper(textID)
				}
				form := rapid.SampledFrom([]string{
					"[%s]の詳細を知りたい", "Show the details of [%s]", " 「[%s]の詳細を知りたい」 ", "「[%s]の詳細を知りたい」。", "「[%s]の詳細を知りたい。」", "\"Show the details of [%s].\"", "Show the details of [%s].\r",
					"\u3000[%s]の詳細を知りたい。",
				}).Draw(t, "form")
				lines = append(lines, fmt.Sprintf(form, textID))
				if !slices.Contains(want, built.Entries[n]) {
					want = append(want, built.Entries[n])
				}
			}
		}
		answer := strings.Join(lines, "\n")
		if diff := cmp.Diff(want, built.Asked(answer)); diff != "" {
			t.Fatalf("%q: %s", answer, diff)
		}
	})
}

// The last nodes of a path are given whole, and the text has the others as lines.
func TestTheLastNodesAreMessages(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.put(1, "a", "b", "one")
	s.put(2, "c", "d", "two", 1)
	s.put(3, "e", "f", "three", 2)
	one := 1
	got, c := s.build(t, nodecontext.Request{Parents: ids(3), Last: 2, Ancestors: &one, Refs: nodecontext.Refs{IDs: ids(3)}})
	if diff := cmp.Diff(ids(1), got.Path); diff != "" || len(got.Parents) != 0 || !got.LinesOnly || got.Ancestors != 1 {
		t.Errorf("%s %+v", diff, got)
	}
	if len(c.Last) != 2 || c.Last[0].ID != id(2) || c.Last[1].Texts[1].Content != "f" {
		t.Errorf("%+v", c.Last)
	}
	if c.Choices[0].Outcome != nodecontext.OnPath {
		t.Errorf("a node that is a message is a reference, too: %+v", c.Choices)
	}
	got, c = s.build(t, nodecontext.Request{Parents: ids(3)})
	if got.LinesOnly || len(got.Parents) != 1 || len(c.Last) != 0 {
		t.Errorf("%+v", got)
	}
}

// What a model is told comes from the caller's texts where there are some.
func TestTextsOfTheTool(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.put(1, "a", "b", "")
	service := nodecontext.New(s, &builder{})
	own := nodecontext.Settings{Locale: "en", Texts: map[string]string{"node_detail.limit": "no more, not {id}"}}
	for _, c := range []struct {
		want string
		get  func() (string, error)
	}{
		{"en node_detail ", func() (string, error) { return service.ToolText(t.Context(), "n", own) }},
		{"no more, not x", func() (string, error) { return service.LimitText(t.Context(), "n", own, "x") }},
		{"en node_detail.unknown x", func() (string, error) { return service.UnknownText(t.Context(), "n", own, "x") }},
		{"x: ab 9", func() (string, error) {
			return service.Detail(t.Context(), "n", own, nodecontext.Entry{ID: id(1), TextID: "x"}, 9)
		}},
	} {
		if got, err := c.get(); err != nil || got != c.want {
			t.Errorf("%q, %v; want %q", got, err, c.want)
		}
	}
}
