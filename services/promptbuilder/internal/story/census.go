package story

import (
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/textline"
)

// lastBits is the last bit of each of eight bytes.
const lastBits = 0x0101010101010101

// characters are code points: of UTF-8, the bytes that continue none.
func characters(text string) int {
	n, _ := census(text)
	return n
}

// census counts the code points of a text and its bytes under the space. 32 bytes at a time and both at once, since a novel
// is counted for every prompt of its end: each byte of a word counts for itself, up to 252, and then all are summed.
func census(text string) (characters, controls int) {
	characters, controls = len(text), len(text)
	for len(text) >= 32 {
		block := text[:min(len(text)&^31, 63*32)]
		text = text[len(block):]
		var continued, over uint64
		for i := 0; i+32 <= len(block); i += 32 {
			t := block[i : i+32]
			a, b, c, d := eight(t), eight(t[8:]), eight(t[16:]), eight(t[24:])
			continued += continuations(a) + continuations(b) + continuations(c) + continuations(d)
			over += fromSpace(a) + fromSpace(b) + fromSpace(c) + fromSpace(d)
		}
		characters -= sumOfBytes(continued)
		controls -= sumOfBytes(over)
	}
	for i := range len(text) {
		if text[i]&0xc0 == 0x80 {
			characters--
		}
		if text[i] >= ' ' {
			controls--
		}
	}
	return characters, controls
}

// sumOfBytes adds the bytes of a word.
func sumOfBytes(w uint64) int {
	const everySecond = 0x00ff00ff00ff00ff
	return int((w&everySecond + w>>8&everySecond) * 0x0001000100010001 >> 48)
}

func eight(text string) uint64 {
	_ = text[7]
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
}

// continuations has a 1 for each byte 10xxxxxx.
func continuations(w uint64) uint64 { return w >> 7 &^ (w >> 6) & lastBits }

// fromSpace has a 1 for each byte of at least 0x20, the space: those with one of the first three bits.
func fromSpace(w uint64) uint64 { return (w>>7 | w>>6 | w>>5) & lastBits }

// countLines counts the line ends of a text that ends with one, CR LF being one, and its code points.
func countLines(text string) (lines, characters int) {
	characters, controls := census(text)
	lines = strings.Count(text, "\n")
	if controls > lines && controls > lines+strings.Count(text, "\t") {
		for _, end := range []string{"\r", "\v", "\f", "\x1c", "\x1d", "\x1e"} {
			lines += strings.Count(text, end)
		}
		lines -= strings.Count(text, "\r\n")
	}
	return lines + countLong(text, 0xc2) + countLong(text, 0xe2), characters
}

// countLong counts the line ends of several bytes that begin with a byte.
func countLong(text string, first byte) int {
	n := 0
	for i := strings.IndexByte(text, first); i >= 0; i = strings.IndexByte(text, first) {
		text = text[i:]
		if end, size := textline.End(text[:min(3, len(text))]); end == 0 && size > 1 {
			n++
		}
		text = text[1:]
	}
	return n
}
