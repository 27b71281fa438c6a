package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// class is what the split patterns ask of a character.
type class uint8

const (
	letter  class = 1 << iota // \p{L}
	number                    // \p{N}
	blank                     // \s: White_Space
	newline                   // CR or LF; also blank
	upper                     // \p{Lu} \p{Lt} \p{Lm} \p{Lo} \p{M}
	lower                     // \p{Ll} \p{Lm} \p{Lo} \p{M}
	mark                      // \p{M}
)

// classes are those of the characters below U+10000.
var classes = func() *[1 << 16]class {
	var table [1 << 16]class
	for r := range rune(len(table)) {
		table[r] = classify(r)
	}
	return &table
}()

func classify(r rune) class {
	var c class
	switch {
	case unicode.Is(unicode.Lu, r), unicode.Is(unicode.Lt, r):
		c = letter | upper
	case unicode.Is(unicode.Ll, r):
		c = letter | lower
	case unicode.IsLetter(r):
		c = letter | upper | lower
	case unicode.IsMark(r):
		c = upper | lower | mark
	case unicode.IsNumber(r):
		c = number
	}
	if unicode.IsSpace(r) {
		c |= blank
	}
	if r == '\r' || r == '\n' {
		c |= newline
	}
	return c
}

// at gives the class and the size of the character at i; the end of the text has size 0 and no class.
func at(text string, i int) (class, int) {
	if i >= len(text) {
		return 0, 0
	}
	if b := text[i]; b < utf8.RuneSelf {
		return classes[b], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	if r < rune(len(classes)) {
		return classes[r], size
	}
	return classify(r), size
}

// run gives the end of the characters from i on that are of any of the classes.
func run(text string, i int, of class) int {
	for {
		c, size := at(text, i)
		if c&of == 0 {
			return i
		}
		i += size
	}
}
