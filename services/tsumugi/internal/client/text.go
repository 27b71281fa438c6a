package client

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// ReadText reads a text of at most so many bytes. The error of one that is longer, or not UTF-8, which no service takes, names it by what.
func ReadText(in io.Reader, most int64, what string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", what, err)
	case int64(len(text)) > most:
		return "", fmt.Errorf("%s has more than %d KiB", what, most>>10)
	case !utf8.Valid(text):
		return "", fmt.Errorf("%s must be UTF-8; byte %d is not", what, invalid(text))
	}
	return string(text), nil
}

// invalid is the place, from 0, of the first byte that is not UTF-8.
func invalid(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return len(text)
}
