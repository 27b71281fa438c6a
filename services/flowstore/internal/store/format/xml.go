package format

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// attr is an attribute of an element. One without a value is left out.
type attr struct{ name, value string }

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
	w.out = append(w.out, inlineReplacer.Replace(text)...)
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
	if writable(text) {
		if w.tag(name, attrs, false) {
			return escape(text)
		}
		return text
	}
	text = valid(text)
	if w.tag(name, attrs, needsEscape(text)) {
		return escape(text)
	}
	return text
}

// tag writes a tag up to its closing bracket, and says whether the element is an escaped one.
func (w *xmlWriter) tag(name string, attrs []attr, escaped bool) bool {
	for _, a := range attrs {
		escaped = escaped || !simple(a.value) && needsEscape(a.value)
	}
	w.out = append(append(w.out, '<'), name...)
	for _, a := range attrs {
		if a.value == "" {
			continue
		}
		value := a.value
		if escaped || !simple(value) {
			if value = valid(value); escaped {
				value = escape(value)
			}
			value = attributeReplacer.Replace(value)
		}
		w.out = append(append(append(w.out, ' '), a.name...), `="`...)
		w.out = append(append(w.out, value...), '"')
	}
	if escaped {
		w.out = append(w.out, ` esc="u"`...)
	}
	return escaped
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

// number is the value of an attribute that is left out where it is 0, which is: unknown.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func decimal(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
