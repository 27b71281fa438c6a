package tokenizer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// vocabulary is what a file says of a model's tokens, and what is made of it to cut texts quickly.
type vocabulary struct {
	// tokens are the bytes of each token, by id. Of a SentencePiece model the blank is ▁ here.
	tokens []string
	// merges are the pairs that are joined, with their ranks.
	merges []merge
	// split cuts a text into pieces; nil: not at all.
	split *pattern
	// characters: the first symbols are characters (SentencePiece); else bytes.
	characters bool
	// compose: texts are brought into Unicode's composed form (NFC) first.
	compose bool
	// blank is what a SentencePiece model does at the start of a text.
	blank blanks
	// bytes are the tokens that stand for single bytes; -1 where there is none. SmolLM2 has none for some control
	// characters: these are not read at all.
	bytes [256]int32
	// unknown stands for a character that is neither a token nor bytes; several in a row are one token where fuse is set.
	unknown int32
	fuse    bool
	// wholeFirst: a piece that is a token is that token, whatever the merges say.
	wholeFirst bool
	// added are cut out of a text before all else.
	added added
	// front and back are what the model wants around a text.
	front, back []int32

	pairs   pairTable
	whole   wholeTable
	runes   map[rune]int32
	borders borderTable
}

// blanks says how a SentencePiece model, which writes each blank as ▁, treats the start of a text.
type blanks struct {
	// prefix adds one in front of the text that is not in it; everywhere also behind each added token; once only where
	// the text does not begin with a blank.
	prefix, everywhere, once bool
	// words cuts the text in front of each blank.
	words bool
}

// merge is a pair of tokens that are joined to a third. A lower rank is joined first; of equal ranks the leftmost.
type merge struct {
	a, b, joined int32
	rank         uint32
}

// token is a token in a text and the byte at which it ends there.
type token struct{ id, end int32 }

// lowerOneEighth is how a SentencePiece model writes a blank.
const lowerOneEighth = '▁'

// prepare makes the tables.
func (v *vocabulary) prepare() error {
	if len(v.tokens) == 0 {
		return errors.New("the vocabulary has no tokens")
	}
	v.pairs.fill(v.merges)
	if v.characters {
		v.runes = make(map[rune]int32, 1<<14)
		for id, text := range v.tokens {
			if r, size := utf8.DecodeRuneInString(text); size == len(text) && (r != utf8.RuneError || size > 1) {
				v.runes[r] = int32(id)
			}
		}
	}
	v.borders.fill(v.tokens)
	v.fillWhole()
	v.added.prepare()
	return nil
}

// fillWhole notes which tokens a piece becomes when it is the token's text: nearly every word of English is found so in
// one step. Only tokens that the merges lead to, unless the model says that the merges do not matter then.
func (v *vocabulary) fillWhole() {
	texts := make([]string, len(v.tokens))
	for id, text := range v.tokens {
		texts[id] = v.asText(text)
	}
	v.whole = newWholeTable(texts)
	var s scratch
	for id, text := range texts {
		if len(text) < 2 || len(text) > maxWhole {
			continue
		}
		if !v.wholeFirst {
			if got := v.join(&s, text); len(got) != 1 || got[0].id != int32(id) {
				continue
			}
		}
		v.whole.put(int32(id))
	}
}

// asText is how a token stands in a text.
func (v *vocabulary) asText(tok string) string {
	if v.characters {
		return strings.ReplaceAll(tok, string(lowerOneEighth), " ")
	}
	return tok
}

// fingerprint is a hash of the vocabulary and its rules.
func (v *vocabulary) fingerprint() string {
	h := sha256.New()
	pattern := pattern{}
	if v.split != nil {
		pattern = *v.split
	}
	number := func(n int) { _ = binary.Write(h, binary.LittleEndian, int64(n)) } // a hash never fails
	word := func(s string) { number(len(s)); h.Write([]byte(s)) }
	word(fmt.Sprintf("%+v|%v|%v|%v|%v|%v|%v|%v|%v|%v", pattern, v.characters, v.compose, v.blank, v.bytes, v.unknown, v.fuse, v.wholeFirst, v.front, v.back))
	number(len(v.tokens))
	for _, text := range v.tokens {
		word(text)
	}
	number(len(v.merges))
	for _, m := range v.merges {
		_ = binary.Write(h, binary.LittleEndian, m)
	}
	for _, a := range v.added.list {
		word(fmt.Sprintf("%+v", a))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
