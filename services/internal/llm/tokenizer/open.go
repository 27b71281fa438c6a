package tokenizer

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

// MaxFile is the largest tokenizer.json, in bytes. Of a .gguf file only the head is read, which is bounded by the same.
const MaxFile = 256 << 20

// Open reads the vocabulary of a model from its tokenizer.json or its .gguf file (docs/backends.md). The error names the
// file and says what in it is not known: an unknown split pattern, normaliser or model is never counted with a guess.
func Open(path string) (*Tokenizer, error) {
	read := readJSON
	if filepath.Ext(path) == ".gguf" {
		read = readGGUF
	}
	v, err := readFile(path, read)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t, err := newTokenizer(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func readFile(path string, read func(*os.File) (*vocabulary, error)) (*vocabulary, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	v, err := read(f)
	if err != nil {
		return nil, err
	}
	for id, text := range v.tokens {
		if len(text) > maxToken {
			return nil, fmt.Errorf("the token %d has %d bytes; the longest that is taken has %d", id, len(text), maxToken)
		}
	}
	return v, nil
}

// maxToken is the longest token, in bytes.
const maxToken = 1024

// newVocabulary is one without tokens.
func newVocabulary() *vocabulary {
	v := &vocabulary{unknown: -1}
	for b := range v.bytes {
		v.bytes[b] = -1
	}
	return v
}

// mergesByRank gives the pairs whose texts together are a token: that is what the OpenAI vocabularies and SentencePiece
// mean, who list no pairs. A token of a lower rank is made first. alone says that only whole characters are split.
func mergesByRank(tokens []string, rank func(id int32) uint32, characters bool) []merge {
	ids := make(map[string]int32, len(tokens))
	for id := len(tokens) - 1; id >= 0; id-- {
		ids[tokens[id]] = int32(id)
	}
	var merges []merge
	for id, text := range tokens {
		for i := 1; i < len(text); i++ {
			if characters && !utf8.RuneStart(text[i]) {
				continue
			}
			a, left := ids[text[:i]]
			b, right := ids[text[i:]]
			if left && right {
				merges = append(merges, merge{a, b, int32(id), rank(int32(id))})
			}
		}
	}
	return merges
}

// byScore gives the ranks of tokens with scores: the highest first, equal ones equal.
func byScore(scores []float32) func(id int32) uint32 {
	order := slices.Clone(scores)
	slices.SortFunc(order, func(a, b float32) int { return cmp.Compare(b, a) })
	order = slices.Compact(order)
	return func(id int32) uint32 {
		i, _ := slices.BinarySearchFunc(order, scores[id], func(a, b float32) int { return cmp.Compare(b, a) })
		return uint32(i)
	}
}

// byteOf undoes how byte-level vocabularies write bytes as printable characters (GPT-2): those that print stand for
// themselves, the others for the characters from U+0100 on, in their order.
var byteOf = func() map[rune]byte {
	m := make(map[rune]byte, 256)
	next := rune(256)
	for b := range 256 {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			m[rune(b)] = byte(b)
			continue
		}
		m[next] = byte(b)
		next++
	}
	return m
}()

// unwrite gives the bytes of a token of a byte-level vocabulary; ok is false where it is not written so.
func unwrite(text string) (bytes string, ok bool) {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		b, known := byteOf[r]
		if !known {
			return text, false
		}
		out = append(out, b)
	}
	return string(out), true
}
