package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// pattern is a published way to cut a text into pieces that no token crosses. What a model publishes is a regular
// expression; these are written by hand, since Go's own expressions know no look-ahead and the libraries that do are slow.
type pattern struct {
	// name is what .gguf files and our messages call it.
	name string
	// digitsAlone cuts each \p{N} out of the text before all else, so that a blank in front of it is at an end.
	digitsAlone bool
	// maxDigits is how many \p{N} make a piece; 0: all that follow each other, with a blank in front.
	maxDigits int
	// shortWords: 's, 't, 're, 've, 'm, 'll, 'd are pieces of their own, or belong to the word that they follow.
	shortWords shortWords
	// anyFront: a word takes one character in front that is no letter, no number and no line end; else only a blank.
	anyFront bool
	// cased cuts a word where small letters are followed by a capital, and counts marks among the letters.
	cased bool
	// tail are the characters that a run of punctuation takes behind it.
	tail string
	// lineEnds: blanks up to the last line end of a run are a piece.
	lineEnds bool
}

type shortWords uint8

const (
	shortNone   shortWords = iota
	shortSmall             // small letters, a piece of their own
	shortAny               // also capitals, a piece of their own
	shortBehind            // also capitals, belonging to the word
)

var (
	gpt2   = &pattern{name: "gpt-2", shortWords: shortSmall}
	smollm = &pattern{name: "smollm", shortWords: shortSmall, digitsAlone: true}
	llama3 = &pattern{name: "llama-bpe", shortWords: shortAny, anyFront: true, maxDigits: 3, tail: "\r\n", lineEnds: true}
	qwen2  = &pattern{name: "qwen2", shortWords: shortAny, anyFront: true, maxDigits: 1, tail: "\r\n", lineEnds: true}
	gpt4o  = &pattern{name: "gpt-4o", shortWords: shortBehind, anyFront: true, cased: true, maxDigits: 3, tail: "\r\n/", lineEnds: true}
	tekken = &pattern{name: "tekken", anyFront: true, cased: true, maxDigits: 1, tail: "\r\n/", lineEnds: true}
)

// each calls f with the pieces of text in their order.
func (p *pattern) each(text string, f func(start, end int)) {
	if !p.digitsAlone {
		p.stretch(text, 0, len(text), f)
		return
	}
	start := 0
	for i := 0; i < len(text); {
		c, size := at(text, i)
		if c&number != 0 {
			p.stretch(text, start, i, f)
			f(i, i+size)
			start = i + size
		}
		i += size
	}
	p.stretch(text, start, len(text), f)
}

func (p *pattern) stretch(text string, start, end int, f func(start, end int)) {
	text = text[:end]
	for start < end {
		next := p.next(text, start)
		f(start, next)
		start = next
	}
}

// next gives the end of the piece that begins at i. The alternatives stand in the order of the published expressions:
// the first that matches counts.
func (p *pattern) next(text string, i int) int {
	if p.shortWords == shortSmall || p.shortWords == shortAny {
		if n := p.short(text[i:]); n > 0 {
			return i + n
		}
	}
	if end := p.word(text, i); end > i {
		return end
	}
	if end := p.digits(text, i); end > i {
		return end
	}
	if end := p.punctuation(text, i); end > i {
		return end
	}
	return p.blanks(text, i)
}

// short gives the length of the short word at the start of text, 0 where there is none.
func (p *pattern) short(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	for _, s := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
		if n := p.fold(text[1:], s); n > 0 {
			return 1 + n
		}
	}
	return 0
}

// fold gives the length of what text begins with if that is s, in any case where the pattern says so. Case folding of
// Unicode makes of the long s (ſ) an s, too.
func (p *pattern) fold(text, s string) int {
	if strings.HasPrefix(text, s) {
		return len(s)
	}
	if p.shortWords == shortSmall {
		return 0
	}
	n := 0
	for i := range len(s) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if r != rune(s[i]) && r != rune(s[i])-'a'+'A' && (s[i] != 's' || r != 'ſ') {
			return 0
		}
		n += size
	}
	return n
}

func (p *pattern) word(text string, i int) int {
	c, size := at(text, i)
	if p.cased {
		return p.casedWord(text, i, c, size)
	}
	if c&letter != 0 {
		return run(text, i+size, letter)
	}
	front := text[i] == ' '
	if p.anyFront {
		front = c&(letter|number|newline) == 0
	}
	if front {
		if end := run(text, i+size, letter); end > i+size {
			return end
		}
	}
	return i
}

// casedWord tries both published alternatives, capitals then small letters, with and without the character in front.
func (p *pattern) casedWord(text string, i int, c class, size int) int {
	front := c&(letter|number|newline) == 0
	for _, match := range [...]func(string, int) int{smallEnd, capitals} {
		if front {
			if end := match(text, i+size); end > i+size {
				return p.behind(text, end)
			}
		}
		if end := match(text, i); end > i {
			return p.behind(text, end)
		}
	}
	return i
}

// smallEnd is `[upper]*[lower]+`: where no small letter follows the capitals, the last character among them that counts
// as both ends the word.
func smallEnd(text string, i int) int {
	both := i
	end := i
	for {
		c, size := at(text, end)
		if c&upper == 0 {
			break
		}
		end += size
		if c&lower != 0 {
			both = end
		}
	}
	if small := run(text, end, lower); small > end {
		return small
	}
	return both
}

// capitals is `[upper]+[lower]*`.
func capitals(text string, i int) int {
	end := run(text, i, upper)
	if end == i {
		return i
	}
	return run(text, end, lower)
}

// behind gives the end of a word with the short word that belongs to it.
func (p *pattern) behind(text string, end int) int {
	if p.shortWords != shortBehind {
		return end
	}
	return end + p.short(text[end:])
}

func (p *pattern) digits(text string, i int) int {
	if p.maxDigits == 0 {
		start := i
		if text[i] == ' ' {
			start++
		}
		if end := run(text, start, number); end > start {
			return end
		}
		return i
	}
	for range p.maxDigits {
		c, size := at(text, i)
		if c&number == 0 {
			break
		}
		i += size
	}
	return i
}

// punctuation is ` ?[^\s\p{L}\p{N}]+` and what it takes behind it.
func (p *pattern) punctuation(text string, i int) int {
	start := i
	if text[i] == ' ' {
		start++
	}
	end := start
	for {
		c, size := at(text, end)
		if size == 0 || c&(blank|letter|number) != 0 {
			break
		}
		end += size
	}
	if end == start {
		return i
	}
	for end < len(text) && strings.IndexByte(p.tail, text[end]) >= 0 {
		end++
	}
	return end
}

// blanks is `\s*[\r\n]+|\s+(?!\S)|\s+`: up to the last line end; else all but the one that the next word takes.
func (p *pattern) blanks(text string, i int) int {
	end, last, lineEnd := i, i, i
	for {
		c, size := at(text, end)
		if c&blank == 0 {
			break
		}
		last = end
		end += size
		if c&newline != 0 {
			lineEnd = end
		}
	}
	switch {
	case p.lineEnds && lineEnd > i:
		return lineEnd
	case end < len(text) && last > i:
		return last
	}
	return end
}
