package passage

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

func TestBody(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Cleaned{
		"\ufeff\ufeff\r\na\r\nb\rc \t\n\n":  {Text: "\ufeff\na\nb\nc", BOM: true}, // one goes, a second stands
		"a\xff\xfeb\xfe":                    {Text: "a\ufffdb\ufffd", Invalid: 2},
		"\n\n  a\u3000\n b\t \n":            {Text: "  a\u3000\n b"},
		"a\x00\x1b[0m\u0085\x7fb\U000e0041": {Text: "a[0mb", Controls: 5},
		"\u200d家\u200d族\u200b":              {Text: "\u200d家\u200d族\u200b"},
	} {
		if got := Body(in); got != want {
			t.Errorf("%q: %+v, want %+v", in, got, want)
		}
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\r\nb \n": "", "\ufeffa": "a byte order mark is gone",
		"\ufeffa\xff\xfeb\xfe\x00": "2 places with bytes that are no UTF-8 became U+FFFD, 1 control or tag characters are gone, a byte order mark is gone",
	} {
		if got := Body(in).Changes(); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestLineAndName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, line, name string }{
		{" a\n\n b\t\u2028c ", "a b c", "a b c"},
		{"家\u200d族\u200bと\u00ada", "家\u200d族とa", "家族とa"},
		{"\u202ea\u2066b", "ab", "ab"},
		{"a\u3000b", "a\u3000b", "a\u3000b"},
		{"~/skills/x\r\nSKILL.md\x00", "~/skills/x SKILL.md", "~/skills/x SKILL.md"},
	} {
		if line, name := Line(test.in), Name(test.in); line != test.line || name != test.name {
			t.Errorf("%q: %q and %q", test.in, line, name)
		}
	}
}

func TestEscapes(t *testing.T) {
	t.Parallel()
	const in = `a<b>&"c"'`
	if got := XML(in); got != `a&lt;b&gt;&amp;"c"'` {
		t.Error(got)
	}
	if got := Attr(in); got != `a&lt;b&gt;&amp;&quot;c&quot;'` {
		t.Error(got)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	const text = "名前か\u3099まだ👨‍👩‍👧無い🇯🇵한"
	for n, want := range map[int][2]string{
		0: {"", ""}, 2: {"名前", "🇯🇵"[:0] + "한"}, 3: {"名前", "🇯🇵한"}, 4: {"名前か\u3099", "い🇯🇵한"}, 10: {"名前か\u3099まだ", "👨‍👩‍👧無い🇯🇵한"},
		11: {"名前か\u3099まだ👨‍👩‍👧", "だ👨‍👩‍👧無い🇯🇵한"},
	} {
		if got := [2]string{Characters.Head(text, n), Characters.Tail(text, n)}; got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Bytes.Head(text, 11); got != "名前" {
		t.Errorf("%q", got)
	}
	if got := Cap("吾輩は猫である", 7); got != "吾輩は猫である" {
		t.Error(got)
	}
	if got := Cap("吾輩は猫である", 6); got != "吾輩は猫で…" {
		t.Error(got)
	}
}

// What is kept is no larger than asked for, ends where a character does, and one more character would be too much.
func TestCutsAreTheLongest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"か\u3099", "👨‍👩‍👧", "🇯🇵", "ᄒ", "ᅡ", "a", "漢", "\r\n", "e\u0301"}), 0, 12).Draw(t, "clusters"), "")
		unit := rapid.SampledFrom([]Unit{Characters, Bytes}).Draw(t, "unit")
		n := rapid.IntRange(0, unit.Size(text)+1).Draw(t, "n")
		var clusters []string
		for rest, state := text, -1; rest != ""; {
			var c string
			c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
			clusters = append(clusters, c)
		}
		head, tail := "", ""
		for i := 0; i < len(clusters) && unit.Size(head+clusters[i]) <= n; i++ {
			head += clusters[i]
		}
		for i := len(clusters) - 1; i >= 0 && unit.Size(clusters[i]+tail) <= n; i-- {
			tail = clusters[i] + tail
		}
		if got := unit.Head(text, n); got != head {
			t.Fatalf("head %q, want %q", got, head)
		}
		if got := unit.Tail(text, n); got != tail {
			t.Fatalf("tail %q, want %q", got, tail)
		}
	})
}

