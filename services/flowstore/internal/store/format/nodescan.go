package format

import "bytes"

// scanNode reads a node file that is just as EncodeNode writes it, some ten times as fast as an XML parser does. ok is
// false for a file of another form, which parseXML then reads: what both take, both read alike.
func scanNode(text []byte, skim bool) (raw *xmlNode, ok bool) {
	if bytes.IndexByte(text, '\r') >= 0 || !writable(text) {
		return nil, false
	}
	s := &nodeScanner{scanner: scanner{rest: text, ok: true}, skim: skim}
	raw = &xmlNode{}
	s.skip(xmlHead + "<node")
	s.attr("id", &raw.ID)
	s.attr("timestamp", &raw.Timestamp)
	s.skip(">\n<contents>\n")
	for s.open("text") {
		raw.Contents.Items = append(raw.Contents.Items, xmlText{})
		t := &raw.Contents.Items[len(raw.Contents.Items)-1]
		t.XMLName.Local = "text"
		s.attr("role", &t.Role)
		s.attr("count", &t.Count)
		s.attr("duration", &t.Duration)
		s.attr("rate", &t.Rate)
		s.section("text", &t.xmlElement)
	}
	s.skip("</contents>\n<metadata>\n")
	s.metadata(raw)
	s.skip("</metadata>\n</node>\n")
	return raw, s.ok && len(s.rest) == 0
}

// nodeScanner goes through a node file of the written form.
type nodeScanner struct {
	scanner
	// skim passes over the texts of elements without making strings of them.
	skim bool
}

func (s *nodeScanner) metadata(raw *xmlNode) {
	m := &raw.Metadata
	s.inline("model", &m.Model)
	if s.open("generation") {
		m.Generation = &xmlGeneration{}
		s.generation(m.Generation)
	}
	s.skip("<summary")
	s.attr("updated", &m.Summary.Updated)
	s.attr("last_built", &m.Summary.LastBuilt)
	s.attr("source", &m.Summary.Source)
	if !s.has("/>\n") {
		s.section("summary", &m.Summary.xmlElement)
	}
	if s.has("<tags>\n") {
		m.Tags.Tags = s.inlines("tag")
		s.skip("</tags>\n")
	}
	s.inline("score", &m.Score)
	if s.open("note") {
		s.section("note", &m.Note)
	}
}

// open says whether an element begins here, and stands behind its name then.
func (s *nodeScanner) open(name string) bool {
	end := 1 + len(name)
	if !s.ok || len(s.rest) <= end || s.rest[0] != '<' || string(s.rest[1:end]) != name {
		return false
	}
	if c := s.rest[end]; c != ' ' && c != '>' && c != '/' {
		return false
	}
	s.rest = s.rest[end:]
	return true
}

// attr reads an attribute, if it comes next.
func (s *nodeScanner) attr(name string, dst *string) bool {
	start := len(name) + len(` ="`)
	if len(s.rest) < start || s.rest[0] != ' ' || string(s.rest[1:1+len(name)]) != name || s.rest[start-2] != '=' || s.rest[start-1] != '"' {
		return false
	}
	length := bytes.IndexByte(s.rest[start:], '"')
	if length <= 0 {
		s.ok = false
		return false
	}
	*dst = s.plain(s.rest[start:start+length], ">")
	s.rest = s.rest[start+length+1:]
	return true
}

// given reads an attribute of which it matters whether it is there.
func (s *nodeScanner) given(name string) *string {
	var text string
	if !s.attr(name, &text) {
		return nil
	}
	return &text
}

// part reads an element of attributes, if it comes next.
func (s *nodeScanner) part(name string, attrs ...field) {
	if s.open(name) {
		s.attrs(attrs...)
		s.skip("/>\n")
	}
}

// field is where the value of an attribute goes.
type field struct {
	name string
	dst  *string
}

func (s *nodeScanner) attrs(attrs ...field) {
	for _, a := range attrs {
		s.attr(a.name, a.dst)
	}
}

// inline reads an element with a short text, if it comes next.
func (s *nodeScanner) inline(name string, dst *xmlElement) bool {
	if !s.open(name) {
		return false
	}
	s.attr("esc", &dst.Esc)
	s.skip(">")
	text := s.take(max(bytes.IndexByte(s.rest, '<'), 0))
	dst.Text = s.plain(text, "")
	s.close(name)
	return true
}

func (s *nodeScanner) inlines(name string) []xmlElement {
	var list []xmlElement
	for e := (xmlElement{}); s.inline(name, &e); e = (xmlElement{}) {
		list = append(list, e)
	}
	s.ok = s.ok && len(list) > 0
	return list
}

func (s *nodeScanner) close(name string) {
	s.skip("</")
	s.skip(name)
	s.skip(">\n")
}

// section reads an element with a text of any length from the end of its own attributes on.
func (s *nodeScanner) section(name string, dst *xmlElement) {
	s.attr("esc", &dst.Esc)
	s.skip(">" + cdataOpen)
	var text []byte
	for parts := 0; s.ok; parts++ {
		end := bytes.Index(s.rest, []byte(cdataClose))
		if end < 0 {
			s.ok = false
			return
		}
		part := s.rest[:end]
		s.rest = s.rest[end+len(cdataClose):]
		if parts > 0 {
			part = append(text, part...)
		}
		text = part[:len(part):len(part)] // the next append copies: this may be a piece of the file
		if s.has("&#13;") {
			text = append(text, '\r')
		} else if !bytes.HasPrefix(s.rest, []byte(cdataOpen)) {
			break
		}
		s.skip(cdataOpen)
	}
	if !s.skim {
		dst.Text = string(text)
	}
	s.close(name)
}

// plain gives a value as it was before it was written. A bracket or a blank that is not written like that is none of ours.
func (s *nodeScanner) plain(raw []byte, allowed string) string {
	escaped := false
	for _, b := range raw {
		switch {
		case b == '&':
			escaped = true
		case b == '<' || b == '>' && allowed == "" || b < ' ':
			s.ok = false
		}
	}
	if !escaped {
		return string(raw)
	}
	return s.unescaped(raw)
}

// references are what the writer puts in place of a character.
var references = map[string]byte{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "#9": '\t', "#10": '\n', "#13": '\r'}

func (s *nodeScanner) unescaped(raw []byte) string {
	out := make([]byte, 0, len(raw))
	for {
		before, rest, found := bytes.Cut(raw, []byte("&"))
		out = append(out, before...)
		if !found {
			return string(out)
		}
		name, behind, ended := bytes.Cut(rest, []byte(";"))
		b, known := references[string(name)]
		s.ok = s.ok && ended && known
		out, raw = append(out, b), behind
	}
}
