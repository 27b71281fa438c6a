package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// version is the layout of what is hashed. Another layout gets another number: then no old digest fits a new text.
const version = 1

// Hash is a SHA-256 as 64 hexadecimal digits in lower case. Empty is absent: there is no file.
type Hash string

// Sum gives the hash of the content of a file, or of any other bytes.
func Sum(content []byte) Hash {
	sum := sha256.Sum256(content)
	return Hash(hex.AppendEncode(make([]byte, 0, 2*sha256.Size), sum[:]))
}

// Valid says whether this is a hash: not absent, not a folder, not something else.
func (h Hash) Valid() bool {
	return len(h) == hex.EncodedLen(sha256.Size) && strings.Trim(string(h), "0123456789abcdef") == ""
}

// Call is what identifies a call by what it would do, wherever and whenever it is asked for (field/review-agent.md S5):
// standing rules, the loop guard and the memory of denied calls compare its hash.
type Call struct {
	// Tool is the full name of the tool, Server the id of the MCP server, empty for others, Definition the hash of the
	// tool's definition.
	Tool, Server string
	Definition   Hash
	// Args are the arguments in canonical form, as Object gives them.
	Args []byte
	// Root is the id of the work folder.
	Root string
}

// CallHash gives the hash of a call. The error says which field cannot be hashed: it stands for a fault of the caller,
// and the call must not run (S29).
func CallHash(c Call) (Hash, error) {
	if len(c.Args) > MaxBytes || !Is(c.Args) {
		return "", &HashError{Field: "args", Message: "are not in canonical form"}
	}
	b := builder{}
	args, _ := parse(c.Args) // Is has read them.
	return b.hash(
		b.string("of", "call"), b.number("v", version), b.name("tool", c.Tool), b.string("server", c.Server), b.sum("definition", c.Definition),
		member("args", args), b.string("root", c.Root),
	)
}

// HashError says what cannot be hashed.
type HashError struct{ Field, Message string }

// Error names the field.
func (e *HashError) Error() string { return "cannot make a digest: " + e.Field + " " + e.Message }

// builder makes the objects that are hashed. They are objects with named members, so nothing can move from a field into
// its neighbour, and a text that is not UTF-8 is refused: written as JSON it would equal another one.
type builder struct{ err error }

func (b *builder) fail(field, format string, args ...any) {
	if b.err == nil {
		b.err = &HashError{field, fmt.Sprintf(format, args...)}
	}
}

func member(name string, v value) key {
	return key{text: name, units: utf16.Encode([]rune(name)), item: v}
}

func (b *builder) string(name, s string) key {
	if !utf8.ValidString(s) {
		b.fail(name, "is not UTF-8")
	}
	return member(name, value{kind: kindString, text: s})
}

// name is a string that may not be empty.
func (b *builder) name(name, s string) key {
	if s == "" {
		b.fail(name, "is empty")
	}
	return b.string(name, s)
}

func (b *builder) strings(name string, list []string) key {
	v := value{kind: kindList}
	for _, s := range list {
		v.items = append(v.items, b.string(name, s).item)
	}
	return member(name, v)
}

func (b *builder) number(name string, n int64) key {
	return member(name, value{text: strconv.FormatInt(n, 10)})
}

func (b *builder) flag(name string, yes bool) key {
	return member(name, value{text: strconv.FormatBool(yes)})
}

// sum is a hash that must be there.
func (b *builder) sum(name string, h Hash) key {
	if !h.Valid() {
		b.fail(name, "is no hash: %q", string(h))
	}
	return b.string(name, string(h))
}

// state is the hash of a file, null where there is none.
func (b *builder) state(name string, h Hash) key {
	if h == "" {
		return member(name, value{text: "null"})
	}
	return b.sum(name, h)
}

func (b *builder) list(name string, items [][]key) key {
	v := value{kind: kindList}
	for _, keys := range items {
		v.items = append(v.items, object(keys))
	}
	return member(name, v)
}

func object(keys []key) value {
	sortKeys(keys)
	return value{kind: kindObject, keys: keys}
}

func (b *builder) hash(keys ...key) (Hash, error) {
	if b.err != nil {
		return "", b.err
	}
	return Sum(appendValue(nil, object(keys))), nil
}
