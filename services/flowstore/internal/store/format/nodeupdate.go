package format

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// UpdateNode is that of the zero Reader.
func UpdateNode(old []byte, n node.Node) (data []byte, kept bool) { return Reader{}.UpdateNode(old, n) }

// UpdateNode gives the file of a node that changed, from the file that it had: in a file that a person edited, comments,
// elements and attributes that we do not know, indentation, and every text that did not change stay as they are, byte for
// byte, and what changed is written in our form, and the id in lower case (field/flowstore.md rows 12 and 23). kept is false
// where that cannot be done: the old file is no node or another one, has an element twice of which a node has one, or its
// <generation> was edited and changes. Then data is the file written anew, and the old one needs to be kept beside it.
func (d Reader) UpdateNode(old []byte, n node.Node) (data []byte, kept bool) {
	fresh := EncodeNode(n)
	before, err := d.DecodeNode(old)
	if err != nil {
		return fresh, false
	}
	if bytes.Equal(EncodeNode(before), old) {
		return fresh, before.ID == n.ID
	}
	after, err := DecodeNode(fresh)
	if err != nil {
		return fresh, false
	}
	edited, ok := editNode(old, before, after)
	if !ok {
		return fresh, false
	}
	if got, err := d.DecodeNode(edited); err != nil || !bytes.Equal(EncodeNode(got), EncodeNode(after)) {
		return fresh, false
	}
	return edited, true
}

// editNode brings a file from one state of its node to another.
func editNode(old []byte, before, after node.Node) ([]byte, bool) {
	text, _ := body(old)
	tree := treeOf(text)
	if tree == nil || before.ID != after.ID {
		return nil, false
	}
	s := &nodeSplicer{splicer: splicer{file: text, opened: map[*element]bool{}}, ok: true}
	root := s.only(tree, "node")
	if root == nil {
		return nil, false
	}
	s.values(root, []change{{"id", s.value(root, "id"), after.ID.String()}, {"timestamp", formatTime(before.Created), formatTime(after.Created)}}, nil)
	contents := s.only(root, "contents")
	s.texts(root, contents, before.Texts, after.Texts)
	if m := s.only(root, "metadata"); m != nil {
		s.metadata(m, before, after)
	} else if metadataText(before) != metadataText(after) {
		s.insert(root, root.last(), func(w *xmlWriter) { w.metadata(after) })
	}
	if !s.ok {
		return nil, false
	}
	return slices.Concat(old[:len(old)-len(text)], s.result()), true
}

// nodeSplicer edits what a node has. ok is false after something that it cannot do.
type nodeSplicer struct {
	splicer
	ok bool
}

func (s *nodeSplicer) only(x *element, name string) *element {
	child, ok := x.only(name)
	s.ok = s.ok && ok
	return child
}

// change is a value before and after.
type change struct{ name, before, after string }

// changed is the change from one attribute to another of its name.
func changed(before, after attr) change {
	return change{cmp.Or(before.name, after.name), string(before.append(nil)), string(after.append(nil))}
}

// inner is the text of an element before and after, and how it is written.
type inner struct {
	before, after string
	write         func(text string) string
}

// values changes attributes and the text of an element. If it becomes an escaped one, all its values are written anew.
func (s *nodeSplicer) values(x *element, attrs []change, text *inner) {
	was := s.value(x, "esc") == "u"
	escaped := was || text != nil && needsEscape(text.after) || slices.ContainsFunc(attrs, func(c change) bool { return needsEscape(c.after) })
	form := func(value string) string {
		if escaped {
			return escape(value)
		}
		return value
	}
	for _, c := range attrs {
		if c.before != c.after || escaped != was {
			s.setAttr(x, c.name, form(c.after))
		}
	}
	if escaped != was {
		s.setAttr(x, "esc", "u")
	}
	if text != nil && (text.before != text.after || escaped != was) {
		s.setInner(x, text.write(form(text.after)))
	}
}

func section(text string) string {
	return cdataOpen + "\n" + cdataReplacer.Replace(text) + "\n" + cdataClose
}

// texts pairs the texts that are not the same at both ends one by one; what is left over was taken out or added.
func (s *nodeSplicer) texts(root, contents *element, before, after []node.Text) {
	if slices.Equal(before, after) {
		return
	}
	if contents == nil {
		s.insert(root, nil, func(w *xmlWriter) { w.contents(after) })
		return
	}
	list := contents.named("text", "content")
	if len(list) != len(before) {
		s.ok = false
		return
	}
	first, end := differing(before, after)
	gone, added := before[first:len(before)-end], after[first:len(after)-end]
	var behind *element
	if first > 0 {
		behind = list[first-1]
	}
	for i, t := range added {
		if i < len(gone) {
			behind = list[first+i]
			s.text(behind, gone[i], t)
			continue
		}
		s.insert(contents, behind, func(w *xmlWriter) { w.text(t) })
	}
	for i := len(added); i < len(gone); i++ {
		s.remove(list[first+i])
	}
}

