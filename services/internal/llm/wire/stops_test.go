package wire

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// through sends a text through stops in pieces of n bytes that end between characters.
func through(stops []string, text string, n int) (got, found string) {
	s := NewStops(stops)
	for text != "" {
		end := min(n, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		got += s.Add(text[:end])
		text = text[end:]
	}
	return got + s.Rest(), s.Found()
}

func TestStops(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		stops             []string
		text, want, found string
	}{
		{[]string{" was", "\n"}, ", I was", ", I", " was"},
		{[]string{"."}, "ima). And", "ima)", "."},
		{[]string{"aab"}, "aaab", "a", "aab"},
		{[]string{"abc", "b"}, "abc", "a", "b"}, // the one that is whole first
		{[]string{"b", "ab"}, "xab", "x", "ab"}, // of two that are whole at once, the longer
		{[]string{"[/INST]"}, "[INST] and [/INS", "[INST] and [/INS", ""},
		{[]string{"。」"}, "「はい。そう。」と", "「はい。そう", "。」"},
		{nil, "text", "text", ""},
		{[]string{"x"}, "", "", ""},
	} {
		for n := 1; n <= len(test.text)+1; n++ {
			if got, found := through(test.stops, test.text, n); got != test.want || found != test.found {
				t.Errorf("%q in pieces of %d, stopped at %q, gives %q, %q; want %q, %q", test.text, n, test.stops, got, found, test.want, test.found)
			}
		}
	}
}

// FuzzStops: the pieces do not matter, and no text is lost but from the stop string on.
func FuzzStops(f *testing.F) {
	f.Add("the cat sat", "at", " s", uint8(1))
	f.Add("aaab", "aab", "b", uint8(2))
	f.Add("夜の港", "の港", "港", uint8(3))
	f.Fuzz(func(t *testing.T, text, a, b string, n uint8) {
		if a == "" || b == "" || !utf8.ValidString(text+a+b) {
			return
		}
		stops := []string{a, b}
		got, found := through(stops, text, int(n)%7+1)
		whole, same := through(stops, text, len(text)+1)
		if got != whole || found != same {
			t.Errorf("%q in pieces gives %q, %q; whole %q, %q", text, got, found, whole, same)
		}
		if !strings.HasPrefix(text, got+found) || found == "" && got != text {
			t.Errorf("%q became %q, %q", text, got, found)
		}
	})
}
