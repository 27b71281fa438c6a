package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is the longest word that the index keeps, in bytes. Longer ones are codes, which nobody types from the beginning;
// what holds one is read instead.
const maxWord = 64

// script is what a character is to the index. Each character has one whatever stands beside it, so that the pieces within a
// term are pieces of every text that holds the term.
type script uint8

const (
	blank script = iota
	// sign is what no word is made of: marks, punctuation, emoji.
	sign
	// letter is a letter, digit, combining mark or `_` of a script that has words.
	letter
	// From here on scripts without blanks between words.
	han
	hiragana
	katakana
	hangul
	// follower goes on with what it stands behind: ー, 々 and their like begin no word.
	follower
)

func (s script) dense() bool { return s >= han }

func scriptOf(r rune) script {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case r == ' ':
			return blank
		case r == '_', '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
			return letter
		}
		return sign
	// What most texts are made of needs no table.
	case '\u3041' <= r && r <= '\u3096':
		return hiragana
	case '\u30A1' <= r && r <= '\u30FA':
		return katakana
	case '\u4E00' <= r && r <= '\u9FFF':
		return han
	case r == '、', r == '。':
		return sign
	case strings.ContainsRune("ー々ゝゞヽヾ", r):
		return follower
	case unicode.Is(unicode.Hiragana, r):
		return hiragana
	case unicode.Is(unicode.Katakana, r):
		return katakana
	case unicode.Is(unicode.Han, r):
		return han
	case unicode.Is(unicode.Hangul, r):
		return hangul
	case unicode.IsSpace(r):
		return blank
	case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
		return letter
	}
	return sign
}

// gram is one character, or two that stand side by side in a script without blanks.
type gram uint64

// runeBits are enough for any character.
const runeBits = 21

func one(r rune) gram    { return gram(r) }
func two(a, b rune) gram { return gram(a)<<runeBits | gram(b) }

// use is a gram of a node: gram<<1, and 1 besides where a word begins with it.
type use uint64

func (u use) gram() gram { return gram(u >> 1) }

// terms are what a node is found by.
type terms struct {
	// grams are sorted, each of them once.
	grams []use
	// words has a wordEnd before, between and behind the words, which are sorted, each of them once.
	words string
	// long says that there is a word of more than maxWord bytes.
	long bool
}

// reader takes texts apart.
type reader struct {
	grams []use
	words []string
	long  bool
}

// termsOf takes folded texts apart.
func termsOf(folded []string) terms {
	size := 0
	for _, text := range folded {
		size += len(text)
	}
	r := reader{grams: make([]use, 0, size)}
	for _, text := range folded {
		r.add(text)
	}
	slices.Sort(r.grams)
	slices.Sort(r.words)
	t := terms{long: r.long}
	kept := r.grams[:0]
	for i, u := range r.grams { // of equal grams the last is the one that a word begins with
		if i+1 == len(r.grams) || r.grams[i+1].gram() != u.gram() {
			kept = append(kept, u)
		}
	}
	t.grams = slices.Clone(kept)
	if len(r.words) > 0 {
		t.words = ends + strings.Join(slices.Compact(r.words), ends) + ends
	}
	return t
}

// ends is wordEnd as a text.
const ends = string(rune(wordEnd))

// list gives the words.
func (t terms) list() []string {
	if t.words == "" {
		return nil
	}
	return strings.Split(t.words[1:len(t.words)-1], ends)
}

// has says whether a node has a gram; starting, whether a word begins with it.
func (t terms) has(g gram, starting bool) bool {
	n, _ := slices.BinarySearch(t.grams, use(g)<<1)
	return n < len(t.grams) && t.grams[n].gram() == g && (!starting || t.grams[n]&1 != 0)
}

func (t *reader) add(text string) {
	var (
		before  rune   // the character before, where it is of a dense script
		begins  bool   // it begins a word
		running script // the script that a follower goes on with
		word    = -1   // where the word begins that is being read
	)
	for at, r := range text {
		s := scriptOf(r)
		if word >= 0 && s != letter {
			t.addWord(text[word:at])
			word = -1
		}
		starts := !running.dense() || s != running && s != follower
		switch {
		case s.dense():
			t.addGram(one(r), starts)
			if before != 0 {
				t.addGram(two(before, r), begins)
			}
		case s == sign:
			t.addGram(one(r), false)
		case s == letter && word < 0:
			word = at
		}
		before, begins = 0, starts
		if s.dense() {
			before = r
		}
		if s != follower || !running.dense() {
			running = s
		}
	}
	if word >= 0 {
		t.addWord(text[word:])
	}
}

func (t *reader) addGram(g gram, starts bool) {
	u := use(g) << 1
	if starts {
		u |= 1
	}
	t.grams = append(t.grams, u)
}

func (t *reader) addWord(w string) {
	if len(w) > maxWord {
		t.long = true
		return
	}
	t.words = append(t.words, w)
}

// piece is a part of a term: characters of dense scripts, a word, a sign, or a blank.
type piece struct {
	script script
	text   string
}

// pieces takes a folded term apart.
func pieces(term string) []piece {
	var out []piece
	from, last := 0, blank
	for at, r := range term {
		s := scriptOf(r)
		if s.dense() {
			s = han
		}
		if at > 0 && (s != last || s == sign) {
			out = append(out, piece{last, term[from:at]})
			from = at
		}
		last = s
	}
	return append(out, piece{last, term[from:]})
}

// grams are those that every text with the piece has.
func (p piece) grams() []gram {
	runes := []rune(p.text)
	if len(runes) == 1 {
		return []gram{one(runes[0])}
	}
	out := make([]gram, 0, len(runes)-1)
	for i := range runes[1:] {
		out = append(out, two(runes[i], runes[i+1]))
	}
	return out
}
