package generation

import (
	"bytes"
	"context"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"
)

// path is a node and everything before it, as it was read.
type path struct {
	parents  map[uuid.UUID][]uuid.UUID
	problems map[uuid.UUID]*UnreadableError
}

// body gives the text that is continued: that of every node from the root to the parent, and what the writer adds.
// As long as there is one way only, one reading gives its shape and its text. Where branches were merged the way is known
// at its end, and the texts are read again: so nothing but the end of one text is ever held.
func (s *Service) body(ctx context.Context, ns string, req Request) (body, error) {
	var text body
	if req.Parent != uuid.Nil {
		err := s.walk(ctx, ns, req, func() func(PathNode) {
			text = body{}
			return text.addNode
		})
		if err != nil {
			return body{}, err
		}
	}
	text.add(req.Text)
	return text, nil
}

// walk gives the nodes on the one way to the parent, roots first, to what begin gives. It begins again where it turns out that there are
// other ways.
func (s *Service) walk(ctx context.Context, ns string, req Request, begin func() (take func(PathNode))) error {
	all, err := s.readPath(ctx, ns, req, nil, begin())
	if err != nil {
		return err
	}
	way, err := all.choose(req.Parent, req.Via)
	if err != nil {
		return err
	}
	if len(way) < len(all.parents) {
		_, err = s.readPath(ctx, ns, req, way, begin())
	}
	return err
}

// readPath reads the path to the parent. take gets the nodes on the way, all nodes where way is nil.
func (s *Service) readPath(ctx context.Context, ns string, req Request, way map[uuid.UUID]bool, take func(PathNode)) (path, error) {
	p := path{parents: map[uuid.UUID][]uuid.UUID{}, problems: map[uuid.UUID]*UnreadableError{}}
	for n, err := range s.flows.Path(ctx, ns, req.Flow, req.Parent) {
		if err != nil {
			return path{}, err
		}
		p.parents[n.ID] = n.Parents
		if n.Problem != "" {
			p.problems[n.ID] = &UnreadableError{Node: n.ID, Problem: n.Problem, Path: n.File}
		}
		if way == nil || way[n.ID] {
			take(n)
		}
	}
	return p, nil
}

// choose gives the nodes on the one way from a root to the node, following via where a node continues several.
// *AmbiguousError; *UnreadableError; *ViaError.
func (p path) choose(to uuid.UUID, via []uuid.UUID) (map[uuid.UUID]bool, error) {
	if err := offPath(via, func(id uuid.UUID) bool { _, listed := p.parents[id]; return listed }); err != nil {
		return nil, err
	}
	way := map[uuid.UUID]bool{}
	for at := to; at != uuid.Nil && !way[at]; {
		way[at] = true
		parents, listed := p.parents[at]
		if !listed {
			return nil, &UnreadableError{Node: at, Problem: "it is not in the listing of the path"}
		}
		if unreadable := p.problems[at]; unreadable != nil {
			return nil, unreadable
		}
		next, ok := follow(parents, via)
		if !ok {
			return nil, &AmbiguousError{Node: at, Parents: parents}
		}
		at = next
	}
	if err := offPath(via, func(id uuid.UUID) bool { return way[id] }); err != nil {
		return nil, err
	}
	return way, nil
}

// offPath is a *ViaError about the nodes that are not on the path, nil where all are.
func offPath(via []uuid.UUID, on func(uuid.UUID) bool) error {
	e := &ViaError{Via: via}
	for i, id := range via {
		if !on(id) {
			e.Wrong = append(e.Wrong, i)
		}
	}
	if e.Wrong == nil {
		return nil
	}
	return e
}

// follow gives the parent to go on with, the zero UUID at a root; ok is false where several would do.
func follow(parents, via []uuid.UUID) (next uuid.UUID, ok bool) {
	open := parents
	if len(parents) > 1 {
		open = slices.DeleteFunc(slices.Clone(parents), func(id uuid.UUID) bool { return !slices.Contains(via, id) })
	}
	switch len(open) {
	case 0:
		return uuid.Nil, len(parents) == 0
	case 1:
		return open[0], true
	default:
		return uuid.Nil, false
	}
}

// body is the end of a text, at most maxBody bytes of it, and how much of its head was left out. promptbuilder takes no
// more, and the window of no model holds as much.
type body struct {
	text []byte
	// characters and lines were left out.
	characters, lines int
}

func (b *body) addNode(n PathNode) {
	for _, t := range n.Texts {
		if t.Role == roleUser || t.Role == roleAssistant {
			b.add(t.Content)
		}
	}
}

func (b *body) add(text string) {
	b.text = append(b.text, text...)
	if over := len(b.text) - maxBody; over > 0 {
		b.drop(over)
	}
}

// drop leaves out at least n bytes of the head: up to the start of a line, or of a character where no line begins.
func (b *body) drop(n int) {
	for n < len(b.text) && !utf8.RuneStart(b.text[n]) {
		n++
	}
	if i := bytes.IndexByte(b.text[n:], '\n'); i >= 0 && n+i+1 < len(b.text) {
		n += i + 1
	}
	b.characters += utf8.RuneCount(b.text[:n])
	b.lines += bytes.Count(b.text[:n], []byte{'\n'})
	b.text = b.text[n:]
}

// report adds what was left out here to what promptbuilder left out, so that the cut counts the whole text.
func (b *body) report(p *Built) {
	if b.characters == 0 {
		return
	}
	cut := Cut{KeptCharacters: utf8.RuneCount(b.text), FirstKept: firstLine(b.text)}
	if p.Cut != nil {
		cut = *p.Cut
	}
	cut.Characters += b.characters
	cut.Lines += b.lines
	p.Cut = &cut
}

// firstLine is at most 80 characters of the first line, as in promptbuilder's Cut.
func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	runes := bytes.Runes(line[:min(len(line), 80*utf8.UTFMax)])
	return string(runes[:min(len(runes), 80)])
}
