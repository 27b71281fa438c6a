package format

import (
	"bytes"
	"strconv"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// How an entry of the two long lists is written.
const (
	entryIndex = "  - index: "
	entryID    = "\n    id: "
	entryFrom  = "  - from: "
	entryTo    = "\n    to: "
	entryName  = "    name: "
)

// lists reads the two long lists at the end of a flow file, if they are just as EncodeFlow writes them, some fifty times
// as fast as a YAML parser does. head is what stands before them; ok is false for lists of another form.
func lists(text []byte) (head []byte, members []flow.Member, edges []flow.Edge, ok bool) {
	at := bytes.Index(text, []byte("\nnodes:"))
	if at < 0 {
		return nil, nil, nil, false
	}
	s := &scanner{rest: text[at+1:], ok: true}
	for s.list("nodes", entryIndex) {
		m := flow.Member{Index: s.int()}
		s.skip(entryID)
		m.Node, _ = parseID(string(s.take(36)))
		s.ok = s.ok && m.Node != [16]byte{}
		s.skip("\n")
		members = append(members, m)
	}
	for s.list("connections", entryFrom) {
		e := flow.Edge{From: s.int()}
		s.skip(entryTo)
		e.To = s.int()
		s.skip("\n")
		if s.has(entryName) {
			e.Name = s.quoted()
			s.skip("\n")
		}
		edges = append(edges, e)
	}
	return text[:at+1], members, edges, s.ok && len(s.rest) == 0
}

// scanner goes through a text of a known form. After the first thing that is otherwise, ok is false.
type scanner struct {
	rest []byte
	ok   bool
	// in is the list that is being read.
	in string
}

// list says whether another entry follows in the list with this key, and stands behind its beginning then.
func (s *scanner) list(key, entry string) bool {
	if s.in != key {
		s.in = key
		if s.has(key + ": []\n") {
			return false
		}
		s.skip(key + ":\n")
		s.ok = s.ok && bytes.HasPrefix(s.rest, []byte(entry))
	}
	return s.ok && s.has(entry)
}

func (s *scanner) has(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

func (s *scanner) skip(text string) { s.ok = s.has(text) && s.ok }

func (s *scanner) take(n int) []byte {
	n = min(n, len(s.rest))
	taken := s.rest[:n]
	s.rest = s.rest[n:]
	return taken
}

// int reads up to 9 digits without a zero in front.
func (s *scanner) int() int {
	n := 0
	for n < len(s.rest) && n < 9 && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	text := s.take(n)
	s.ok = s.ok && n > 0 && (text[0] != '0' || n == 1)
	value, _ := strconv.Atoi(string(text))
	return value
}

// quoted reads a text in double quotes in which nothing is escaped.
func (s *scanner) quoted() string {
	s.skip(`"`)
	text := string(s.take(max(bytes.IndexByte(s.rest, '"'), 0)))
	s.skip(`"`)
	s.ok = s.ok && quote(text) == `"`+text+`"`
	return text
}
