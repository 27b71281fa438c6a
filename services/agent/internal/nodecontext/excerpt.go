package nodecontext

import (
	"context"
	"errors"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

// The bounds of what promptbuilder is told.
const (
	// maxParents is how many bytes of text all parents may have: with the prompt they are one message of 16 MiB at most.
	maxParents = 11 << 20
	// A line shows at most 200 characters of a summary and 100 of the texts; a few more decide whether that is all.
	summaryShown, openingShown = 210, 110
)

// material reads as much of the nodes as can be printed: parents in full, of the others one line.
func (s *Service) material(ctx context.Context, ns string, lines, parents, refs []Node) (Material, error) {
	m := Material{}
	add := func(e Excerpt, to *[]uuid.UUID) {
		m.Nodes, *to = append(m.Nodes, e), append(*to, e.ID)
	}
	for _, n := range lines {
		e, err := s.line(ctx, ns, n)
		if err != nil {
			return Material{}, err
		}
		add(e, &m.Path)
	}
	size := 0
	for _, n := range parents {
		whole, err := s.read(ctx, ns, n.ID, Everything)
		if err != nil {
			return Material{}, err
		}
		e := whole.full()
		if size += len(e.Prompt) + len(e.Answer); size > maxParents {
			return Material{}, &TooLargeError{Bytes: size, Limit: maxParents}
		}
		add(e, &m.Path)
		m.Parents = append(m.Parents, e.ID)
	}
	for _, n := range refs {
		e, err := s.line(ctx, ns, n)
		if err != nil {
			return Material{}, err
		}
		add(e, &m.Refs)
	}
	return m, nil
}

const (
	roleAssistant = "assistant"
	joint         = "\n\n"
)

// sides are the texts of the prompt, what its user, the system and tools said, and those of the answer.
func (n Node) sides() (prompt, answer []Text) {
	for _, t := range n.Texts {
		if t.Role == roleAssistant {
			answer = append(answer, t)
		} else {
			prompt = append(prompt, t)
		}
	}
	return prompt, answer
}

// Said is what was asked and what was answered, each in the order of the texts (field/systemprompt-rules.md 4).
func (n Node) Said() (prompt, answer string) {
	asked, answered := n.sides()
	return joined(asked), joined(answered)
}

// full is a node with all of its texts.
func (n Node) full() Excerpt {
	e := n.bare()
	e.Prompt, e.Answer = n.Said()
	e.Summary, _, _ = clip(summaryShown, n.Summary)
	return e
}

func joined(texts []Text) string {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = t.Content
	}
	return strings.Join(all, joint)
}

func (n Node) bare() Excerpt { return Excerpt{ID: n.ID, Stale: n.Stale, Tags: n.Tags} }

// line is a node as far as a line can show it. Where the beginnings are too short for that, more is read.
func (s *Service) line(ctx context.Context, ns string, n Node) (Excerpt, error) {
	e, missing := n.excerpt()
	for _, much := range []Much{WholeSummary, Everything} {
		if missing == Beginnings || much < missing {
			continue
		}
		var err error
		if n, err = s.read(ctx, ns, n.ID, much); err != nil {
			return Excerpt{}, err
		}
		e, missing = n.excerpt()
	}
	return e, nil
}

// Lines gives nodes as far as a line can show them, in their order, each once; what is not there any more is left out.
func (s *Service) Lines(ctx context.Context, ns string, ids []uuid.UUID) (all []Excerpt, err error) {
	seen := map[uuid.UUID]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		n, err := s.flows.Glance(ctx, ns, id, Beginnings)
		if errors.Is(err, ErrNoNode) {
			continue
		}
		if err != nil {
			return nil, err
		}
		e, err := s.line(ctx, ns, n)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// read reads a node that was there a moment ago.
func (s *Service) read(ctx context.Context, ns string, id uuid.UUID, much Much) (Node, error) {
	n, err := s.flows.Glance(ctx, ns, id, much)
	if errors.Is(err, ErrNoNode) {
		err = &UnreadableError{Node: id, Problem: "it was deleted while the context was made"}
	}
	return n, err
}

// excerpt cuts a node to what its line can show, and says what must be read for that; Beginnings where it was read.
func (n Node) excerpt() (e Excerpt, missing Much) {
	e = n.bare()
	var enough bool
	if e.Summary, enough, _ = clip(summaryShown, n.Summary); !n.Stale && !enough {
		return e, WholeSummary
	}
	if !n.Stale && e.Summary != "" {
		return e, Beginnings
	}
	prompt, answer := n.sides()
	var full bool
	if e.Prompt, enough, full = clip(openingShown, prompt...); enough && !full {
		e.Answer, enough, _ = clip(openingShown, answer...)
	}
	if !enough {
		return e, Everything
	}
	return e, Beginnings
}

// clip gives the beginning of some texts as one line has it: at least n characters of them, as many as there are where they are
// fewer. What a line leaves out, controls and all but the first of several blanks, is left out here, too, so that it takes no room
// (field/systemprompt-rules.md 0). enough is false where that needs more than was read; full says that n characters are there.
func clip(n int, texts ...Text) (line string, enough, full bool) {
	var b strings.Builder
	blank, size := false, 0
	for _, t := range texts {
		for _, r := range t.Content {
			switch {
			case strings.ContainsRune(blanks, r):
				blank = true
				continue
			case unicode.In(r, unicode.Cc, unicode.Cf) && r != zwnj && r != zwj:
				continue
			}
			if blank && size > 0 {
				b.WriteByte(' ')
				size++
			}
			b.WriteRune(r)
			blank = false
			if size++; size >= n {
				return b.String(), true, true
			}
		}
		if t.Cut {
			return b.String(), false, false
		}
		blank = true // between two texts
	}
	return b.String(), true, false
}

const (
	blanks    = " \t\n\r\u2028\u2029"
	zwnj, zwj = '\u200c', '\u200d'
)
