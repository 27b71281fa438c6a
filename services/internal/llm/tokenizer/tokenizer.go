// Package tokenizer counts tokens with a model's own vocabulary, without asking a server: byte-level BPE (GPT-2, Llama 3,
// Qwen, tekken, the OpenAI families) and SentencePiece-style BPE (Gemma, Mistral v1, Llama 2), read from a tokenizer.json,
// from a .gguf file, or from the vocabularies that a library embeds.
//
// A text goes through four steps: added tokens are cut out of it (added.go), the rest is written as the model wants it
// (the blank as ▁), cut into pieces that no token crosses (split.go, borders.go), and the symbols of each piece are joined
// pair by pair, the best rank first (merge.go). A vocabulary that wants anything else is refused when it is opened, by
// the name of what is not known: a count that is nearly right is worth nothing to a caller who fills a window.
package tokenizer

import (
	"strings"
	"sync"
	"unicode"
)

// Tokenizer cuts text into the tokens of one model. Safe for concurrent use; it never changes.
type Tokenizer struct {
	// vocab is nil for Estimate.
	vocab *vocabulary
	// fingerprint is a hash of all that decides how a text is cut.
	fingerprint string
	// size is that of Size.
	size    int
	scratch sync.Pool
}

// Options say how a text is read.
type Options struct {
	// Around adds what the model wants around every text, such as BOS.
	Around bool
	// Control reads the names of control tokens, such as `<|im_start|>`, as these tokens. A server that is sent a prompt
	// reads them so. Without it they are text like any other.
	Control bool
}

// Prompt is how a server reads a prompt.
var Prompt = Options{Around: true, Control: true}

// Count gives the number of tokens of text, which is below 2 GiB. The time is in proportion to the length of the text, but for a
// stretch that no border of tokens divides, such as one letter over and over: n bytes of it take a time of n log n. Once the
// buffers have grown, nothing is allocated.
func (t *Tokenizer) Count(text string, o Options) int {
	s := t.borrow()
	defer t.scratch.Put(s)
	return len(t.encode(s, text, o))
}

// Append gives the tokens of text behind those in to.
func (t *Tokenizer) Append(to []int32, text string, o Options) []int32 {
	s := t.borrow()
	defer t.scratch.Put(s)
	for _, token := range t.encode(s, text, o) {
		to = append(to, token.id)
	}
	return to
}

// Lengths gives how many bytes of text each token stands for; they add up to len(text). A token that stands for no byte
// of it has length 0: BOS, or the blank that a SentencePiece model adds in front. Bytes that a vocabulary cannot write belong
// to the token behind them, the last ones to the last. A text of such bytes alone has no tokens.
func (t *Tokenizer) Lengths(text string, o Options) []int {
	s := t.borrow()
	defer t.scratch.Put(s)
	lengths := make([]int, 0, len(text)/2+1)
	done := int32(0)
	for _, token := range t.encode(s, text, o) {
		lengths = append(lengths, int(token.end-done))
		done = token.end
	}
	if last := len(lengths) - 1; last >= 0 {
		lengths[last] += len(text) - int(done)
	}
	return lengths
}

// Fingerprint names the vocabulary and its rules: two tokenizers with one fingerprint cut every text alike.
func (t *Tokenizer) Fingerprint() string { return t.fingerprint }

// Size is one more than the highest number of a token, control tokens among them; 0 for Estimate.
func (t *Tokenizer) Size() int { return t.size }

func newTokenizer(v *vocabulary) (*Tokenizer, error) {
	if err := v.prepare(); err != nil {
		return nil, err
	}
	return &Tokenizer{vocab: v, fingerprint: v.fingerprint(), size: len(v.tokens)}, nil
}

func (t *Tokenizer) borrow() *scratch {
	if s, ok := t.scratch.Get().(*scratch); ok {
		return s
	}
	return &scratch{}
}

// encode gives the tokens of a text. The answer is part of the scratch.
func (t *Tokenizer) encode(s *scratch, text string, o Options) []token {
	v := t.vocab
	s.out = s.out[:0]
	if v == nil {
		return s.estimate(text, o)
	}
	if o.Around {
		s.add(v.front, 0)
	}
	start := 0
	for at := 0; at < len(text); {
		found := v.added.match(text[at:], o.Control)
		if found == nil {
			at = v.added.next(text, at+1)
			continue
		}
		end := at
		if found.left {
			end = start + len(strings.TrimRightFunc(text[start:at], unicode.IsSpace))
		}
		v.plain(s, text, start, end)
		if at += len(found.text); found.right {
			at += len(text[at:]) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
		}
		s.out = append(s.out, token{id: found.id, end: int32(at)})
		start = at
	}
	v.plain(s, text, start, len(text))
	if o.Around {
		s.add(v.back, int32(len(text)))
	}
	return s.out
}
