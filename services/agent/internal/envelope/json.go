package envelope

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

type kind byte

const (
	object kind = iota + 1
	array
	text
	number
	boolean
	null
)

var kindNames = map[kind]string{object: "object", array: "array", text: "string", number: "number", boolean: "boolean", null: "null"}

// node is a value of JSON and where it stands in the text.
type node struct {
	kind       kind
	start, end int
	text       string
	truth      bool
	members    []member
	items      []*node
	// mended says that a comma or a comment was passed over inside of it.
	mended bool
}

type member struct {
	key   string
	value *node
}

// parser reads one value of JSON as RFC 8259 has it, but for commas before a closing bracket and comments, which it passes over
// and counts. A key twice and half a surrogate pair are noted, and it goes on: the caller wants to tell all reasons.
type parser struct {
	src              string
	at, depth        int
	commas, comments int
	reasons          []Reason
}

// fault ends the reading of a value.
type fault struct {
	code Code
	at   int
	want string
}

func (p *parser) fail(want string) *fault {
	if p.at >= len(p.src) {
		return &fault{NotClosed, p.at, want}
	}
	return &fault{NotJSON, p.at, want}
}

// skip passes over blanks and comments.
func (p *parser) skip() *fault {
	for p.at < len(p.src) {
		rest := p.src[p.at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.at++
		case strings.HasPrefix(rest, "//"):
			p.comments++
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				p.at += end + 1
			} else {
				p.at = len(p.src)
			}
		case strings.HasPrefix(rest, "/*"):
			p.comments++
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				p.at = len(p.src)
				return p.fail("*/")
			}
			p.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

func (p *parser) peek() byte {
	if p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

// value reads the value that begins here.
func (p *parser) value(path string) (*node, *fault) {
	n := &node{start: p.at}
	before := p.commas + p.comments
	f := p.fill(n, path)
	n.end, n.mended = p.at, p.commas+p.comments > before
	return n, f
}

func (p *parser) fill(n *node, path string) *fault {
	switch c := p.peek(); {
	case c == '{' || c == '[':
		if p.depth == MaxDepth {
			return &fault{TooDeep, p.at, strconv.Itoa(MaxDepth)}
		}
		p.depth++
		defer func() { p.depth-- }()
		if c == '{' {
			n.kind = object
			known := map[string]bool{}
			return p.sequence('}', func() *fault { return p.member(n, path, known) })
		}
		n.kind = array
		return p.sequence(']', func() *fault {
			item, f := p.value(path + "[" + strconv.Itoa(len(n.items)) + "]")
			n.items = append(n.items, item)
			return f
		})
	case c == '"':
		n.kind = text
		s, f := p.text(path)
		n.text = s
		return f
	case c == '-' || c >= '0' && c <= '9':
		n.kind = number
		return p.number()
	}
	return p.word(n)
}

// sequence reads what stands between brackets: items with commas between them, and perhaps one behind the last.
func (p *parser) sequence(closing byte, item func() *fault) *fault {
	p.at++
	for first := true; ; first = false {
		if f := p.skip(); f != nil {
			return f
		}
		if p.peek() == closing {
			if !first {
				p.commas++
			}
			p.at++
			return nil
		}
		if f := item(); f != nil {
			return f
		}
		if f := p.skip(); f != nil {
			return f
		}
		switch p.peek() {
		case closing:
			p.at++
			return nil
		case ',':
			p.at++
		default:
			return p.fail(", / " + string(closing))
		}
	}
}

func (p *parser) member(n *node, path string, known map[string]bool) *fault {
	if p.peek() != '"' {
		return p.fail(`"`)
	}
	key, f := p.text(path)
	if f != nil {
		return f
	}
	inner := join(path, key)
	if known[key] {
		p.reasons = append(p.reasons, Reason{Code: DuplicateKey, Path: inner})
	}
	known[key] = true
	if f := p.skip(); f != nil {
		return f
	}
	if p.peek() != ':' {
		return p.fail(":")
	}
	p.at++
	if f := p.skip(); f != nil {
		return f
	}
	v, f := p.value(inner)
	n.members = append(n.members, member{key, v})
	return f
}

// text reads a string with its quotes.
func (p *parser) text(path string) (string, *fault) {
	p.at++
	var b strings.Builder
	for p.at < len(p.src) {
		rest := p.src[p.at:]
		end := strings.IndexFunc(rest, func(r rune) bool { return r == '"' || r == '\\' || r < ' ' })
		if end < 0 {
			break
		}
		b.WriteString(rest[:end])
		p.at += end
		switch p.src[p.at] {
		case '"':
			p.at++
			return b.String(), nil
		case '\\':
			r, f := p.escape(path)
			if f != nil {
				return "", f
			}
			b.WriteRune(r)
		default:
			return "", p.fail(`\n`)
		}
	}
	p.at = len(p.src)
	return "", p.fail(`"`)
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads what a backslash begins.
func (p *parser) escape(path string) (rune, *fault) {
	p.at++
	if r, ok := escapes[p.peek()]; ok {
		p.at++
		return r, nil
	}
	r, ok := p.unit(p.at)
	if !ok {
		return 0, p.fail(`\" \\ \/ \b \f \n \r \t \uXXXX`)
	}
	p.at += 5
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if p.peek() == '\\' {
		if low, ok := p.unit(p.at + 1); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				p.at += 6
				return pair, nil
			}
		}
	}
	p.reasons = append(p.reasons, Reason{Code: LoneSurrogate, Path: path})
	return utf8.RuneError, nil
}

// unit reads uXXXX.
func (p *parser) unit(at int) (rune, bool) {
	if at+5 > len(p.src) || p.src[at] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(p.src[at+1:at+5], 16, 16)
	return rune(n), err == nil
}

func (p *parser) digits() bool {
	from := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > from
}

func (p *parser) number() *fault {
	if p.peek() == '-' {
		p.at++
	}
	if p.peek() == '0' {
		p.at++
	} else if !p.digits() {
		return p.fail("0-9")
	}
	if p.peek() == '.' {
		p.at++
		if !p.digits() {
			return p.fail("0-9")
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return p.fail("0-9")
		}
	}
	return nil
}

func (p *parser) word(n *node) *fault {
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(p.src[p.at:], word) {
			n.kind, n.truth = boolean, word == "true"
			if word == "null" {
				n.kind = null
			}
			p.at += len(word)
			return nil
		}
	}
	return p.fail("value")
}

// join gives the path of a member. A key that could be taken for something else is quoted.
func join(path, key string) string {
	plain := func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }
	if key == "" || len(key) > MaxName || strings.ContainsFunc(key, plain) {
		key = strconv.QuoteToGraphic(cut(key, shown))
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
