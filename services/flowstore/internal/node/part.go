package node

import (
	"fmt"
	"unicode/utf8"
)

// MaxPart is the longest part of a text that is given at once, in code points: of four bytes each, they and the rest of a node
// are less than the 4 MiB that gRPC clients receive by default (cases/flowstore.md 34).
const MaxPart = 1_000_000

// Part is a part of a text.
type Part struct {
	// Text is the place of the text, from 0.
	Text int
	// Offset is where it begins, Length how long it is, in code points; 0 is MaxPart. It ends with the text.
	Offset, Length int
}

// OutsideError says that a node has no such part.
type OutsideError struct {
	// InText says that the text is there, but ends before the part.
	InText bool
	// At is where the part was to be, Most the last place where it could.
	At, Most int
}

func (e *OutsideError) Error() string {
	if e.InText {
		return fmt.Sprintf("a part from character %d on was asked for, and the text has %d", e.At, e.Most)
	}
	return fmt.Sprintf("text %d was asked for, and the last one is %d", e.At, e.Most)
}

// Part gives a node in which only one text has content, a part of its own. *OutsideError.
func (n Node) Part(p Part) (Brief, error) {
	if p.Text < 0 || p.Text >= len(n.Texts) {
		return Brief{}, &OutsideError{At: p.Text, Most: len(n.Texts) - 1}
	}
	b := Brief{Node: n, Characters: make([]int, len(n.Texts)), Whole: n.Etag()}
	b.Generation, b.Texts = nil, make([]Text, len(n.Texts))
	for i, t := range n.Texts {
		b.Characters[i] = utf8.RuneCountInString(t.Content)
		b.Texts[i] = t
		b.Texts[i].Content = ""
	}
	whole := n.Texts[p.Text].Content
	if most := b.Characters[p.Text]; p.Offset < 0 || p.Offset > most {
		return Brief{}, &OutsideError{InText: true, At: p.Offset, Most: most}
	}
	length := MaxPart
	if p.Length > 0 {
		length = min(p.Length, MaxPart)
	}
	rest := whole[bytesOf(whole, p.Offset):]
	b.Texts[p.Text].Content = rest[:bytesOf(rest, length)]
	return b, nil
}

// bytesOf is how many bytes the first characters of a text take.
func bytesOf(text string, characters int) int {
	for at := range text {
		if characters == 0 {
			return at
		}
		characters--
	}
	return len(text)
}
