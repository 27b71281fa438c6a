package dynamic_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
)

// results gives every text that any of many seeds draws, sorted.
func results(text string) []string {
	template := dynamic.Parse(text)
	var all []string
	for seed := range uint32(200) {
		drawn, _ := template.Draw(seed, "body")
		if !slices.Contains(all, drawn) {
			all = append(all, drawn)
		}
	}
	slices.Sort(all)
	return all
}

func TestGroups(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"three options", `{A|B|"C D"}`, []string{"A", "B", "C D"}},
		{"inside a text", `朝の{雨|雪}だ`, []string{"朝の雨だ", "朝の雪だ"}},
		{"two groups", `{a|b}{1|2}`, []string{"a1", "a2", "b1", "b2"}},
		{"spaces around options go", `{ A | B }`, []string{"A", "B"}},
		{"full-width space too", `{　A　|B}`, []string{"A", "B"}},
		{"spaces in quotes stay", `{" A "|B}`, []string{" A ", "B"}},
		{"quotes protect bars", `{"A|B"|C}`, []string{"A|B", "C"}},
		{"single quotes", `{'A|B'|C}`, []string{"A|B", "C"}},
		{"apostrophes", `{don't|won't}`, []string{"don't", "won't"}},
		{"leading apostrophe", `{'tis|it's}`, []string{"'tis", "it's"}},
		{"quotes inside an option protect and stay", `{彼は"A|B"と|C}`, []string{"C", `彼は"A|B"と`}},
		{"an unclosed quote is a character", `{5" disk|floppy}`, []string{`5" disk`, "floppy"}},
		{"options with nothing in them are none", `{A||B}`, []string{"A", "B"}},
		{"the empty option", `{""|A}`, []string{"", "A"}},
		{"one option and a bar", `{A|}`, []string{"A"}},
		{"over a line end", "{A|\nB}", []string{"A", "B"}},
		{"no escapes", `\{A|B\}`, []string{`\A`, `\B\`}},
		{"weights are not this grammar", `{0.5::A|B}`, []string{"0.5::A", "B"}},
		{"cases/wannabe.md 13: a stray closing brace", `閉じ}括弧と{晴|雨}`, []string{"閉じ}括弧と晴", "閉じ}括弧と雨"}},
		{"cases/wannabe.md 19: blanks and the empty option", `cloak{" with a hood"|""}`, []string{"cloak", "cloak with a hood"}},
		{"a group inside braces without a bar", `if x { y = {1|2}; }`, []string{`if x { y = 1; }`, `if x { y = 2; }`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := results(tt.text); !slices.Equal(got, tt.want) {
				t.Errorf("%s draws %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":                             ``,
		"opened only":                         `{A`,
		"closed only":                         `A}`,
		"empty":                               `{}`,
		"blank":                               `{ }`,
		"bars alone":                          `{||}`,
		"one option, no bar":                  `{lonely}`,
		"opened twice":                        `{A|{B}`,
		"a brace in quotes":                   `{"A}B"|C}`,
		"cases/wannabe.md 14: JSON":           `設定は {"name":"千草"} とする`,
		"JSON of two":                         `{"name": "x", "age": 3}`,
		"JSON with a bar":                     `{"name": "a|b"}`,
		"JSON in JSON":                        `{"a": {"b": "x|y"}, "c": 1}`,
		"code":                                `func(){ return 1; }`,
		"full-width":                          `｛晴｜雨｝`,
		"wildcards":                           `__w__`,
		"nested":                              `{A|{B|C}}`,
		"cases/wannabe.md 16: nested options": `{in a {red|blue} car|on foot}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := results(text); !slices.Equal(got, []string{text}) {
				t.Errorf("%q draws %q, want it unchanged", text, got)
			}
		})
	}
}

