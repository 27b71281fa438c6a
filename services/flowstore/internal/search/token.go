package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word of a query, or a filter with its values.
type token struct {
	// text is all of it, as it stands in the query; at is its first byte there.
	text string
	at   int
	not  bool
	// key is empty for a word, which has one value.
	key    string
	values []value
}

// Marks of a query. Japanese keyboards type those of full width, and some the curly ones.
const (
	quotes  = "\"＂“”"
	colons  = ":："
	hyphens = "-－"
	commas  = ",，、"
)

// tokens takes the query apart, and notes what is wrong with its marks.
func (p *parser) tokens() []token {
	var out []token
	for at := p.blanks(0); at < len(p.text); at = p.blanks(at) {
		t := token{at: at}
		end := p.token(&t)
		t.text = p.text[t.at:end]
		p.parts += len(t.values)
		switch {
		case len(t.values) == 0: // its quotes were refused
		case t.not && t.key == "" && t.values[0].text == "" && !t.values[0].quoted:
			p.refuse(t.at, t.text, "stands alone; put the word that nodes must not hold behind it, or write \"-\"")
		default:
			out = append(out, t)
		}
		at = end
	}
	return out
}

// blanks gives the first byte from at on that is no white space.
func (p *parser) blanks(at int) int {
	for at < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[at:])
		if !unicode.IsSpace(r) {
			break
		}
		at += size
	}
	return at
}

// token reads one, and gives the byte behind it.
func (p *parser) token(t *token) (end int) {
	at := t.at
	if size := p.mark(at, hyphens); size > 0 {
		t.not = true
		at += size
	}
	if name := strings.ToLower(letters(p.text[at:])); keys[name].read != nil {
		if size := p.mark(at+len(name), colons); size > 0 {
			t.key = name
			at += len(name) + size
		}
	}
	for {
		v, end, ok := p.value(at, t.key != "")
		if !ok {
			t.values = nil
			return end
		}
		t.values = append(t.values, v)
		size := 0
		if t.key != "" {
			size = p.mark(end, commas)
		}
		if size == 0 {
			return end
		}
		at = end + size
	}
}

// mark gives the length of the mark at a byte; 0 where there is none of these.
func (p *parser) mark(at int, marks string) int {
	r, size := utf8.DecodeRuneInString(p.text[at:])
	if size == 0 || !strings.ContainsRune(marks, r) {
		return 0
	}
	return size
}

// letters gives the ASCII letters with which a text begins.
func letters(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' })
	if end < 0 {
		return text
	}
	return text[:end]
}

// value reads a quoted text, or one up to white space, and in a filter up to a comma.
func (p *parser) value(at int, filter bool) (v value, end int, ok bool) {
	if p.mark(at, quotes) > 0 {
		return p.quoted(at, filter)
	}
	end = len(p.text)
	for i, r := range p.text[at:] {
		if unicode.IsSpace(r) || filter && strings.ContainsRune(commas, r) {
			end = at + i
			break
		}
	}
	return value{text: p.text[at:end], at: at}, end, true
}

func (p *parser) quoted(at int, filter bool) (v value, end int, ok bool) {
	var b strings.Builder
	v = value{quoted: true, at: at}
	for i := at + p.mark(at, quotes); i < len(p.text); {
		size := p.mark(i, quotes)
		if size == 0 {
			_, size = utf8.DecodeRuneInString(p.text[i:])
			b.WriteString(p.text[i : i+size])
			i += size
			continue
		}
		second := p.mark(i+size, quotes)
		if second > 0 {
			b.WriteString(p.text[i : i+size])
			i += size + second
			continue
		}
		end = i + size
		if end < len(p.text) && p.blanks(end) == end && (!filter || p.mark(end, commas) == 0) {
			_, end, _ = p.value(end, false)
			p.refuse(at, p.text[at:end], "goes on behind its closing quotation mark; put a blank there, or write \"\" for a mark within")
			return v, end, false
		}
		v.text = b.String()
		return v, end, true
	}
	p.refuse(at, p.text[at:], "has no closing quotation mark; put one at its end")
	return v, len(p.text), false
}