func (s *nodeSplicer) text(x *element, before, after node.Text) {
	s.values(x, []change{
		{"role", before.Role, after.Role}, changed(number("count", before.Count), number("count", after.Count)),
		changed(decimal("duration", before.Duration), decimal("duration", after.Duration)),
		changed(decimal("rate", before.Rate), decimal("rate", after.Rate)),
	}, &inner{before.Content, after.Content, section})
}

// differing says how many items two lists have in common at the beginning, and at the end.
func differing[T comparable](a, b []T) (first, end int) {
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	for end < min(len(a), len(b))-first && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return first, end
}

func (s *nodeSplicer) metadata(m *element, before, after node.Node) {
	s.short(m, "model", before.Model, after.Model, inlineReplacer.Replace, func(w *xmlWriter) { w.inline("model", after.Model) })
	s.generation(m, before.Generation, after.Generation)
	s.summary(m, before.Summary, after.Summary)
	s.tags(m, before.Tags, after.Tags)
	s.short(m, "score", scoreOf(before.Score), scoreOf(after.Score), inlineReplacer.Replace, func(w *xmlWriter) { w.inline("score", scoreOf(after.Score)) })
	s.short(m, "note", before.Note, after.Note, section, func(w *xmlWriter) { w.section("note", after.Note) })
}

// short changes an element that is a text and nothing else. An emptied one stays where somebody added something to it.
func (s *nodeSplicer) short(m *element, name, before, after string, form func(string) string, write func(*xmlWriter)) {
	x := s.only(m, name)
	switch {
	case before == after:
	case x == nil:
		s.insert(m, m.last(), write)
	case after != "":
		s.values(x, nil, &inner{before, after, form})
	case len(x.remarks) == 0 && (len(x.attrs) == 0 || len(x.attrs) == 1 && x.attrs[0].name == "esc"):
		s.remove(x)
	default:
		s.setInner(x, "")
	}
}

func (s *nodeSplicer) summary(m *element, before, after node.Summary) {
	x := s.only(m, "summary")
	if before.Text == after.Text && before.Stale == after.Stale && builtAt(before) == builtAt(after) && before.Source == after.Source {
		return
	}
	if x == nil {
		s.insert(m, m.last(), func(w *xmlWriter) { w.summary(after) })
		return
	}
	// What the file says counts, not what it is taken for where there is no text.
	said := strconv.FormatBool(s.value(x, "updated") != "false")
	s.values(x, []change{{"updated", said, strconv.FormatBool(after.Stale)}, {"last_built", builtAt(before), builtAt(after)}, {"source", before.Source, after.Source}},
		&inner{before.Text, after.Text, func(text string) string {
			if text == "" {
				return ""
			}
			return section(text)
		}})
}

// tags takes out and puts in single tags. The attribute that the original of seed 004 writes becomes an element.
func (s *nodeSplicer) tags(m *element, before, after []string) {
	x := s.only(m, "tags")
	if slices.Equal(before, after) {
		return
	}
	if x == nil {
		s.insert(m, m.last(), func(w *xmlWriter) { w.list("tags", "tag", after) })
		return
	}
	if s.value(x, "tag") != "" {
		s.setAttr(x, "tag", "")
		before = before[:len(before)-1]
	}
	list := x.named("tag")
	if len(list) != len(before) {
		s.ok = false
		return
	}
	first, end := differing(before, after)
	for _, tag := range list[first : len(list)-end] {
		s.remove(tag)
	}
	var behind *element
	if first > 0 {
		behind = list[first-1]
	}
	for _, tag := range after[first : len(after)-end] {
		s.insert(x, behind, func(w *xmlWriter) { w.inline("tag", tag) })
	}
}

// generation changes as a whole, and only where nobody edited it.
func (s *nodeSplicer) generation(m *element, before, after *node.Generation) {
	x := s.only(m, "generation")
	was, is := generationText(before), generationText(after)
	switch {
	case was == is:
	case x == nil:
		s.insert(m, m.last(), func(w *xmlWriter) { w.generation(after) })
	case string(s.file[x.start:x.end])+"\n" != was:
		s.ok = false
	case after == nil:
		s.remove(x)
	default:
		s.put(x.start, x.end, is[:len(is)-1])
	}
}

func metadataText(n node.Node) string {
	w := &xmlWriter{}
	w.metadata(n)
	return string(w.out)
}

func generationText(g *node.Generation) string {
	if g == nil {
		return ""
	}
	w := &xmlWriter{}
	w.generation(g)
	return string(w.out)
}