func TestNestedIsCounted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{A|{B|C}}`: 1, `{A|{B|C}} {x|y} {{1|2}|3}`: 2, `{A|B}`: 0, `{"a": {"b": 1}}`: 0,
	} {
		if got := dynamic.Parse(text).Nested(); got != want {
			t.Errorf("%q has %d nested groups, want %d", text, got, want)
		}
	}
}

// TestGolden holds the generator still: a seed that somebody has noted must draw the same for ever.
func TestGolden(t *testing.T) {
	t.Parallel()
	template := dynamic.Parse(strings.Repeat(`{0|1|2|3|4|5|6|7|8|9}`, 16))
	for _, tt := range []struct {
		seed        uint32
		field, want string
	}{
		{0, "body", "9154720011135818"}, {1, "body", "7054550299427262"}, {1, "story.title", "5851945092072836"}, {4294967295, "body", "8058971429258738"},
	} {
		if got, _ := template.Draw(tt.seed, tt.field); got != tt.want {
			t.Errorf("seed %d, field %s draws %s, want %s", tt.seed, tt.field, got, tt.want)
		}
	}
}

// TestDrawsDoNotTouchEachOther is what keeps the front of a prompt still while its text grows (cases/wannabe.md 5).
func TestDrawsDoNotTouchEachOther(t *testing.T) {
	t.Parallel()
	short, picks := dynamic.Parse(`{a|b|c}, {d|e|f}`).Draw(7, "body")
	long, more := dynamic.Parse(`{a|b|c}, {d|e|f}, {g|h}`).Draw(7, "body")
	if !strings.HasPrefix(long, short) || !slices.Equal(picks, more[:2]) {
		t.Errorf("a group at the end changed the draws before it: %q, then %q", short, long)
	}
}

func TestEveryOptionIsDrawn(t *testing.T) {
	t.Parallel()
	drawn := map[string]int{}
	for seed := range uint32(3000) {
		text, _ := dynamic.Parse(`{猫|犬|兎}`).Draw(seed, "body")
		drawn[text]++
	}
	for _, option := range []string{"猫", "犬", "兎"} {
		if n := drawn[option]; n < 900 || n > 1100 {
			t.Errorf("%s was drawn %d times in 3000, want about 1000", option, n)
		}
	}
}

// TestDrawKeepsTheRest: with the groups taken out, text and drawn text are equal.
func TestDrawKeepsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune(`{}|"'a あ\`))).Draw(t, "text")
		template := dynamic.Parse(text)
		drawn, picks := template.Draw(rapid.Uint32().Draw(t, "seed"), "body")
		if len(picks) != template.Groups() {
			t.Fatalf("%d picks for %d groups", len(picks), template.Groups())
		}
		if len(picks) == 0 && drawn != text {
			t.Fatalf("%q became %q without a pick", text, drawn)
		}
		if len(drawn) > len(text) {
			t.Fatalf("%q grew to %q", text, drawn)
		}
	})
}

// TestHostileText must end at once: each of these is a million braces or more.
func TestHostileText(t *testing.T) {
	t.Parallel()
	const n = 1 << 20
	for _, text := range []string{
		strings.Repeat("{", n), strings.Repeat("}", n), strings.Repeat("{|", n/2),
		strings.Repeat("{", n/2) + strings.Repeat("}", n/2), strings.Repeat("{|", n/3) + strings.Repeat("}", n/3),
		strings.Repeat("{a|b}", n/5), "{" + strings.Repeat(`"|`, n/2) + "}", "{" + strings.Repeat(`'|`, n/2) + "}",
	} {
		drawn, picks := dynamic.Parse(text).Draw(1, "body")
		if len(picks) == 0 && drawn != text {
			t.Errorf("%.10s…: changed without a pick", text)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{A|B|"C D"}`, `{A|{B|C}}`, `{"name": "x"}`, `{'tis|it's}`, "{\x00|\xff}", `{||`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		template := dynamic.Parse(text)
		first, _ := template.Draw(1, "body")
		again, picks := template.Draw(1, "body")
		if first != again || len(picks) != template.Groups() || (len(picks) == 0 && first != text) {
			t.Errorf("%q drew %q, then %q with %d picks", text, first, again, len(picks))
		}
	})
}

func ExampleTemplate_Draw() {
	text, picks := dynamic.Parse(`主人公の{焦り|恐怖}を強調`).Draw(1, "story.note")
	fmt.Println(text, picks[0].Option)
	// Output: 主人公の恐怖を強調 1
}
