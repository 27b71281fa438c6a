package dynamic_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/dynamic"
)

func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("{a|b}", dynamic.MaxGroups+1)
	for name, tt := range map[string]struct {
		text         string
		line, column int
		want         string
	}{
		"never closed":             {"一。\n夜の{雨|雪だ", 2, 3, "never closed"},
		"behind a comment":         {"@// x\n@// y\n{a|b", 3, 1, "never closed"},
		"unknown set":              {"あ{@wether}", 1, 2, "@wether"},
		"more than there are":      {"{3$$A|B}", 1, 1, "of 2 options"},
		"the wrong way round":      {"{2-1$$A|B}", 1, 1, "2 to 1"},
		"no weight at all":         {"{0::A|0::B}", 1, 1, "weight 0"},
		"more than have weight":    {"{2$$0::A|B}", 1, 1, "of 1 options"},
		"too heavy":                {"{9999999::A|B}", 1, 2, "1000000"},
		"a comment that stays":     {"一。\r　 @/* x\n二。", 2, 3, "never ended"},
		"never closed, any end":    {"一。\u2028夜の{雨|雪だ", 2, 3, "never closed"},
		"half a weight":            {"一\n{ .5::A|B}", 2, 3, `".5::" looks like a weight`},
		"a negative weight":        {"{-1::A|B}", 1, 2, "looks like a weight"},
		"a weight in powers":       {"{A|1e3::B}", 1, 4, "looks like a weight"},
		"seven decimals":           {"{0.0000001::A|B}", 1, 2, "looks like a weight"},
		"a full-width weight":      {"{３::朝|夜}", 1, 2, "looks like a weight"},
		"a weight and a blank":     {"{3 ::朝|夜}", 1, 2, "looks like a weight"},
		"a dozen digits":           {"{123456789012::A|B}", 1, 2, "looks like a weight"},
		"half a range":             {"{1-$$A|B}", 1, 1, `"1-$$" looks like a count`},
		"a count and a blank":      {"{1 $$A|B}", 1, 1, "looks like a count"},
		"a negative count":         {"{-1$$A|B}", 1, 1, "looks like a count"},
		"half a range of a set":    {"{1-$$と$$@weather}", 1, 1, "looks like a count"},
		"a group as separator":     {"{2$${x|y}$$A|B}", 1, 1, "cannot stand between options"},
		"a bar as separator":       {`{2$$\|$$A|B}`, 1, 1, "cannot stand between options"},
		"a bar as separator, bare": {"{2$$|$$A|B}", 1, 1, "like a separator"},
		"a late separator":         {"{2$$A|B$$C}", 1, 1, "like a separator"},
		"a set, never closed":      {"一。\n夜の{@weather だ", 2, 3, "never closed"},
		"a set, on a line":         {"{@wether\n{a|b}", 1, 1, "never closed"},
		"a set and a word":         {"あ{@a b}", 1, 3, `"@a" names a set`},
		"a set as an option":       {"{ 曇り | @weather}", 1, 8, "{{@name}|A}"},
		"a set behind a count":     {"{2$$@weather|x}", 1, 5, `"@weather" names a set`},
		"a weight before a set":    {"{3::@weather|x}", 1, 5, `"@weather" names a set`},
		"too deep":                 {strings.Repeat("{a|", 20) + strings.Repeat("}", 20), 1, 49, "16 deep"},
		"too many":                 {many, 1, 5001, "1000 groups"},
		"too many options":         {"{" + strings.Repeat("|", 1000) + "}", 1, 1, "1001 options"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := dynamic.Parse(tt.text, dynamic.Options{Sets: sets})
			var wrong *dynamic.SyntaxError
			if !errors.As(err, &wrong) || wrong.Line != tt.line || wrong.Column != tt.column || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want line %d, column %d: %s", err, tt.line, tt.column, tt.want)
			}
		})
	}
}

// TestSetsBehindCounts: a count says that a set is meant, even where the request brings none.
func TestSetsBehindCounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{2$$@weather|x}": "names a set", "{2$$@weather x}": "names a set", "{2$$と$$@weather": "never closed", "{@weather}": "there are none",
	} {
		if _, err := dynamic.Parse(text, dynamic.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestAllErrors: everything that is malformed is told, in the order of the text, and bounded.
func TestAllErrors(t *testing.T) {
	t.Parallel()
	_, err := dynamic.Parse("{@x}{a|.5::b|-1::{3$$c|d}}\n{a|b", dynamic.Options{})
	var got []string
	for line := range strings.Lines(err.Error()) {
		place, _, _ := strings.Cut(line, ":")
		got = append(got, place)
	}
	want := []string{"line 1, column 1", "line 1, column 8", "line 1, column 14", "line 1, column 18", "line 2, column 1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var all *dynamic.SyntaxErrors
	_, err = dynamic.Parse(strings.Repeat("{@x}", 50), dynamic.Options{})
	if !errors.As(err, &all) || len(all.Told) != dynamic.MaxErrors || all.More != 50-dynamic.MaxErrors {
		t.Errorf("%v", err)
	}
	_, err = dynamic.Parse(strings.Repeat("{a|b}", dynamic.MaxGroups+50), dynamic.Options{})
	if !errors.As(err, &all) || len(all.Told) != 1 || all.More != 0 {
		t.Errorf("the limit of groups is not told once: %v", err)
	}
}

// TestLenientReadsOnce: groups in groups that are all malformed are told once each.
func TestLenientReadsOnce(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("{9$$a|", 16) + "b" + strings.Repeat("}", 16)
	template, err := dynamic.Parse(text, dynamic.Options{Lenient: true})
	if err != nil || malformed(template) != 16 {
		t.Errorf("%v, %d are told", err, malformed(template))
	}
}

// TestLenient: what is malformed is text, and told; what stands in it is drawn all the same.
func TestLenient(t *testing.T) {
	t.Parallel()
	for text, tt := range map[string]struct {
		want      []string
		malformed int
	}{
		"夜の{雨|雪だ。{a|b}":         {[]string{"夜の{雨|雪だ。a", "夜の{雨|雪だ。b"}, 1},
		"{@wether}{3$$c|{d|e}}": {[]string{"{@wether}{3$$c|d}", "{@wether}{3$$c|e}"}, 2},
		"@/* x\n{a|b}":          {[]string{"@/* x\na", "@/* x\nb"}, 1},
		"{a|b}":                 {[]string{"a", "b"}, 0},
	} {
		template, err := dynamic.Parse(text, dynamic.Options{Sets: sets, Lenient: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := all(template); !slices.Equal(got, tt.want) || malformed(template) != tt.malformed {
			t.Errorf("%q draws %q, want %q; told %v", text, got, tt.want, template.Malformed())
		}
	}
}

func malformed(template *dynamic.Template) int {
	if m := template.Malformed(); m != nil {
		return len(m.Told) + m.More
	}
	return 0
}
