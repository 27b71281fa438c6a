package idea

import (
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// words are the headers over the parts.
var words = map[string]Field{
	"タイトル": Title, "キーワード": Keywords, "ジャンル": Genres, "あらすじ": Synopsis, "設定": Setting, "プロット": Plot,
}

// header is the line over a part.
type header struct {
	// field is empty for a header that is none of the six.
	field Field
	// level is how many # it has; 1 for 【】 and for a square.
	level int
	// weak says that a line of a text may look like it: an item of a list, or a word and a colon, without any other mark.
	weak bool
	// value is what stands on the line behind it, with the end of the line.
	value string
}

// squares are what Japanese writers put before a heading.
const squares = "■□◆◇"

// headerOf reads a line as a header: `# タイトル:`, also with more #, in 【】, behind a square, in bold, as an item of a list, with
// # or colon full-width, and with the value on the same line. Without a colon it is one with # or a square, in 【】 or in bold. A
// line with # and a colon is a header whatever it says; the other forms only with a known word.
func headerOf(line string) (h header, ok bool) {
	end, _ := textline.End(line)
	text := unbullet(strip(line[:end]))
	unmarked := strings.TrimLeft(text, "#＃")
	h.level = utf8.RuneCountInString(text) - utf8.RuneCountInString(unmarked)
	hashed := h.level > 0
	if square := strings.TrimLeft(unmarked, squares); square != unmarked {
		unmarked, h.level = square, max(1, h.level)
	}
	text, bold := strings.CutPrefix(unbullet(strip(unmarked)), "**")
	word, after, found := cutWord(strip(text))
	if strings.HasPrefix(strip(text), "【") {
		h.level = max(1, h.level)
	}
	alone := bold && !found && strings.HasSuffix(word, "**")
	h.weak = h.level == 0 && !bold
	if bold = bold && !strings.HasSuffix(strip(word), "**"); bold {
		after = closeBold(after)
	}
	h.field = words[strings.Trim(word, "* 　")]
	if known := h.field != ""; hashed && found || known && (h.level > 0 || found || alone) {
		h.value = unbold(after) + line[end:]
		return h, true
	}
	return header{}, false
}

// isHeading says that a line is a heading of Markdown, whatever it says: a # before a blank. `#雨` is a keyword.
func isHeading(line string) bool {
	text := strip(line)
	unmarked := strings.TrimLeft(text, "#＃")
	return unmarked != text && startsBlank(unmarked)
}

// cutWord parts a line behind 【word】 or at the first colon; found says that there was one of them.
func cutWord(text string) (word, after string, found bool) {
	if inside, opened := strings.CutPrefix(text, "【"); opened {
		if word, after, found = strings.Cut(inside, "】"); found {
			return word, strings.TrimLeft(after, ":： 　"), true
		}
	}
	i := strings.IndexAny(text, ":：")
	if i < 0 {
		return text, "", false
	}
	return text[:i], strings.TrimPrefix(strings.TrimPrefix(text[i:], ":"), "："), true
}

// closeBold takes the ** off that ends what was opened before the word: right behind the header, or at the end of the line.
func closeBold(after string) string {
	if rest, ok := strings.CutPrefix(strip(after), "**"); ok {
		return rest
	}
	return strings.TrimSuffix(strip(after), "**")
}

// unbold takes the ** off around a text that is bold as a whole.
func unbold(text string) string {
	text = strip(text)
	inside, opened := strings.CutPrefix(text, "**")
	inside, closed := strings.CutSuffix(inside, "**")
	if !opened || !closed || inside == "" || strings.Contains(inside, "**") {
		return text
	}
	return strip(inside)
}

// unbullet takes off what models put before the items of a list: -, * and + before a blank or a word, ・, •, ●, and a number
// with a dot or a parenthesis before a blank. A minus stays, and so does the number 1.5.
func unbullet(item string) string {
	for _, dot := range []string{"・", "•", "●"} {
		if rest, ok := strings.CutPrefix(item, dot); ok {
			return strip(rest)
		}
	}
	if rest := strings.TrimLeft(item, "0123456789"); rest != item {
		if dotted := strings.TrimPrefix(strings.TrimPrefix(rest, "."), ")"); dotted != rest && startsBlank(dotted) {
			return strip(dotted)
		}
		return item
	}
	if item == "" || strings.IndexByte("-*+", item[0]) < 0 {
		return item
	}
	rest := item[1:]
	if startsBlank(rest) || item[0] == '-' && rest != "" && strings.IndexByte("-.0123456789", rest[0]) < 0 {
		return strip(rest)
	}
	return item
}

func startsBlank(text string) bool {
	return len(text) > 0 && strip(text[:1]) == "" || strings.HasPrefix(text, "　")
}

// list reads items: each on a line of its own, or several on a line with commas between them. What stands in quotes as a
// whole line is one.
func list(text string) []string {
	var items []string
	for _, line := range textline.All(text) {
		line = unbold(unbullet(strip(line)))
		several := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("、，,／", r) })
		if unquote(line) != line {
			several = []string{line}
		}
		for _, item := range several {
			if item = unquote(unbullet(strip(item))); item != "" {
				items = append(items, item)
			}
		}
	}
	return items
}

// unquote takes the quotes off around a text that holds no others.
func unquote(text string) string {
	if n := len(text); n > 1 && text[0] == '"' && text[n-1] == '"' && strings.Count(text, `"`) == 2 {
		return text[1 : n-1]
	}
	return text
}

// strip takes off blanks, and the mark of the byte order, which some models' files begin with.
func strip(text string) string { return textline.Strip(strings.TrimPrefix(text, "\ufeff")) }
