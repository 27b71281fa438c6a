package wire

import (
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"
)

var (
	errNoString = errors.New("it is no string")
	errNoText   = errors.New("it has bytes that are not UTF-8")
)

// Assembler joins the pieces of an answer and cuts them between characters (cases/wannabe.md 35).
type Assembler struct {
	held []byte // the beginning of a character
}

// Half says whether the text so far ends inside a character.
func (a *Assembler) Half() bool { return len(a.held) > 0 }

// Add takes the JSON string of one event and gives what is whole characters by now. With an error it gives the characters
// before the damage: U+FFFD never stands in for what the model wrote.
func (a *Assembler) Add(raw json.RawMessage) (string, error) {
	text, err := unquote(raw)
	text = append(a.held, text...)
	whole := characters(text)
	a.held = nil
	if rest := text[whole:]; len(rest) > 0 && err == nil {
		if utf8.FullRune(rest) {
			return string(text[:whole]), errNoText
		}
		a.held = rest
	}
	return string(text[:whole]), err
}

// unquote gives the bytes of a JSON string as they are. encoding/json turns what is not UTF-8 into U+FFFD, so it is given
// the stretches between such bytes alone.
func unquote(raw json.RawMessage) ([]byte, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, errNoString
	}
	raw = raw[1 : len(raw)-1]
	text := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		whole := characters(raw)
		var s string
		if err := json.Unmarshal(slices.Concat(quote, raw[:whole], quote), &s); err != nil {
			return text, errNoString
		}
		text = append(text, s...)
		if whole < len(raw) {
			text = append(text, raw[whole])
			whole++
		}
		raw = raw[whole:]
	}
	return text, nil
}

var quote = []byte{'"'}

// characters gives how many bytes of s are whole characters, up to the first byte that is not UTF-8.
func characters(s []byte) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRune(s[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}
