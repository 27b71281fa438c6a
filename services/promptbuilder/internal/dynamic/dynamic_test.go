package dynamic_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
)

var sets = dynamic.Sets{"weather": {"晴", "雨"}, "one": {"a|b"}}

// all gives every text that a template can draw, sorted.
func all(template *dynamic.Template) []string {
	var texts []string
	for w := (dynamic.Walk{}); len(texts) < 1000; {
		text, _ := template.Draw(&w)
		texts = append(texts, text)
		if !w.Next() {
			break
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func parse(t rapid.TB, text string) *dynamic.Template {
	t.Helper()
	template, err := dynamic.Parse(text, dynamic.Options{Sets: sets})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return template
}

func TestStrict(t *testing.T) {
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
		{"quotes keep everything", `{"A|{B}"|C}`, []string{"A|{B}", "C"}},
		{"a quote in quotes", `{"A\"B\\"|C}`, []string{`A"B\`, "C"}},
		{"apostrophes are no quotes", `{don't|'tis}`, []string{"'tis", "don't"}},
		{"quotes inside an option keep bars and stay", `{彼は"A|B"と|C}`, []string{"C", `彼は"A|B"と`}},
		{"an unclosed quote is a character", `{5" disk|floppy}`, []string{`5" disk`, "floppy"}},
		{"empty options", `{A||B}`, []string{"", "A", "B"}},
		{"an empty end", `{A|}`, []string{"", "A"}},
		{"the empty option in quotes", `{""|A}`, []string{"", "A"}},
		{"over a line end", "{A|\nB}", []string{"A", "B"}},
		{"cases/wannabe.md 13: a stray closing brace", `閉じ}括弧と{晴|雨}`, []string{"閉じ}括弧と晴", "閉じ}括弧と雨"}},
		{"cases/wannabe.md 16: nested", `{in a {red|blue} car|on foot}`, []string{"in a blue car", "in a red car", "on foot"}},
		{"cases/wannabe.md 19: blanks and the empty option", `cloak{" with a hood"|""}`, []string{"cloak", "cloak with a hood"}},
		{"nested thrice", `{a|{b|{c|d}}}`, []string{"a", "b", "c", "d"}},
		{"a group inside braces without a bar", `if x { y = {1|2}; }`, []string{`if x { y = 1; }`, `if x { y = 2; }`}},
		{"JSON inside of an option", `{A|{"a": 1}}`, []string{"A", `{"a": 1}`}},
		{"an escaped bar", `{A\|B|C}`, []string{"A|B", "C"}},
		{"escaped braces in an option", `{\{A\}|B}`, []string{"B", "{A}"}},
		{"an escaped backslash", `{A\\|B}`, []string{`A\`, "B"}},
		{"another backslash stays", `{A\n|B}`, []string{`A\n`, "B"}},
		{"an escaped group", `\{A|B\}`, []string{"{A|B}"}},
		{"an escaped group, half", `\{A|B}`, []string{"{A|B}"}},
		{"an escaped group in full", `\{A\|B\}`, []string{"{A|B}"}},
		{"a backslash before a group", `\\{A|B}`, []string{`\A`, `\B`}},
		{"weights", `{0.5::A|2::B|0::C}`, []string{"A", "B"}},
		{"a weight in quotes is text", `{"0.5::A"|B}`, []string{"0.5::A", "B"}},
		{"two of three", `{2$$A|B|C}`, []string{"A, B", "A, C", "B, C"}},
		{"one or two, with a separator", `{1-2$$と$$A|B|C}`, []string{"A", "AとB", "AとC", "B", "BとC", "C"}},
		{"none or one", `{0-1$$、$$A|B}`, []string{"", "A", "B"}},
		{"an empty separator", `{2$$$$A|B}`, []string{"AB"}},
		{"a named set", `{@weather}の朝`, []string{"晴の朝", "雨の朝"}},
		{"options of a set are text", `{@one}`, []string{"a|b"}},
		{"both of a set", `{2$$・$$@weather}`, []string{"晴・雨"}},
		{"a set in an option", `{{@weather}|曇り}`, []string{"晴", "曇り", "雨"}},
		{"a comment", "一。\n@// 後で直す {a|b}\n二。", []string{"一。\n二。"}},
		{"a comment of several lines", "一。\n  @/* a\n{b|c\n@*/\n二。", []string{"一。\n二。"}},
		{"a comment of one line", "@/* a @*/\n二。", []string{"二。"}},
		{"start and end", "x\n@startpoint\n一。\n@break\n二。\n@endpoint\n三。\n@endpoint", []string{"二。\n"}},
		{"a comment behind any end of line", "一。\r@// x\r\n二。\u2028@/* x\u0085y @*/\v三。", []string{"一。\r二。\u2028三。"}},
		{"markers behind any end of line", "x\r@startpoint\r一。\u2029@endpoint\fy", []string{"一。\u2029"}},
		{"the end before the start", "x\n@endpoint\ny\n@startpoint\n一。\n@endpoint\nz", []string{"一。\n"}},
		{"a comment that is left out need not end", "一。\n@endpoint\n@/* x", []string{"一。\n"}},
		{"colons further inside an option", `{std::x|a 1::b|12:30::c|::|"1e3::d"}`, []string{"12:30::c", "1e3::d", "::", "a 1::b", "std::x"}},
		{"dollars further inside an option", `{a$$b|$$c|a 1$$d|"1-$$e"}`, []string{"$$c", "1-$$e", "a 1$$d", "a$$b"}},
		{"dollars in an option behind a count", `{1$${a$$b|c}|"d$$e"|{f$$}}`, []string{"a$$b", "c", "d$$e", "{f$$}"}},
		{"dollars behind a separator", `{1$$, $$a$$b|d$$e}`, []string{"a$$b", "d$$e"}},
		{"dollars in quotes behind a count", `{1$$"a$$b"|c}`, []string{"a$$b", "c"}},
		{"empty options without blanks", `{a||b}`, []string{"", "a", "b"}},
		{"an empty option in quotes", `{a | "" | b}`, []string{"", "a", "b"}},
		{"a group in a program", "{ if (a || b) { x = {1|2}; } }", []string{"{ if (a || b) { x = 1; } }", "{ if (a || b) { x = 2; } }"}},
		{"a program in an option", `{A|{ a || b }}`, []string{"A", "{ a || b }"}},
		{"a group in JSON that is no string", `{"a": {1|2}}`, []string{`{"a": 1}`, `{"a": 2}`}},
		{"a group in brackets", `[{a|b}, "c"]`, []string{`[a, "c"]`, `[b, "c"]`}},
		{"a group in quotes in brackets", `["{a|b}"と"c"]`, []string{`["a"と"c"]`, `["b"と"c"]`}},
		{"an escaped set", `\{@weather}`, []string{"{@weather}"}},
		{"a backslash before a set", `\\{@weather}`, []string{`\晴`, `\雨`}},
		{"an escaped count of a set", `\{2$$@weather}`, []string{"{2$$@weather}"}},
		{"an escaped set, half", `\{@weather の`, []string{"{@weather の"}},
		{"an escaped group, never closed", "夜の\\{雨|雪だ\n{a|b}", []string{"夜の{雨|雪だ\na", "夜の{雨|雪だ\nb"}},
		{"a set in quotes beside options", `{"@weather"|@}`, []string{"@", "@weather"}},
		{"markers inside of words are text", "a@breakfast @endpoint b@//c", []string{"a@breakfast @endpoint b@//c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := all(parse(t, tt.text)); !slices.Equal(got, tt.want) {
				t.Errorf("%s draws %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

// TestText: what is no group stays as it is, to the byte.
func TestText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": ``, "opened only": `{A`, "closed only": `A}`, "empty": `{}`, "blank": `{ }`, "one option, no bar": `{lonely}`,
		"a count without a bar":      `{2$$A}`,
		"full width":                 `｛A｜B｝`,
		"cases/wannabe.md 14: JSON":  `設定は {"name":"千草"} とする`,
		"JSON of two":                `{"name": "x", "age": 3}`,
		"JSON with a bar":            `{"name": "a|b"}`,
		"JSON, quotes and a bar":     `{"a": "x\"|y"}`,
		"JSON of two, quotes, a bar": `{"say": "he said \"no|yes\" ", "n": 1}`,
		"JSON in JSON":               `{"a": {"b": "x|y"}, "c": 1}`,
		"JSON with escapes":          `{"path": "C:\\Users\\千草", "quote": "\"", "line": "\n"}`,
		"JSON with a group":          `{"a": "x {b|c} y", "d": "e"}`,
		"JSON with half a group":     `{"a": "x|{y", "b": "}|{", "c": "\"|{\""}`,
		"JSON with a group in a key": "{\n  \"a{b|c}\": 1,\n  \"{\": [\"{d|e}\", {\"|\": \"}\"}]\n}",
		"a JSON array":               `["a {b|c} d", "}{|", "\"{|\""]`,
		"a JSON array of all kinds":  `[1, -2.5e3, "a {b|c}", null, true, "{a|b}"]`,
		"a JSON array of objects":    `[{"a": "{b|c}"}, {"d": "}|{"}]`,
		"a program with a bar":       "{ if (a || b) return; }",
		"a program of lines":         "{\n  return a\n      || b | c;\n}",
		"a program, never closed":    "{ if a || b {",
		"a program, escaped":         `\{ a || b \}`,
		"the end of a program":       "{ a ||",
		"program code":               "func f(a []int) { return a[0] }\n",
		"a pattern":                  `^\{\d+\}\|\\$`,
		"TeX":                        `\{x \in X\}`,
		"a path":                     `\\server\share\{x}`,
		"an open brace, a bar below": "{ x\na | b",
		"an address with an @":       "a@example.org {x}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			template := parse(t, text)
			if got := all(template); len(got) != 1 || got[0] != text || template.Groups() != 0 {
				t.Errorf("%q became %q", text, got)
			}
		})
	}
}

// TestTextWithoutSets: where the request brings none, @ and a word behind a brace are the text of a chat or of a program.
func TestTextWithoutSets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{@user さん", "{@a b}", "{@user@example.org}", "{@media print}", "{@ user}", "{a@b.org}", `\{@a b}`} {
		template, err := dynamic.Parse(text, dynamic.Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := all(template); got[0] != text || template.Groups() != 0 {
			t.Errorf("%q became %q", text, got)
		}
	}
	template, err := dynamic.Parse("{@alice|@bob}", dynamic.Options{})
	if err != nil || !slices.Equal(all(template), []string{"@alice", "@bob"}) {
		t.Errorf("options that begin with @: %v", err)
	}
}

// TestCompat: the table of field/wannabe.md 1.2, which the program of seed 000 was run for.
func TestCompat(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want []string
	}{
		{`{A|B|"C D"}`, []string{"A", "B", "C D"}},
		{`{A|{B|C}}`, []string{"A}", "C}", "{B}"}},
		{`{A`, []string{"{A"}}, {`A}`, []string{"A}"}}, {`{}`, []string{"{}"}}, {`{ }`, []string{"{ }"}}, {`{||}`, []string{"{||}"}},
		{`{A|{B}`, []string{"A", "{B"}},
		{`{lonely}`, []string{"lonely"}},
		{`{A||B}`, []string{"A", "B"}}, {`{""|A}`, []string{"", "A"}},
		{`{ A | B }`, []string{"A", "B"}}, {`{" A "|B}`, []string{" A ", "B"}},
		{`{"A|B"|C}`, []string{"A|B", "C"}}, {`{"A}B"|C}`, []string{`"AB"|C}`}},
		{`{don't|won't}`, []string{"don't", "won't"}}, {`{'tis|it's}`, []string{"s", "tis|it"}},
		{`\{A|B\}`, []string{`\A`, `\B\`}},
		{`{"name": "x", "age": 3}`, []string{`: "x", "age": 3`, "name"}},
		{`func(){ return 1; }`, []string{`func()return 1;`}}, // the empty pair of parentheses has no braces
		{"{a\nb|c}", []string{"a\nb", "c"}},
		{`｛A｜B｝`, []string{`｛A｜B｝`}},
		{`{0.5::A|B}`, []string{"0.5::A", "B"}}, {`{2$$A|B}`, []string{"2$$A", "B"}},
		{"一@// c\n二", []string{"一\n二"}}, {"一@/* a\nb @*/二", []string{"一二"}},
		{"foo@breakfast", []string{"fast"}}, {"a@startpointb@endpointc@endpoint", []string{"b"}},
	} {
		template, err := dynamic.ParseCompat(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := all(template); !slices.Equal(got, tt.want) {
			t.Errorf("%q draws %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestSeeds pins what seeds draw: they must draw the same with every later version (cases/wannabe.md 17).
func TestSeeds(t *testing.T) {
	t.Parallel()
	template := parse(t, `{猫|犬|兎}{a|b|c|d}{2$$、$$一|二|三|四}{3::x|0.5::y|{p|q}}`)
	for seed, want := range map[uint32]string{
		0: "兎a三、二x", 1: "兎a三、二x", 2: "犬d一、三x", 4294967295: "兎a三、四q",
	} {
		got, picks := template.Draw(dynamic.Random(seed, "body"))
		again, _ := template.Draw(dynamic.Random(seed, "body"))
		if got != again {
			t.Errorf("seed %d draws %q, then %q", seed, got, again)
		}
		if got != want {
			t.Errorf("seed %d draws %q, want %q (%v)", seed, got, want, picks)
		}
	}
}

func TestRandomKeepsToTheWeights(t *testing.T) {
	t.Parallel()
	template, drawn := parse(t, `{3::a|b|0::c}`), map[string]int{}
	for seed := range uint32(4000) {
		text, _ := template.Draw(dynamic.Random(seed, "body"))
		drawn[text]++
	}
	if drawn["a"] < 2900 || drawn["a"] > 3100 || drawn["c"] != 0 {
		t.Errorf("of 4000 draws at 3 to 1: %v", drawn)
	}
}

func TestCyclic(t *testing.T) {
	t.Parallel()
	template := parse(t, `{a|b|c}{1|2}{2$$+$$x|y|z}`)
	var got []string
	for seed := range uint32(4) {
		text, _ := template.Draw(dynamic.Cyclic(seed))
		got = append(got, text)
	}
	if want := []string{"a1x+y", "b2y+z", "c1z+x", "a2x+y"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestWeightZero: no sampler takes an option of weight 0, and neither does a pick.
func TestWeightZero(t *testing.T) {
	t.Parallel()
	template := parse(t, `{0::a|b|0::c|d}{1-2$$+$$0::x|y|z}`)
	for seed := range uint32(12) {
		for name, chooser := range map[string]dynamic.Chooser{
			"random": dynamic.Random(seed, "body"), "cyclic": dynamic.Cyclic(seed), "walk": &dynamic.Walk{},
			"fixed": &dynamic.Fixed{Picks: map[int]dynamic.Pick{0: {Options: []int{0}}, 1: {Options: []int{0, 1}}}, Else: dynamic.Cyclic(seed)},
		} {
			if text, _ := template.Draw(chooser); strings.ContainsAny(text, "acx") {
				t.Errorf("%s with seed %d takes %q", name, seed, text)
			}
		}
	}
}

// TestFixed: picks that are sent again are taken again; what no longer fits is told and drawn.
func TestFixed(t *testing.T) {
	t.Parallel()
	template := parse(t, `{a|b|c}{1|2}{2$$+$$x|y|z}`)
	first, picks := template.Draw(dynamic.Random(7, "body"))
	again := &dynamic.Fixed{Picks: map[int]dynamic.Pick{}, Else: dynamic.Cyclic(0)}
	for _, p := range picks {
		again.Picks[p.Group] = p
	}
	if second, same := template.Draw(again); second != first || !cmp.Equal(same, picks) || again.Missed != nil {
		t.Errorf("%q became %q; missed %v", first, second, again.Missed)
	}
	odd := &dynamic.Fixed{Picks: map[int]dynamic.Pick{0: {Options: []int{3}}, 1: {Options: []int{-1}}, 2: {Options: []int{1, 1}}}, Else: dynamic.Cyclic(0)}
	if text, _ := template.Draw(odd); text != "a1x+y" || !slices.Equal(odd.Missed, []int{0, 1, 2}) {
		t.Errorf("%q, missed %v", text, odd.Missed)
	}
}

// TestFixedText: a pick that comes to another text is of another group, and is drawn; a pick without a text is taken.
func TestFixedText(t *testing.T) {
	t.Parallel()
	_, picks := parse(t, `{a|{b|c}|d}{1|2}`).Draw(&dynamic.Fixed{
		Picks: map[int]dynamic.Pick{0: {Options: []int{1}}, 1: {Options: []int{1}}, 2: {Options: []int{1}}},
	})
	if len(picks) != 3 || picks[0].Text != "c" {
		t.Fatalf("%v", picks)
	}
	for _, tt := range []struct {
		text, want string
		missed     []int
	}{
		{`{a|{b|c}|d}{1|2}`, "c2", nil},
		{`{x|y|z}{a|{b|c}|d}{1|2}`, "xa1", []int{0, 2, 1}}, // 2 was another one, too
		{`{a|{b|e}|d}{1|2}`, "a2", []int{1, 0}},
		{`{a|{b|c}|d}{1|3}`, "c1", []int{2}},
	} {
		f := &dynamic.Fixed{Picks: map[int]dynamic.Pick{}, Else: dynamic.Cyclic(0)}
		for _, p := range picks {
			f.Picks[p.Group] = p
		}
		text, taken := parse(t, tt.text).Draw(f)
		if text != tt.want || !slices.Equal(f.Missed, tt.missed) || text != joined(taken, tt.text) {
			t.Errorf("%s draws %q, missed %v, picks %v", tt.text, text, f.Missed, taken)
		}
	}
	f := &dynamic.Fixed{Picks: map[int]dynamic.Pick{0: {Options: []int{1}}}, Else: dynamic.Cyclic(0)}
	if text, _ := parse(t, `{x|y}`).Draw(f); text != "y" || f.Missed != nil {
		t.Errorf("%q, missed %v", text, f.Missed)
	}
}

// joined are the texts of the picks whose groups stand in no option.
func joined(picks []dynamic.Pick, text string) string {
	var all string
	for _, p := range picks {
		if before := text[:p.Column-1]; strings.Count(before, "{") == strings.Count(before, "}") {
			all += p.Text
		}
	}
	return all
}

// TestPicks: each pick says where its group begins and what stands there now; groups count by their opening braces.
func TestPicks(t *testing.T) {
	t.Parallel()
	text := "@// x\n夜の{a|{b|c}}\n{d|e}"
	_, got := parse(t, text).Draw(&dynamic.Fixed{Picks: map[int]dynamic.Pick{0: {Options: []int{1}}, 1: {Options: []int{0}}, 2: {Options: []int{1}}}})
	want := []dynamic.Pick{
		{Group: 0, Options: []int{1}, Text: "b", Line: 2, Column: 3}, {Group: 1, Options: []int{0}, Text: "b", Line: 2, Column: 6},
		{Group: 2, Options: []int{1}, Text: "e", Line: 3, Column: 1},
	}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if n := parse(t, text).LeftOut(); n != 6 {
		t.Errorf("%d characters are left out, want the comment's 6", n)
	}
}

// TestIndependence: a text that grows at its end keeps its picks.
func TestIndependence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SliceOfN(rapid.SampledFrom([]string{"{a|b|c}", "text", "{d|{e|f}}", "{2$$x|y|z}"}), 1, 8).Draw(t, "first")
		more := rapid.SliceOfN(rapid.SampledFrom([]string{"{a|b|c}", "text", "{d|{e|f}}"}), 0, 8).Draw(t, "more")
		seed := rapid.Uint32().Draw(t, "seed")
		short, _ := parse(t, strings.Join(first, " ")).Draw(dynamic.Random(seed, "body"))
		long, _ := parse(t, strings.Join(append(first, more...), " ")).Draw(dynamic.Random(seed, "body"))
		if !strings.HasPrefix(long, short) {
			t.Fatalf("%q became %q", short, long)
		}
	})
}
