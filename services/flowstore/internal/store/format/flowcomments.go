package format

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// comments splits off comments that belong to no key, at the beginning and at the end: the parser would lose them.
func comments(text []byte) (lead, middle, tail []byte) {
	middle = text
	for line := range bytes.Lines(text) {
		if line[0] != '#' && len(bytes.TrimSpace(line)) > 0 {
			break
		}
		middle = middle[len(line):]
	}
	lead = text[:len(text)-len(middle)]
	end := len(middle)
	for rest := middle; len(rest) > 0; {
		start := bytes.LastIndexByte(bytes.TrimSuffix(rest, []byte("\n")), '\n') + 1
		line := rest[start:]
		if line[0] != '#' && len(bytes.TrimSpace(line)) > 0 {
			break
		}
		if rest = rest[:start]; line[0] == '#' {
			end = start
		}
	}
	return lead, middle[:end], middle[end:]
}

// gapMark encloses, in a comment behind a value, the blanks that stood before it: the parser forgets them, and writes one. No
// YAML has this character, but in a text as an escape.
const gapMark = "\x01"

var gaps = regexp.MustCompile(" ?#" + gapMark + "([ \t]*)" + gapMark)

// holdBlanks notes the blanks before comments in them; lines are those of the file. Behind the last of several lines of a value
// they are not looked for: the lines become one.
func holdBlanks(n *yamlx.Node, lines [][]byte) {
	for _, c := range n.Content {
		holdBlanks(c, lines)
	}
	if n.LineComment == "" || n.Line > len(lines) {
		return
	}
	before, stands := bytes.CutSuffix(bytes.TrimSuffix(lines[n.Line-1], []byte("\r")), []byte(n.LineComment))
	if stands {
		gap := before[len(bytes.TrimRight(before, " \t")):]
		n.LineComment = "#" + gapMark + string(gap) + gapMark + strings.TrimPrefix(n.LineComment, "#")
	}
}

// setBlanks puts them back.
func setBlanks(text []byte) []byte { return gaps.ReplaceAll(text, []byte("$1#")) }
