package dynamic

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What stands before the options of a group, `2$$` or `1-2$$`, and before the text of an option, `0.5::`. What looks like one
// and is none is malformed: taken for text it would stand in the story.
var (
	count      = regexp.MustCompile(`^\s*(\d{1,6})(?:-(\d{1,6}))?\$\$`)
	countLike  = regexp.MustCompile(`^\s*[-+]?\p{Nd}[\p{Nd}\s.,+~〜～–-]*\$\$`)
	weight     = regexp.MustCompile(`^\s*(\d{1,7})(?:\.(\d{1,6}))?::`)
	weightLike = regexp.MustCompile(`^\s*[-+]?(?:\p{Nd}[\p{Nd}.,．_]*|[.．]\p{Nd}+)(?:[eE][-+]?\p{Nd}+)?\s*::`)
	setLike    = regexp.MustCompile(countLike.String() + `(?:[^{}|]*\$\$)?\s*@[\p{L}_][\p{L}\p{N}_-]*\s*$`)
	setName    = regexp.MustCompile(`^\s*@([\p{L}_][\p{L}\p{N}_-]*)\s*$`)
	setOption  = regexp.MustCompile(`^\s*@[\p{L}_][\p{L}\p{N}_-]*`)
	setBegin   = regexp.MustCompile(`^\s*(?:\d{1,6}(?:-\d{1,6})?\$\$(?:[^{}|$]*\$\$)?\s*)?@[\p{L}_][\p{L}\p{N}_-]*\s*\}?`)
)

// head is what stands before the options of a group.
type head struct {
	// written is how many options are taken, as the writer wrote it; empty for a plain group, which takes one.
	written     string
	least, most int
	// between stands between the options that are taken.
	between string
	// size is that of the head in bytes.
	size int
}

// head reads the one of a group.
func (p *parser) head(b *brace) (head, error) {
	start := int(b.open) + 1
	inside := p.text[start:b.end]
	found := count.FindStringSubmatch(inside)
	if found == nil {
		if like := countLike.FindString(inside); like != "" {
			return head{}, fmt.Errorf("%.40q looks like a count and is none; write 2$$ or 1-2$$, or put the option in quotes for text", like)
		}
		return head{least: 1, most: 1}, nil
	}
	h := head{written: strings.TrimSpace(found[0]), between: ", ", size: len(found[0])}
	h.least, _ = strconv.Atoi(found[1]) // digits, and few
	if h.most = h.least; found[2] != "" {
		h.most, _ = strconv.Atoi(found[2])
	}
	from := start + h.size
	at := p.separator(from, p.braces.firstEnd(b))
	if at < 0 {
		if late := p.separator(from, int(b.end)); late >= 0 {
			return head{}, fmt.Errorf("%.40q stands before a $$ like a separator, and a separator has no { } and |; give one before the first option, as in 2$$, $$A|B, or put the option in quotes for text",
				p.text[from:late])
		}
		return h, nil
	}
	own := p.text[from:at]
	if strings.ContainsAny(own, "{}|") {
		return head{}, fmt.Errorf("%.40q cannot stand between options: a separator has no { } and |", own)
	}
	h.between, h.size = unescape(own), at+len("$$")-start
	return h, nil
}

// separator finds the $$ behind the separator of a group, whose first option ends at a place; -1 where there is none. What
// quotes and groups in that option hold is theirs.
func (p *parser) separator(from, end int) int {
	for i := from; i < end; i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '"':
			i = quotes(p.text, i, false)
		case '{':
			if b := p.braces.at(i); b != nil && b.end > 0 {
				i = int(b.end)
			}
		case '$':
			if strings.HasPrefix(p.text[i:end], "$$") {
				return i
			}
		}
	}
	return -1
}

// beginsSet says that what stands behind an opening brace is meant for a named set: `@name}` always; `@` and a letter behind a
// count, or where the request brings sets. Elsewhere that is text, such as the `{@user` of a chat.
func (p *parser) beginsSet(inside string) bool {
	found := setBegin.FindString(inside)
	return found != "" && (len(p.sets) > 0 || strings.Contains(found, "$$") || strings.HasSuffix(found, "}"))
}

// isGroup says that the braces are drawn: there are options between them, or the name of a set.
func (p *parser) isGroup(b *brace) bool {
	if b == nil || b.end == 0 || b.isCode() {
		return false
	}
	if b.bars > 0 {
		return true
	}
	inside := p.text[b.open+1 : b.end]
	inside = inside[blanks(inside):]
	// Most braces hold something else, and a text may hold millions.
	if first, _ := utf8.DecodeRuneInString(inside); first != '@' && first != '-' && first != '+' && !unicode.Is(unicode.Nd, first) {
		return false
	}
	h, err := p.head(b)
	if err != nil {
		return setLike.MatchString(inside)
	}
	return p.beginsSet(p.text[b.open+1:]) || setName.MatchString(p.text[int(b.open)+1+h.size:b.end])
}

// weight reads that of the option at start, in millionths, and gives where its text begins.
func (p *parser) weight(start, end int) (millionths uint64, behind int, err error) {
	found := weight.FindStringSubmatch(p.text[start:end])
	if found == nil {
		if like := weightLike.FindString(p.text[start:end]); like != "" {
			return 0, 0, fmt.Errorf("%.40q looks like a weight and is none; write a number such as 3:: or 0.5:: with at most 6 decimals, or put the option in quotes for text",
				strings.TrimSpace(like))
		}
		return one, start, nil
	}
	// Without floating point, so that all machines agree; at most 13 digits.
	n, _ := strconv.ParseUint(found[1]+(found[2] + "000000")[:6], 10, 64)
	if n > MaxWeight*one {
		return 0, 0, errors.New("a weight is over " + strconv.Itoa(MaxWeight))
	}
	return n, start + len(found[0]), nil
}

// one is the weight of an option that names none, in millionths.
const one = 1_000_000
