package format

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// element says where in a node file an element stands, in bytes.
type element struct {
	// name is without a prefix, full is as written.
	name, full string
	// start is its first byte and nameEnd the one behind its name. inner and innerEnd enclose what is within; both are end
	// where the element is one tag (`<a/>`).
	start, nameEnd, inner, innerEnd, end int
	attrs                                []attrPlace
	children                             []*element
	// remarks are the comments and processing instructions directly within, each with its first byte and the one behind.
	remarks [][2]int
}

// attrPlace says where an attribute stands: the whole of it, from the blank before its name on, and its value in its quotes.
type attrPlace struct {
	name              string
	start, quote, end int
}

// treeOf finds the elements of a text that DecodeNode reads, below an element for the whole. nil: it does not parse.
func treeOf(text []byte) *element {
	d := xml.NewDecoder(bytes.NewReader(masked(text)))
	root := &element{innerEnd: len(text), end: len(text)}
	open := []*element{root}
	for {
		start := int(d.InputOffset())
		token, err := d.RawToken()
		if err != nil {
			if errors.Is(err, io.EOF) && len(open) == 1 {
				return root
			}
			return nil
		}
		end, in := int(d.InputOffset()), open[len(open)-1]
		switch token.(type) {
		case xml.StartElement:
			x := elementAt(text, start, end)
			in.children = append(in.children, x)
			open = append(open, x)
		case xml.EndElement:
			if in.innerEnd, in.end = start, end; len(open) == 1 {
				return nil
			}
			open = open[:len(open)-1]
		case xml.Comment, xml.ProcInst:
			in.remarks = append(in.remarks, [2]int{start, end})
		}
	}
}

// masked puts a sign of one byte in place of each byte that is not UTF-8, so that the others keep their places.
func masked(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	text = bytes.Clone(text)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			text[i] = '?'
		}
		i += n
	}
	return text
}

const blanks = " \t\r\n"

// elementAt takes a start tag apart. The parser has seen it: each attribute has a value, in quotes.
func elementAt(text []byte, start, end int) *element {
	x := &element{start: start, inner: end, nameEnd: start + 1 + bytes.IndexAny(text[start+1:end], blanks+"/>")}
	x.full = string(text[start+1 : x.nameEnd])
	x.name = local(x.full)
	for at := x.nameEnd; ; {
		name := at + len(text[at:end]) - len(bytes.TrimLeft(text[at:end], blanks))
		if text[name] == '/' || text[name] == '>' {
			return x
		}
		equals := name + bytes.IndexByte(text[name:end], '=')
		quote := equals + bytes.IndexAny(text[equals:end], `"'`)
		length := bytes.IndexByte(text[quote+1:end], text[quote])
		if equals < name || quote < equals || length < 0 {
			return x
		}
		a := attrPlace{local(string(bytes.TrimRight(text[name:equals], blanks))), at, quote, quote + length + 2}
		x.attrs = append(x.attrs, a)
		at = a.end
	}
}

// local is a name without its prefix: the reader looks at no more than that.
func local(name string) string {
	if prefix, rest, found := strings.Cut(name, ":"); found && prefix != "" && rest != "" {
		return rest
	}
	return name
}

// only gives the child of a name; nil where there is none. ok is false where there are several, which the reader merges.
func (x *element) only(names ...string) (child *element, ok bool) {
	list := x.named(names...)
	if len(list) == 0 {
		return nil, true
	}
	return list[0], len(list) == 1
}

func (x *element) named(names ...string) (list []*element) {
	for _, c := range x.children {
		for _, name := range names {
			if c.name == name {
				list = append(list, c)
			}
		}
	}
	return list
}

// attr gives the place of an attribute, from the last one of that name: it is the one that the reader takes.
func (x *element) attr(name string) (attrPlace, bool) {
	for i := len(x.attrs) - 1; i >= 0; i-- {
		if x.attrs[i].name == name {
			return x.attrs[i], true
		}
	}
	return attrPlace{}, false
}

// last gives the last child; nil where there is none.
func (x *element) last() *element {
	if len(x.children) == 0 {
		return nil
	}
	return x.children[len(x.children)-1]
}
