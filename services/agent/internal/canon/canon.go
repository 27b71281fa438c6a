// Package canon gives the arguments of a tool one form (canonical JSON, RFC 8785), and the digests that bind a decision to
// what was shown: the hash of a call, the digest of an approval, and the digest of a text that is shown in pages
// (field/review-agent.md S5, S6, S23).
//
// What is hashed is what runs: the tool is given exactly the bytes that JSON returns, and each value in them is the value
// that was written. So a text is refused, not mended, where two readers could understand it in two ways: a key that stands
// twice, half of a surrogate pair, bytes that are not UTF-8, a number that changes when it is read into a double.
package canon

import "slices"

// Bounds of a text that is brought into canonical form.
const (
	// MaxBytes is its size in bytes: a file of 4 MiB, each of whose bytes may be escaped by two.
	MaxBytes = 8 << 20
	// MaxDepth is how deep objects and lists may be nested.
	MaxDepth = 64
	// MaxValues is how many values it may have, keys among them: each takes some 50 bytes of memory.
	MaxValues = 100_000
)

// JSON gives the canonical form of a text of JSON (RFC 8785): no blanks, keys sorted by UTF-16 units, numbers and escapes
// written in one way. The error is an *Error that says where and why: not JSON, doubled key, number, surrogate, bounds.
//
// The RFC lets a number be rounded to a double. Here it is refused if that changes its value: 9007199254740993 would be
// hashed, and run, as 9007199254740992 (field/review-agent.md S6).
func JSON(text []byte) ([]byte, error) {
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	return appendValue(make([]byte, 0, len(text)), v), nil
}

// Object is JSON for the arguments of a tool, which must be an object. Empty text is the empty object: models leave out the
// arguments of a tool that takes none.
func Object(text []byte) ([]byte, error) {
	if len(text) == 0 {
		return []byte("{}"), nil
	}
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	if v.kind != kindObject {
		return nil, &Error{Reason: NotObject, Message: "the arguments must be a JSON object, such as {\"path\": \"a.txt\"}"}
	}
	return appendValue(make([]byte, 0, len(text)), v), nil
}

// Is says whether a text is in canonical form already.
func Is(text []byte) bool {
	got, err := JSON(text)
	return err == nil && slices.Equal(got, text)
}

// Reason is why a text has no canonical form.
type Reason string

// The reasons.
const (
	// Syntax is a text that is not one value of JSON by RFC 8259, or not UTF-8.
	Syntax Reason = "SYNTAX"
	// DoubledKey is an object with a key that stands twice.
	DoubledKey Reason = "DOUBLED_KEY"
	// LoneSurrogate is an escape for half a character.
	LoneSurrogate Reason = "LONE_SURROGATE"
	// InexactNumber is a number that a double cannot hold as it is written.
	InexactNumber Reason = "INEXACT_NUMBER"
	// TooLarge is a text over MaxBytes, MaxDepth or MaxValues.
	TooLarge Reason = "TOO_LARGE"
	// NotObject is a value that is no object, where arguments are expected.
	NotObject Reason = "NOT_OBJECT"
)

// Error says why a text has no canonical form.
type Error struct {
	Reason Reason
	// Offset is where, in bytes from the beginning; Path which value, such as `edits[2].line`, empty for the whole.
	Offset int
	Path   string
	// Message is a sentence for whoever wrote the text: it quotes at most a key or a number of it.
	Message string
}

// Error gives the sentence, and where.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}
