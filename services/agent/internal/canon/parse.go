package canon

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

type kind uint8

const (
	kindLiteral kind = iota // null, true, false and numbers: text is canonical already
	kindString
	kindList
	kindObject
)

// value is a piece of JSON. A list has items; an object has as many keys, sorted.
type value struct {
	kind  kind
	text  string
	items []value
	keys  []key
}

type key struct {
	text  string
	units []uint16 // of text, by which keys sort
	item  value
}

type parser struct {
	in     []byte
	at     int
	values int
	path   []string
}

func parse(in []byte) (value, error) {
	p := &parser{in: in}
	if len(in) > MaxBytes {
		return value{}, p.fail(TooLarge, "the text has %d bytes, at most %d are taken", len(in), MaxBytes)
	}
	v, err := p.value()
	if err != nil {
		return value{}, err
	}
	if p.blanks(); p.at < len(in) {
		return value{}, p.fail(Syntax, "more text follows the end of the value, at byte %d", p.at)
	}
	return v, nil
}

func (p *parser) fail(r Reason, format string, args ...any) *Error {
	return &Error{Reason: r, Offset: p.at, Path: strings.TrimPrefix(strings.Join(p.path, ""), "."), Message: fmt.Sprintf(format, args...)}
}

// unexpected says what stands where something else should.
func (p *parser) unexpected(want string) *Error {
	if p.at >= len(p.in) {
		return p.fail(Syntax, "the text ends at byte %d, where %s should stand: it may be cut off", p.at, want)
	}
	return p.fail(Syntax, "byte %d is %q, where %s should stand", p.at, p.in[p.at], want)
}

func (p *parser) blanks() {
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n", p.in[p.at]) >= 0 {
		p.at++
	}
}

// next says whether the next byte after blanks is c, and takes it if so.
func (p *parser) next(c byte) bool {
	if p.blanks(); p.at < len(p.in) && p.in[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) value() (value, error) {
	if p.values++; p.values > MaxValues {
		return value{}, p.fail(TooLarge, "there are more than %d values", MaxValues)
	}
	p.blanks()
	if p.at >= len(p.in) {
		return value{}, p.unexpected("a value")
	}
	switch c := p.in[p.at]; {
	case len(p.path) >= MaxDepth && (c == '{' || c == '['):
		return value{}, p.fail(TooLarge, "objects and lists are nested deeper than %d", MaxDepth)
	case c == '{':
		return p.object()
	case c == '[':
		return p.list()
	case c == '"':
		s, err := p.string()
		return value{kind: kindString, text: s}, err
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	for _, word := range []string{"null", "true", "false"} {
		if bytes.HasPrefix(p.in[p.at:], []byte(word)) {
			p.at += len(word)
			return value{text: word}, nil
		}
	}
	return value{}, p.unexpected("a value")
}

func (p *parser) list() (value, error) {
	p.at++
	v := value{kind: kindList}
	if p.next(']') {
		return v, nil
	}
	for {
		p.path = append(p.path, "["+strconv.Itoa(len(v.items))+"]")
		item, err := p.value()
		if err != nil {
			return value{}, err
		}
		p.path = p.path[:len(p.path)-1]
		v.items = append(v.items, item)
		if p.next(']') {
			return v, nil
		}
		if !p.next(',') {
			return value{}, p.unexpected("a comma or the end of the list")
		}
	}
}

func (p *parser) object() (value, error) {
	p.at++
	v := value{kind: kindObject}
	if p.next('}') {
		return v, nil
	}
	seen := map[string]bool{}
	for {
		k, err := p.member(seen)
		if err != nil {
			return value{}, err
		}
		v.keys = append(v.keys, k)
		if p.next('}') {
			sortKeys(v.keys)
			return v, nil
		}
		if !p.next(',') {
			return value{}, p.unexpected("a comma or the end of the object")
		}
	}
}

// member reads a key and its value.
func (p *parser) member(seen map[string]bool) (key, error) {
	if p.blanks(); p.at >= len(p.in) || p.in[p.at] != '"' {
		return key{}, p.unexpected("a key in double quotes")
	}
	name, err := p.string()
	if err != nil {
		return key{}, err
	}
	p.path = append(p.path, "."+shown(name))
	if p.values++; seen[name] {
		return key{}, p.fail(DoubledKey, "the key stands twice in one object; which value counts would depend on the reader")
	}
	seen[name] = true
	if !p.next(':') {
		return key{}, p.unexpected("a colon")
	}
	item, err := p.value()
	if err != nil {
		return key{}, err
	}
	p.path = p.path[:len(p.path)-1]
	return key{text: name, units: utf16.Encode([]rune(name)), item: item}, nil
}

// shown is a key as a path of an error has it.
func shown(name string) string {
	const most = 64 // bytes of a key that a person can make use of
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == '.' || r == '[' || r > 0x7f && !strconv.IsPrint(r) {
			return strconv.QuoteToGraphic(name)
		}
	}
	return name
}

func (p *parser) string() (string, error) {
	p.at++
	begin := p.at
	var b []byte // what was read, once an escape makes it differ from what stands there
	for p.at < len(p.in) {
		switch c := p.in[p.at]; {
		case c == '"':
			s := string(append(b, p.in[begin:p.at]...))
			p.at++
			return s, nil
		case c == '\\':
			b = append(b, p.in[begin:p.at]...)
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
			begin = p.at
		case c < ' ':
			return "", p.fail(Syntax, "byte %d is a control character, which must be written as an escape in a string", p.at)
		case c < utf8.RuneSelf:
			p.at++
		default:
			r, size := utf8.DecodeRune(p.in[p.at:])
			if r == utf8.RuneError && size == 1 {
				return "", p.fail(Syntax, "byte %d is not UTF-8", p.at)
			}
			p.at += size
		}
	}
	return "", p.unexpected("the end of a string")
}

const (
	escapes = `"\/bfnrt`
	meant   = "\"\\/\b\f\n\r\t"
)

func (p *parser) escape() (rune, error) {
	p.at++
	if p.at >= len(p.in) {
		return 0, p.unexpected("an escape")
	}
	if i := strings.IndexByte(escapes, p.in[p.at]); i >= 0 {
		p.at++
		return rune(meant[i]), nil
	}
	r, err := p.unit()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if p.at < len(p.in) && p.in[p.at] == '\\' {
		p.at++
		second, err := p.unit()
		if err != nil {
			return 0, err
		}
		if both := utf16.DecodeRune(r, second); both != utf8.RuneError {
			return both, nil
		}
	}
	return 0, p.fail(LoneSurrogate, `\u%04x is half a character without its other half`, r)
}

// unit reads the u and four digits of an escape.
func (p *parser) unit() (rune, error) {
	const digits = 4
	if p.at >= len(p.in) || p.in[p.at] != 'u' {
		return 0, p.unexpected(`an escape: one of "\/bfnrt or u with four digits`)
	}
	p.at++
	var r rune
	for range digits {
		if p.at >= len(p.in) {
			return 0, p.unexpected("a hexadecimal digit")
		}
		n, err := strconv.ParseUint(string(p.in[p.at]), 16, 8)
		if err != nil {
			return 0, p.unexpected("a hexadecimal digit")
		}
		r = r<<4 | rune(n)
		p.at++
	}
	return r, nil
}
