package format

import "unicode/utf8"

// writable says whether text is valid UTF-8 and XML can hold each of its characters. All that is written and read goes
// through here, so it takes eight letters of ASCII, or two characters of three bytes (Japanese), in one step.
func writable[T string | []byte](text T) bool {
	const (
		ones, tops = 0x0101010101010101, 0x8080808080808080
		// Two characters of three bytes, each 1110xxxx 10xxxxxx 10xxxxxx, the first byte lowest.
		pairMask, pair = 0xC0C0F0C0C0F0, 0x8080E08080E0
	)
	i := 0
	for i+8 <= len(text) {
		word := uint64(text[i]) | uint64(text[i+1])<<8 | uint64(text[i+2])<<16 | uint64(text[i+3])<<24 |
			uint64(text[i+4])<<32 | uint64(text[i+5])<<40 | uint64(text[i+6])<<48 | uint64(text[i+7])<<56
		switch {
		case word&pairMask == pair && ordinary(byte(word)) && ordinary(byte(word>>24)):
			i += 6
		case (word|(word-' '*ones))&tops == 0: // all below 0x80, and none below a blank
			i += 8
		default:
			n := writableRune(text[i:])
			if n == 0 {
				return false
			}
			i += n
		}
	}
	for i < len(text) {
		n := writableRune(text[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

// ordinary says whether a character of three bytes that begins with b is certainly one: behind 0xE0, 0xED and 0xEF not all
// of them are.
func ordinary(b byte) bool { return b-0xE1 <= 0xEC-0xE1 }

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
