package wire

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// minQuote is from how many bytes on, without blanks and ASCII marks, what a server says and what it was sent are the same
// by intent: eight characters of Japanese, or four words. A shorter one is not looked for.
const minQuote = 24

// quoted stands for a quote that was taken out.
const quoted = "[…]"

// discreet takes what a server repeats of the request out of an error, which goes into logs, answers and nodes, and
// shortens the rest (llm.Error: no prompt text).
func discreet(e *llm.Error, body any) *llm.Error {
	e.Message = clip(withoutQuotes(e.Message, body), maxMessage+maxSentence)
	return e
}

// withoutQuotes takes out of a message what the texts of a request say too, also where the message writes it with escapes
// or with other blanks. What stands between two quotes and is shorter than one goes with them.
func withoutQuotes(message string, body any) string {
	said := squash(message)
	shared := map[string]bool{}
	for i := minQuote; i <= len(said.text); i++ {
		shared[string(said.text[i-minQuote:i])] = false
	}
	if len(shared) == 0 {
		return message
	}
	for _, text := range texts(body) {
		sent := letters(text)
		for i := minQuote; i <= len(sent); i++ {
			if _, ok := shared[string(sent[i-minQuote:i])]; ok {
				shared[string(sent[i-minQuote:i])] = true
			}
		}
	}
	var out strings.Builder
	kept := 0
	for i := minQuote; i <= len(said.text); i++ {
		if !shared[string(said.text[i-minQuote:i])] {
			continue
		}
		from, to := said.from[i-minQuote], said.to[i-1]
		if kept == 0 || from >= kept+minQuote {
			out.WriteString(message[kept:max(from, kept)] + quoted)
		}
		kept = max(kept, to)
	}
	return out.String() + message[kept:]
}

// texts are the texts in the body of a request, but for the name of the model, which servers may tell.
func texts(body any) []string {
	data, err := json.Marshal(body)
	var value any
	if err != nil || json.Unmarshal(data, &value) != nil {
		return nil
	}
	var found []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			found = append(found, v)
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for name, item := range v {
				if name != "model" {
					walk(item)
				}
			}
		}
	}
	walk(value)
	return found
}

// letters is a text without what servers write differently: blanks and ASCII marks.
func letters(text string) []byte {
	kept := make([]byte, 0, len(text))
	for _, r := range text {
		if counts(r) {
			kept = utf8.AppendRune(kept, r)
		}
	}
	return kept
}

func counts(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return !unicode.IsSpace(r)
}

// squashed are the letters of a message, and where in it the character of each byte begins and ends.
type squashed struct {
	text     []byte
	from, to []int
}

// squash reads a message with the escapes of JSON and of Python.
func squash(message string) squashed {
	var s squashed
	for at := 0; at < len(message); {
		written, size := next(message[at:])
		for range written {
			s.from, s.to = append(s.from, at), append(s.to, at+size)
		}
		s.text = append(s.text, written...)
		at += size
	}
	return s
}

// next is what the first character of a message, or its first escape, counts for, and its length in the message.
func next(message string) (written []byte, size int) {
	r, size := utf8.DecodeRuneInString(message)
	switch {
	case r != '\\' || len(message) < 2:
		return letters(message[:size]), size
	case message[1] == 'u':
		return unicodeEscape(message)
	case message[1] == 'x':
		if b, ok := digits(message, 2, 2); ok {
			if b >= utf8.RuneSelf {
				return []byte{byte(b)}, 4
			}
			return letters(string(rune(b))), 4
		}
	}
	if strings.IndexByte(`nrtbfv0\`, message[1]) >= 0 {
		return nil, 2
	}
	return nil, 1
}

// unicodeEscape reads `\u591c`, or two of them that are one character.
func unicodeEscape(message string) ([]byte, int) {
	first, ok := digits(message, 2, 4)
	if !ok {
		return nil, 1
	}
	if !utf16.IsSurrogate(rune(first)) {
		return letters(string(rune(first))), 6
	}
	second, ok := digits(message, 8, 4)
	if !ok || message[6:8] != `\u` {
		return nil, 6
	}
	return letters(string(utf16.DecodeRune(rune(first), rune(second)))), 12
}

// digits reads n hexadecimal digits from there on.
func digits(message string, from, n int) (uint64, bool) {
	if len(message) < from+n {
		return 0, false
	}
	v, err := strconv.ParseUint(message[from:from+n], 16, 32)
	return v, err == nil
}