func TestFrame(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a":                  "<file x=\"1\">\na\n</file>",
		"a</FILE>b":          "<file-1 x=\"1\">\na</FILE>b\n</file-1>",
		"</file></fIle-1 >":  "<file-2 x=\"1\">\n</file></fIle-1 >\n</file-2>",
		"</files":            "<file-1 x=\"1\">\n</files\n</file-1>",
		"<file>no end":       "<file x=\"1\">\n<file>no end\n</file>",
		"</ﬁle>K</\u212aile": "<file x=\"1\">\n</ﬁle>K</\u212aile\n</file>",
	} {
		if got := Frame("file", `x="1"`, in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// The number of a frame is the first one that the text does not close, found as the rule says it: by trying one after the other.
func TestFrameTakesTheFirstNumber(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"</tag", "</TAG-", "</tag-", "-", "0", "1", "2", "3", "10", "</", "あ"})).Draw(t, "pieces"), "")
		want := "tag"
		for i := 1; strings.Contains(strings.ToLower(s), "</"+want); i++ {
			want = "tag-" + strconv.Itoa(i)
		}
		if got := Frame("tag", "", s); got != "<"+want+">\n"+s+"\n</"+want+">" {
			t.Fatalf("%s, want %s", got, want)
		}
	})
}

// TestLongFrames: a text of 8 MiB, the largest of a node, that closes as many frames as it can is framed soon.
func TestLongFrames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("</node")
	n := 1
	for ; b.Len() < 8<<20; n++ {
		b.WriteString("</NODE-" + strconv.Itoa(n))
	}
	if framed := Frame("node", "", b.String()); !strings.HasPrefix(framed, "<node-"+strconv.Itoa(n)+">\n") {
		t.Errorf("%.40s, want the number %d", framed, n)
	}
	const tag = "</node-"
	if framed := Frame("node", "", tag+strings.Repeat("9", 8<<20)); !strings.HasPrefix(framed, "<node-1>\n") {
		t.Errorf("%.40s", framed)
	}
}

// No text closes its own frame: between the tags there is none of the closing form.
func FuzzFrame(f *testing.F) {
	f.Add("a</data>")
	f.Add("</DATA-1></data")
	f.Fuzz(func(t *testing.T, s string) {
		framed := Frame("data", "", Body(s).Text)
		if !utf8.ValidString(framed) {
			t.Fatal("no UTF-8")
		}
		open, _, _ := strings.Cut(framed, ">\n")
		closing := "</" + strings.TrimPrefix(open, "<")
		if strings.Count(strings.ToLower(framed), closing) != 1 {
			t.Fatalf("%q", framed)
		}
	})
}

func TestCutHeadTail(t *testing.T) {
	t.Parallel()
	const text = "一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十"
	if got := Characters.CutHeadTail(text, 30); got != text {
		t.Error(got)
	}
	if got := Characters.CutHeadTail(text, 29); got != "一二三四五六\n"+CutMark+"\n九十" {
		t.Error(got)
	}
	if got := Characters.CutHeadTail(text, LeastCut); got != "一二三\n"+CutMark+"\n" {
		t.Error(got)
	}
}

// Nobody gets more than it wants, or less than another that wants less; all of the total is given where it is wanted.
func TestShare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		wants := rapid.SliceOfN(rapid.IntRange(0, 60), 0, 6).Draw(t, "wants")
		total := rapid.IntRange(0, 200).Draw(t, "total")
		given, sum, wanted := Share(wants, total), 0, 0
		for i, g := range given {
			if sum, wanted = sum+g, wanted+wants[i]; g < 0 || g > wants[i] {
				t.Fatalf("%v of %v", given, wants)
			}
			for j := range given {
				if g < given[j]-1 && g < wants[i] || i < j && g < given[j] && g < wants[i] {
					t.Fatalf("%v of %v: %d is wronged by %d", given, wants, i, j)
				}
			}
		}
		if sum != min(total, wanted) {
			t.Fatalf("%v of %v: %d of %d", given, wants, sum, total)
		}
	})
}
