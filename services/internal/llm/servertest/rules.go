package servertest

import (
	"encoding/json"
	"hash/fnv"
	"strings"
	"unicode/utf8"
)

// Rule cuts a text into the bytes of its tokens. Joined, they are the text.
type Rule func(text string) []string

// Runes is one token a character.
func Runes(text string) []string { return cut(text, size) }

// Bytes is one token a byte, so that characters fall apart, as with models whose vocabulary lacks a script.
func Bytes(text string) []string { return cut(text, func(string) int { return 1 }) }

// Pairs is one token for two characters, and one for a line end, as vocabularies with many words.
func Pairs(text string) []string {
	return cut(text, func(rest string) int {
		first := size(rest)
		if rest[0] == '\n' || first == len(rest) || rest[first] == '\n' {
			return first
		}
		return first + size(rest[first:])
	})
}

func cut(text string, next func(rest string) int) []string {
	var pieces []string
	for text != "" {
		n := next(text)
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

func size(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// Number is the id of a token, from 10 to below 10 + words: the same for the same piece of the same model.
func Number(model, piece string, words uint32) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(model + "\x00" + piece)) // a hash takes everything
	return 10 + int(h.Sum32()%words)
}

// Story is what a model says that was told nothing else, one token a character.
func Story(string) []string { return Runes("糸は夜の港へ続いていた。") }

// Malformed says whether a grammar is one that llama.cpp cannot read, of those that tests use: it has an open bracket.
func Malformed(grammar string) bool {
	return strings.Count(grammar, "(") != strings.Count(grammar, ")")
}

// Schema is one that an answer can be held to.
const Schema = `{"type":"object","properties":{"blue":{"type":"boolean"}},"required":["blue"],"additionalProperties":false}`

// Held is what a server says whose answer is held to Schema; empty for any other schema, and for none. It goes by the bytes: a client that
// changes the order of keys changes what the model is asked.
func Held(schema json.RawMessage) string {
	if string(schema) == Schema {
		return `{"blue":true}`
	}
	return ""
}
