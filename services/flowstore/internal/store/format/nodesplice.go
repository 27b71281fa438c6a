package format

import (
	"bytes"
	"cmp"
	"slices"
)

// splicer collects the places of a node file that change.
type splicer struct {
	file  []byte
	edits []edit
	// closings are put behind what is inserted at the same place.
	closings []edit
	opened   map[*element]bool
}

// edit puts a text in place of the bytes from start to end.
type edit struct {
	start, end int
	text       string
}

// result gives the file with all its edits.
func (s *splicer) result() []byte {
	edits := slices.Concat(s.edits, s.closings)
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, s.file[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, s.file[at:]...)
}

func (s *splicer) put(start, end int, text string) {
	s.edits = append(s.edits, edit{start, end, text})
}

// isTag says whether an element is one tag (`<a/>`).
func (s *splicer) isTag(x *element) bool { return s.file[x.inner-2] == '/' }

// value gives an attribute as it is written.
func (s *splicer) value(x *element, name string) string {
	a, ok := x.attr(name)
	if !ok {
		return ""
	}
	return string(s.file[a.quote+1 : a.end-1])
}

// setAttr gives an attribute a value; an empty one removes it.
func (s *splicer) setAttr(x *element, name, value string) {
	written := `"` + attributeReplacer.Replace(value) + `"`
	a, ok := x.attr(name)
	switch {
	case ok && value == "":
		s.put(a.start, a.end, "")
	case ok:
		s.put(a.quote, a.end, written)
	case value != "":
		end := x.nameEnd
		if n := len(x.attrs); n > 0 {
			end = x.attrs[n-1].end
		}
		s.put(end, end, " "+name+"="+written)
	}
}

// setInner puts a text in place of what is within an element; comments stay before it.
func (s *splicer) setInner(x *element, text string) {
	if s.isTag(x) {
		s.put(x.inner-2, x.inner, ">"+text+"</"+x.full+">")
		return
	}
	var remarks []byte
	for _, r := range x.remarks {
		remarks = append(remarks, s.file[r[0]:r[1]]...)
	}
	s.put(x.inner, x.innerEnd, string(remarks)+text)
}

// remove takes an element out, with the blanks before it on its line.
func (s *splicer) remove(x *element) { s.put(x.start-len(s.lead(x)), x.end, "") }

// lead is what is before an element on its line, with the line end, if that is nothing but blanks.
func (s *splicer) lead(x *element) string {
	line := bytes.LastIndexByte(s.file[:x.start], '\n')
	if line < 0 || len(bytes.Trim(s.file[line:x.start], blanks)) > 0 {
		return ""
	}
	return string(s.file[line:x.start])
}

// insert puts an element, as the writer writes it, behind a child of its parent, on a line of its own where the children have
// such; behind nil it becomes the first.
func (s *splicer) insert(parent, behind *element, write func(*xmlWriter)) {
	w := &xmlWriter{}
	write(w)
	text, at := string(bytes.TrimSuffix(w.out, []byte("\n"))), parent.inner
	switch {
	case behind != nil:
		text, at = s.lead(behind)+text, behind.end
	case len(parent.children) > 0:
		text = s.lead(parent.children[0]) + text
	default:
		text = "\n" + text
		s.open(parent)
	}
	s.put(at, at, text)
}

// open makes room within an element that has no children.
func (s *splicer) open(x *element) {
	if s.opened[x] {
		return
	}
	s.opened[x] = true
	switch {
	case s.isTag(x):
		s.put(x.inner-2, x.inner, ">")
		s.closings = append(s.closings, edit{x.inner, x.inner, "\n</" + x.full + ">"})
	case x.inner == x.innerEnd:
		s.closings = append(s.closings, edit{x.inner, x.inner, "\n"})
	}
}
