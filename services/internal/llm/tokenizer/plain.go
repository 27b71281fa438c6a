package tokenizer

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// plain cuts text[start:end], in which there are no added tokens.
func (v *vocabulary) plain(s *scratch, text string, start, end int) {
	if start == end {
		return
	}
	stretch, from := text[start:end], len(s.out)
	if v.compose && !norm.NFC.IsNormalString(stretch) {
		composed := norm.NFC.String(stretch)
		v.cut(s, composed, start == 0)
		uncompose(s.out[from:], stretch)
	} else {
		v.cut(s, stretch, start == 0)
	}
	for i := range s.out[from:] {
		s.out[from+i].end += int32(start)
	}
}

// uncompose turns ends in the composed form of a text into ends in the text itself. An end inside of what is composed
// from several characters becomes the end of these.
func uncompose(tokens []token, text string) {
	var iter norm.Iter
	iter.InitString(norm.NFC, text)
	composed := int32(0)
	for i := range tokens {
		for composed < tokens[i].end && !iter.Done() {
			composed += int32(len(iter.Next()))
		}
		tokens[i].end = int32(iter.Pos())
	}
}

// cut gives the tokens of a text without added tokens; first: nothing stands before it.
func (v *vocabulary) cut(s *scratch, text string, first bool) {
	if v.characters {
		v.cutCharacters(s, text, first)
		return
	}
	piece := func(start, end int) { v.piece(s, text[start:end], start) }
	if v.split == nil {
		piece(0, len(text))
		return
	}
	v.split.each(text, piece)
}

// piece gives the tokens of a piece that begins at the byte start.
func (v *vocabulary) piece(s *scratch, piece string, start int) {
	if v.known(s, piece, start) {
		return
	}
	from, last := 0, rune(-1)
	for i, r := range piece {
		if last >= 0 && !v.borders.inside(last, r, piece[i-1], piece[i]) {
			v.part(s, piece[from:i], start+from)
			from = i
		}
		last = r
	}
	v.part(s, piece[from:], start+from)
}

// part gives the tokens of a part that no token crosses the ends of.
func (v *vocabulary) part(s *scratch, part string, start int) {
	if !v.known(s, part, start) {
		v.emit(s, part, start, v.join(s, part))
	}
}

// known gives the token of a text that is one.
func (v *vocabulary) known(s *scratch, text string, start int) bool {
	if len(text) > maxWhole {
		return false
	}
	id, ok := v.whole.find(text)
	if ok {
		s.out = append(s.out, token{id, int32(start + len(text))})
	}
	return ok
}

// emit writes joined symbols down as tokens.
func (v *vocabulary) emit(s *scratch, piece string, start int, symbols []symbol) {
	begin := int32(0)
	for _, sym := range symbols {
		if sym.id >= 0 && int(sym.id) < len(v.tokens) {
			s.out = append(s.out, token{sym.id, int32(start) + sym.end})
		} else {
			v.unknowns(s, piece[begin:sym.end], int32(start)+begin)
		}
		begin = sym.end
	}
}

// unknowns writes a character that is no token as its bytes, as the token of what is not known, or not at all.
func (v *vocabulary) unknowns(s *scratch, character string, start int32) {
	if v.bytes[character[0]] >= 0 {
		for i := range len(character) {
			s.out = append(s.out, token{v.bytes[character[i]], start + int32(i) + 1})
		}
		return
	}
	if v.unknown < 0 {
		return
	}
	if last := len(s.out) - 1; v.fuse && last >= 0 && s.out[last] == (token{v.unknown, start}) {
		s.out[last].end += int32(len(character))
		return
	}
	s.out = append(s.out, token{v.unknown, start + int32(len(character))})
}

// cutCharacters cuts at the borders that no token crosses, so that the pieces are short: a SentencePiece model publishes no
// pattern, and the whole text is one piece to it.
func (v *vocabulary) cutCharacters(s *scratch, text string, first bool) {
	start := 0
	if v.blank.prefix && (first || v.blank.everywhere) && (!v.blank.once || !hasBlank(text)) {
		start = v.prefixed(s, text)
	}
	last := rune(-1)
	from := start
	for i, r := range text[start:] {
		if r == ' ' {
			r = lowerOneEighth
		}
		if last >= 0 && v.border(last, r) {
			v.part(s, text[from:start+i], from)
			from = start + i
		}
		last = r
	}
	if from < len(text) {
		v.part(s, text[from:], from)
	}
}

// border says that no token lies across a and b.
func (v *vocabulary) border(a, b rune) bool {
	return v.blank.words && b == lowerOneEighth || !v.borders.inside(a, b, 0, 0)
}

func hasBlank(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return r == ' ' || r == lowerOneEighth
}

// prefixed cuts the first piece with a blank in front that is not in the text, and gives the piece's end.
func (v *vocabulary) prefixed(s *scratch, text string) (end int) {
	last := rune(lowerOneEighth)
	end = len(text)
	for i, r := range text {
		if r == ' ' {
			r = lowerOneEighth
		}
		if v.border(last, r) {
			end = i
			break
		}
		last = r
	}
	from := len(s.out)
	v.part(s, " "+text[:end], 0)
	for i := range s.out[from:] {
		s.out[from+i].end--
	}
	return end
}
