package envelope

import (
	"slices"
	"strings"
)

// candidate is something in an answer that is, or means to be, an object.
type candidate struct {
	node    *node
	reasons []Reason
	repairs []Repair
	// broken is why it is none.
	broken *Reason
	fenced bool
	// commas and comments were passed over inside of it.
	commas, comments int
}

// finder goes through an answer once. An object that can be read is one piece to it: fences and tags in its strings are text.
type finder struct {
	src   string
	at    int
	found []candidate
	// fence says that the search is inside of a fence that may hold JSON.
	fence bool
	// prose, thought: there was text, or thinking, around. stray: there was half of an object or of a list around.
	prose, thought, stray bool
	// lists is how many square brackets are open in the text around.
	lists int
	// open says that the answer ended while the model was thinking.
	open     bool
	attempts int
	// end is the last answer of limit.
	end int
}

// find gives the one object of an answer, or why there is not exactly one.
func find(src string) (candidate, []Reason) {
	f := finder{src: src}
	for f.at < len(src) && f.attempts <= MaxObjects && !f.open {
		f.next()
	}
	if reason, bad := f.refuse(); bad {
		return candidate{}, []Reason{reason}
	}
	c := f.found[0]
	for _, r := range []struct {
		made   bool
		repair Repair
	}{
		{f.thought, ThinkStripped}, {c.fenced, FenceChosen}, {f.prose, ProseIgnored},
		{c.commas > 0, CommaRemoved}, {c.comments > 0, CommentsRemoved},
	} {
		if r.made {
			c.repairs = append(c.repairs, r.repair)
		}
	}
	return c, nil
}

func (f *finder) refuse() (Reason, bool) {
	switch {
	case f.attempts > MaxObjects:
		return Reason{Code: TooManyObjects, Want: count(MaxObjects)}, true
	case f.open:
		return Reason{Code: ThinkingOpen}, true
	case len(f.found) > 1:
		return Reason{Code: SeveralObjects, Found: count(len(f.found))}, true
	case len(f.found) == 1 && f.found[0].broken != nil:
		return *f.found[0].broken, true
	case len(f.found) == 1 && f.stray:
		return Reason{Code: StrayText}, true
	case len(f.found) == 1:
		return Reason{}, false
	case f.prose:
		return Reason{Code: NoObject}, true
	case f.thought:
		return Reason{Code: OnlyThinking}, true
	}
	return Reason{Code: Empty}, true
}

// tags are around what a model thinks before it answers.
var tags = []string{"think", "thinking", "thought", "reasoning"}

// next goes on by one piece.
func (f *finder) next() {
	rest := f.src[f.at:]
	if name, n := tagAt(rest, "<"); n > 0 {
		f.think(name)
		return
	}
	if _, n := tagAt(rest, "</"); n > 0 {
		// What stands before it was thinking, whether it was opened or not.
		*f = finder{src: f.src, at: f.at + n, thought: true, attempts: f.attempts}
		return
	}
	switch {
	case strings.HasPrefix(rest, fence):
		f.fences()
	case rest[0] == '{':
		f.brace()
	case rest[0] == '[' && strings.HasPrefix(strings.TrimLeft(rest[1:], " \t\r\n"), "{"):
		f.add(candidate{broken: &Reason{Code: NotAnObject}})
		f.pass()
	case rest[0] == '[':
		f.lists++
		f.prose = true
		f.at++
	case rest[0] == ']':
		f.lists = max(0, f.lists-1)
		f.prose = true
		f.at++
	case rest[0] == '}':
		f.stray = true
		f.at++
	default:
		n := strings.IndexAny(rest[1:], "<`{[]}") + 1
		if n == 0 {
			n = len(rest)
		}
		f.prose = f.prose || strings.TrimSpace(rest[:n]) != ""
		f.at += n
	}
}

// maxTag is the length of the longest tag of thinking that is known, in bytes.
const maxTag = 128

// tagAt gives the name and the length of the tag of thinking that a text begins with. It may have blanks and attributes.
func tagAt(s, opening string) (name string, length int) {
	if !strings.HasPrefix(s, opening) {
		return "", 0
	}
	inner, _, closed := strings.Cut(s[len(opening):min(len(s), maxTag)], ">")
	if words := strings.Fields(inner); len(words) > 0 {
		name = strings.ToLower(words[0])
	}
	if !closed || !slices.Contains(tags, name) {
		return "", 0
	}
	return name, len(opening) + len(inner) + len(">")
}

