package format

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
)

// EncodeFlow gives the file of a flow (seed 004, 5.1) in its canonical form: keys in one order, nodes by index,
// connections by from, then to, one value a line, so that a change of the flow is a small change of the file.
func EncodeFlow(f flow.Flow) []byte {
	w := &yamlWriter{out: make([]byte, 0, 1024+64*len(f.Members)+36*len(f.Edges))}
	w.plain("", "id", f.ID.String())
	w.text("", "name", f.Name)
	w.time("created", f.Created)
	w.time("updated", f.Updated)
	w.text("", "description", f.Description)
	w.story(f.Story)
	if f.Current != 0 {
		w.plain("", "current", strconv.Itoa(f.Current))
	}
	if f.Next > flow.NextOf(f) {
		w.plain("", "next", strconv.Itoa(f.Next))
	}
	w.heads(f.Heads)
	w.links(f.Links)
	w.members(f.Members)
	w.edges(f.Edges)
	return w.out
}

// yamlWriter appends keys, each on a line of its own.
type yamlWriter struct{ out []byte }

func (w *yamlWriter) heads(heads []flow.Head) {
	if len(heads) > 0 {
		w.out = append(w.out, "heads:\n"...)
	}
	for _, h := range heads {
		w.plain("  ", quote(h.Name), strconv.Itoa(h.Index))
	}
}

func (w *yamlWriter) links(links []flow.Link) {
	if len(links) > 0 {
		w.out = append(w.out, "links:\n"...)
	}
	for _, l := range links {
		w.plain("  - ", "flow", l.Flow.String())
		if l.From != 0 {
			w.plain("    ", "from", strconv.Itoa(l.From))
		}
	}
}

func (w *yamlWriter) members(members []flow.Member) {
	if len(members) == 0 {
		w.plain("", "nodes", "[]")
		return
	}
	w.out = append(w.out, "nodes:\n"...)
	for _, m := range members {
		w.out = strconv.AppendInt(append(w.out, entryIndex...), int64(m.Index), 10)
		w.out = appendID(append(w.out, entryID...), m.Node)
		w.out = append(w.out, '\n')
	}
}

func (w *yamlWriter) edges(edges []flow.Edge) {
	if len(edges) == 0 {
		w.plain("", "connections", "[]")
		return
	}
	w.out = append(w.out, "connections:\n"...)
	for _, e := range edges {
		w.out = strconv.AppendInt(append(w.out, entryFrom...), int64(e.From), 10)
		w.out = strconv.AppendInt(append(w.out, entryTo...), int64(e.To), 10)
		w.out = append(w.out, '\n')
		if e.Name != "" {
			w.out = append(append(append(w.out, entryName...), quote(e.Name)...), '\n')
		}
	}
}

func (w *yamlWriter) story(s flow.Story) {
	start := len(w.out)
	w.out = append(w.out, "story:\n"...)
	head := len(w.out)
	w.given("title", s.Title)
	w.list("keywords", s.Keywords)
	w.list("genres", s.Genres)
	w.given("synopsis", s.Synopsis)
	w.given("setting", s.Setting)
	w.given("plot", s.Plot)
	w.given("note", s.Note)
	w.given("dialogue_level", s.DialogueLevel)
	w.given("rating", s.Rating)
	if len(w.out) == head {
		w.out = w.out[:start]
	}
}

func (w *yamlWriter) given(key string, text *string) {
	if text != nil {
		w.text("  ", key, *text)
	}
}

func (w *yamlWriter) list(key string, items []string) {
	if len(items) == 0 {
		return
	}
	w.out = append(w.out, "  "+key+":\n"...)
	for _, item := range items {
		w.out = append(append(append(w.out, "    - "...), quote(item)...), '\n')
	}
}

// time writes a time that is known.
func (w *yamlWriter) time(key string, t time.Time) {
	if !t.IsZero() {
		w.plain("", key, formatTime(t))
	}
}

// plain writes a value that no YAML reader takes for something else.
func (w *yamlWriter) plain(indent, key, value string) {
	w.out = append(w.out, indent+key+": "+value+"\n"...)
}

// text writes any text: several lines as they are read, below each other; one line, or what YAML cannot show in such a
// block, in double quotes (cases/flowstore.md 20).
func (w *yamlWriter) text(indent, key, text string) {
	if !isBlock(text) {
		w.plain(indent, key, quote(text))
		return
	}
	mark := "|"
	if !strings.HasSuffix(text, "\n") {
		mark = "|-"
	}
	w.plain(indent, key, mark)
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != "" {
			w.out = append(append(w.out, indent...), "  "...)
		}
		w.out = append(append(w.out, line...), '\n')
	}
}

// isBlock says whether text has several lines and is the same in every reader when it stands in a block: nothing in it
// needs an escape, no line begins with a tab or is of blanks alone, the first begins with no blank, and at most one line
// end closes it.
func isBlock(text string) bool {
	if !strings.Contains(text, "\n") || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") || strings.HasSuffix(text, "\n\n") {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "\t") || (line != "" && strings.Trim(line, " \t") == "") {
			return false
		}
	}
	return strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !printable(r) }) < 0
}

// printable says whether YAML 1.1 and 1.2 both take a character as it is, within a line.
func printable(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029', r == '\ufeff', r == '\ufffe', r == '\uffff':
		return false
	}
	return r != utf8.RuneError
}
