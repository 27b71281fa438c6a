package format

import "unicode/utf8"

const (
	ones, tops = 0x0101010101010101, 0x8080808080808080
	// Eight characters of three bytes, each 1110xxxx 10xxxxxx 10xxxxxx, are three words, the first byte lowest: which bits of
	// them are looked at, what these are, and where a character begins.
	mask0, want0, lead0 = 0xC0F0C0C0F0C0C0F0, 0x80E08080E08080E0, 0x000F00000F00000F
	mask1, want1, lead1 = 0xF0C0C0F0C0C0F0C0, 0xE08080E08080E080, 0x0F00000F00000F00
	mask2, want2, lead2 = 0xC0C0F0C0C0F0C0C0, 0x8080E08080E08080, 0x00000F00000F0000
)

// writable says whether text is valid UTF-8 and XML can hold each of its characters. All that is written and read goes
// through here, so it takes eight letters of ASCII, or eight characters of three bytes (Japanese), in one step.
func writable[T string | []byte](text T) bool {
	for len(text) >= 24 {
		n, first := 8, word(text)
		if (first|(first-' '*ones))&tops != 0 { // not all below 0x80, or one below a blank
			if n = 24; !eight(first, word(text[8:]), word(text[16:])) {
				n = writableRune(text)
			}
		}
		if n == 0 {
			return false
		}
		text = text[n:]
	}
	for len(text) > 0 {
		n := writableRune(text)
		if n == 0 {
			return false
		}
		text = text[n:]
	}
	return true
}

func word[T string | []byte](text T) uint64 {
	_ = text[7]
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
}

// eight says whether three words are eight characters of three bytes that certainly are characters.
func eight(first, second, third uint64) bool {
	return first&mask0 == want0 && second&mask1 == want1 && third&mask2 == want2 &&
		ordinary(first, lead0) && ordinary(second, lead1) && ordinary(third, lead2)
}

// ordinary says whether all characters of three bytes that begin in a word, where lead is 0x0F, certainly are characters: those
// behind 0xE1 to 0xEC. Behind 0xE0, 0xED and 0xEF not all of them are.
func ordinary(word, lead uint64) bool {
	low := lead & ones
	carry := lead + low
	return (word&lead+lead)&carry == carry && (word&lead+3*low)&carry == 0
}

// writableRune gives the length of the first character, or 0 if it cannot be written.
func writableRune[T string | []byte](text T) int {
	if b := text[0]; b < utf8.RuneSelf {
		if b < ' ' && b != '\t' && b != '\n' && b != '\r' {
			return 0
		}
		return 1
	}
	r, n := utf8.DecodeRuneInString(string(text[:min(len(text), utf8.UTFMax)]))
	if r == utf8.RuneError && n == 1 || r == '\ufffe' || r == '\uffff' {
		return 0
	}
	return n
}