// think passes over thinking that was opened.
func (f *finder) think(name string) {
	f.thought = true
	for at := f.at; ; at++ {
		next := strings.Index(f.src[at:], "</")
		if next < 0 {
			f.open = true
			return
		}
		at += next
		if closing, n := tagAt(f.src[at:], "</"); closing == name {
			f.at = at + n
			return
		}
	}
}

// limit is where a piece that is no object must end: at the next end of thinking, which makes all before it thinking.
func (f *finder) limit() int {
	if f.end > f.at {
		return f.end
	}
	for f.end = f.at; ; f.end++ {
		n := strings.Index(f.src[f.end:], "</")
		if n < 0 {
			f.end = len(f.src)
			return f.end
		}
		f.end += n
		if _, tag := tagAt(f.src[f.end:], "</"); tag > 0 {
			return f.end
		}
	}
}

const fence = "```"

// fences opens or closes a fence. One of another language is passed over as a whole: what is in it is an example (c16).
func (f *finder) fences() {
	rest := f.src[f.at:]
	info := strings.TrimLeft(rest, "`")
	ticks := rest[:len(rest)-len(info)]
	f.at += len(ticks)
	if f.fence {
		f.fence = false
		return
	}
	info = strings.TrimLeft(info, " \t")
	end := strings.IndexFunc(info, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_+.#-", r)
	})
	if end < 0 {
		end = len(info)
	}
	switch strings.ToLower(info[:end]) {
	case "json", "jsonc", "json5":
		f.at += len(f.src[f.at:]) - len(info) + end
		fallthrough
	case "":
		f.fence = true
	default:
		f.prose = true
		limit := f.limit()
		if n := strings.Index(f.src[f.at:limit], ticks); n >= 0 {
			limit = f.at + n + len(ticks)
		}
		f.at = limit
	}
}

// brace reads the object that begins here. Braces of prose, as in {name}, are passed over.
func (f *finder) brace() {
	if !looksLikeObject(f.src[f.at+1:]) {
		f.prose = true
		f.stray = !f.pass() || f.stray
		return
	}
	f.attempts++
	before := strings.TrimRight(f.src[:f.at], " \t\r\n")
	f.stray = f.stray || f.lists > 0 || strings.HasSuffix(before, `":`)
	p := parser{src: f.src, at: f.at}
	n, bad := p.value("")
	if bad != nil {
		line, column := position(f.src, bad.at)
		f.add(candidate{broken: &Reason{Code: bad.code, Line: line, Column: column, Found: excerpt(f.src, bad.at), Want: bad.want}})
		f.pass()
		return
	}
	f.at = n.end
	f.add(candidate{node: n, reasons: p.reasons, commas: p.commas, comments: p.comments})
}

func (f *finder) add(c candidate) {
	c.fenced = f.fence
	f.found = append(f.found, c)
}

// looksLikeObject says that what follows a brace is a key, in whatever form, or the end. Broken ones count too: a model that
// wrote two objects, one of them broken, has not said which it means.
func looksLikeObject(s string) bool {
	s = strings.TrimLeft(s, " \t\r\n{")
	if s == "" {
		return true
	}
	for _, quote := range []string{"}", ",", "//", "/*", `"`, `'`, "“", "”", "‘", "’", "「", "＂"} {
		if strings.HasPrefix(s, quote) {
			return true
		}
	}
	key := strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-")
	return len(key) < len(s) && strings.HasPrefix(strings.TrimLeft(key, " \t"), ":")
}

// pass goes to the end of the brackets that begin here, or, where they do not end, to the limit, and says whether they end.
func (f *finder) pass() bool {
	limit := f.limit()
	depth, quoted := 0, false
	for at := f.at; at < limit; at++ {
		switch c := f.src[at]; {
		case quoted && c == '\\':
			at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
			if depth == 0 {
				f.at = at + 1
				return true
			}
		}
	}
	f.at = limit
	return false
}
