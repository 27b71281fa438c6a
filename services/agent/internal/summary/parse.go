package summary

import (
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

var (
	summaryLine = label("要約|summary")
	tagsLine    = label("タグ|tags")
)

// label finds a line that begins with one of the words and a colon, which may be bold, in any case; what follows is its value.
func label(words string) *regexp.Regexp {
	const blank = `[\s\p{Z}]*`
	return regexp.MustCompile(`^(?i)` + blank + `(?:\*\*)?(?:` + words + `)(?:\*\*)?` + blank + `[:：](?:\*\*)?` + blank + `(.*)$`)
}

// parse takes a reply apart. Its first line must begin the summary and its last line be the tags; what stands between
// belongs to the summary.
func parse(text string) (summary string, tags []string, reason Reason) {
	lines := linesOf(text)
	if len(lines) == 0 {
		return "", nil, NoSummary
	}
	first, last := summaryLine.FindStringSubmatch(lines[0]), tagsLine.FindStringSubmatch(lines[len(lines)-1])
	rest := lines[1:]
	switch {
	case first == nil:
		return "", nil, NoSummary
	case last == nil && labelled(rest, tagsLine):
		return "", nil, ExtraText
	case last == nil:
		return "", nil, NoTags
	}
	between := rest[:len(rest)-1]
	if labelled(between, summaryLine) || labelled(between, tagsLine) {
		return "", nil, ExtraText
	}
	return value(strings.Join(append([]string{first[1]}, between...), "\n")), split(value(last[1])), ""
}

// linesOf gives the lines of a reply that are not empty, without what the model thought before and without a fence around it.
func linesOf(text string) (lines []string) {
	text = passage.Body(text).Text
	if at := strings.LastIndex(text, "</think>"); at >= 0 {
		text = text[at+len("</think>"):]
	}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	if n := len(lines); n >= 2 && opensFence(lines[0]) && strings.TrimSpace(lines[n-1]) == fence {
		lines = lines[1 : n-1]
	}
	return lines
}

const fence = "```"

// opensFence says so of a line of a fence, behind which a word may say what it is around.
func opensFence(line string) bool {
	info, ok := strings.CutPrefix(strings.TrimSpace(line), fence)
	return ok && !strings.Contains(info, "`")
}

func labelled(lines []string, label *regexp.Regexp) bool {
	for _, line := range lines {
		if label.MatchString(line) {
			return true
		}
	}
	return false
}

// value is a value in one line, without a pair of brackets around it.
func value(s string) string {
	s = strings.TrimSpace(passage.Line(s))
	if paired(s) {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}

// paired says that the first bracket of a text is closed by its last, not before it.
func paired(s string) bool {
	if !strings.HasPrefix(s, "[") || !strings.HasSuffix(s, "]") {
		return false
	}
	depth := 0
	for i, r := range s {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth == 0 {
			return i == len(s)-1
		}
	}
	return false
}

// split gives the tags of a value, each once: equal are those that differ in case or width alone.
func split(s string) (tags []string) {
	known := map[string]bool{}
	for _, tag := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '，' || r == '、' }) {
		tag = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(tag), "#＃"))
		key := strings.ToLower(norm.NFKC.String(tag))
		if tag != "" && !known[key] {
			known[key] = true
			tags = append(tags, tag)
		}
	}
	return tags
}
