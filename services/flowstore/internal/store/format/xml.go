package format

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// attr is an attribute of an element. One without a value is left out: an empty text, or a number that is absent.
type attr struct {
	name, text string
	kind       attrKind
	// number is an integer, or the bits of a decimal.
	number uint64
}

type attrKind byte

const (
	isText attrKind = iota
	isInteger
	isDecimal
)

func value(name, text string) attr { return attr{name: name, text: text} }

// number is left out where it is 0, which is: unknown.
func number(name string, n int) attr {
	if n == 0 {
		return attr{}
	}
	return whole(name, n)
}

func whole(name string, n int) attr { return attr{name: name, kind: isInteger, number: uint64(n)} }

// decimal is left out where it is 0, which is: unknown.
func decimal(name string, f float64) attr {
	if f == 0 {
		return attr{}
	}
	return decimalOf(name, &f)
}

// decimalOf and its kin are values of which it matters whether they were given, 0 included.
func decimalOf(name string, f *float64) attr {
	if f == nil {
		return attr{}
	}
	return attr{name: name, kind: isDecimal, number: math.Float64bits(*f)}
}

func numberOf(name string, n *int) attr {
	if n == nil {
		return attr{}
	}
	return whole(name, *n)
}

func unsignedOf(name string, n *uint32) attr {
	if n == nil {
		return attr{}
	}
	return whole(name, int(*n))
}

// yes is left out where it does not hold.
func yes(name string, b bool) attr {
	if !b {
		return attr{}
	}
	return value(name, "true")
}

// absent says that there is no value.
func (a *attr) absent() bool { return a.kind == isText && a.text == "" }

// append appends the value, without what XML wants of a text.
func (a *attr) append(dst []byte) []byte {
	switch a.kind {
	case isInteger:
		return strconv.AppendInt(dst, int64(a.number), 10)
	case isDecimal:
		return strconv.AppendFloat(dst, math.Float64frombits(a.number), 'f', -1, 64)
	}
	return append(dst, a.text...)
}

// xmlWriter appends elements, each on a line of its own.
type xmlWriter struct{ out []byte }

const (
	cdataOpen  = "<![CDATA["
	cdataClose = "]]>"
)

var (
	// A carriage return is written as a reference, since readers turn a bare one into a line feed
	// (field/flowstore.md row 8); other blanks within a line, so that they are seen and no editor tidies them away.
	inlineReplacer    = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\t", "&#9;", "\n", "&#10;", "\r", "&#13;")
	attributeReplacer = strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "\t", "&#9;", "\n", "&#10;", "\r", "&#13;")
	// The end of a section within a text is split between two sections, which every reader joins (field/flowstore.md row 6).
	cdataReplacer = strings.NewReplacer(cdataClose, "]]"+cdataClose+cdataOpen+">", "\r", cdataClose+"&#13;"+cdataOpen)
)

// start writes the start tag of an element that holds others.
func (w *xmlWriter) start(name string, attrs ...attr) {
	w.tag(name, attrs, false)
	w.out = append(w.out, ">\n"...)
}

func (w *xmlWriter) end(name string) {
	w.out = append(append(append(w.out, "</"...), name...), ">\n"...)
}

// empty writes an element that holds nothing.
func (w *xmlWriter) empty(name string, attrs ...attr) {
	w.tag(name, attrs, false)
	w.out = append(w.out, "/>\n"...)
}

// inline writes an element that holds a short text.
func (w *xmlWriter) inline(name, text string) {
	text = w.open(name, text, nil)
	w.out = append(w.out, '>')
	if !simple(text) { // the replacer is slow
		text = inlineReplacer.Replace(text)
	}
	w.out = append(w.out, text...)
	w.end(name)
}

// section writes an element that holds a text as people read it: in a CDATA section, with a line end of its own before
// and behind it (field/flowstore.md row 7).
func (w *xmlWriter) section(name, text string, attrs ...attr) {
	text = w.open(name, text, attrs)
	w.out = append(append(w.out, '>'), cdataOpen+"\n"...)
	if strings.Contains(text, cdataClose) || strings.Contains(text, "\r") { // the replacer is slow, and long texts are plain
		text = cdataReplacer.Replace(text)
	}
	w.out = append(append(w.out, text...), "\n"+cdataClose...)
	w.end(name)
}

// open writes the tag of an element with a text up to its closing bracket, and gives the text as the element holds it.
func (w *xmlWriter) open(name, text string, attrs []attr) string {
	plain := writable(text)
	if escaped := w.tag(name, attrs, !plain && needsEscape(text)); escaped || !plain {
		return held(text, escaped)
	}
	return text
}

// tag writes a tag up to its closing bracket, and says whether the element is an escaped one.
func (w *xmlWriter) tag(name string, attrs []attr, escaped bool) bool {
	plain := !escaped
	for i := range attrs {
		if a := &attrs[i]; !simple(a.text) {
			plain, escaped = false, escaped || needsEscape(a.text)
		}
	}
	w.out = append(append(w.out, '<'), name...)
	for i := range attrs {
		a := &attrs[i]
		if a.absent() {
			continue
		}
		w.out = append(append(append(w.out, ' '), a.name...), `="`...)
		if plain {
			w.out = a.append(w.out)
		} else {
			w.out = append(w.out, attributeReplacer.Replace(held(string(a.append(nil)), escaped))...)
		}
		w.out = append(w.out, '"')
	}
	if escaped {
		w.out = append(w.out, ` esc="u"`...)
	}
	return escaped
}

// held is a text as an element holds it.
func held(text string, escaped bool) string {
	if text = valid(text); escaped {
		return escape(text)
	}
	return text
}

// simple says whether a value is of ASCII and needs nothing done to it, as nearly all are.
func simple(value string) bool {
	for i := range len(value) {
		switch b := value[i]; {
		case b < ' ', b >= utf8.RuneSelf, b == '&', b == '<', b == '>', b == '"', b == '\\':
			return false
		}
	}
	return true
}

// valid puts U+FFFD in place of bytes that are no UTF-8.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text, "\ufffd")
}
