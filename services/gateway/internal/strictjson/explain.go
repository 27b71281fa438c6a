package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// position finds in the text of a protojson error where it happened and what it was.
var position = regexp.MustCompile(`\(line (\d+):(\d+)\): (.*)`)

// explain says which field of raw was refused and what would be right. protojson decides what is refused; it names a
// place and no path, so the path is looked up here.
func explain(raw []byte, root protoreflect.MessageDescriptor, refused error) error {
	if !utf8.Valid(raw) {
		return invalid("", "is not UTF-8")
	}
	found := position.FindStringSubmatch(refused.Error())
	switch {
	case found == nil && json.Valid(raw): // protojson looks for the other half behind the end
		return invalid("", "holds half a character (one of \\ud800 to \\udfff without its other half)")
	case found == nil:
		return invalid("", "ends before the JSON object does")
	}
	at := fmt.Sprintf(" (line %s, column %s)", found[1], found[2])
	if !json.Valid(raw) {
		return invalid("", "is not one JSON object"+at)
	}
	place := offset(raw, found[1], found[2])
	path := pathAt(raw, place)
	message, field := resolve(root, path)
	return invalid(path.String(), advice(found[3], path, message, field)+given(raw[place:], field)+at)
}

// given says what stands where one value should: the words of a string's limits alone would not tell why an object is refused.
func given(raw []byte, field protoreflect.FieldDescriptor) string {
	switch {
	case field == nil || field.Message() != nil || field.IsList():
	case bytes.HasPrefix(raw, []byte("{")):
		return ", and is an object"
	case bytes.HasPrefix(raw, []byte("[")):
		return ", and is a list"
	}
	return ""
}

// advice is what would be right in place of what was refused.
func advice(refused string, path path, message protoreflect.MessageDescriptor, field protoreflect.FieldDescriptor) string {
	switch {
	case strings.HasPrefix(refused, "unknown field"):
		return "there is no such field; " + Instead(path[len(path)-1].key, inputs(message))
	case strings.HasPrefix(refused, "duplicate field"):
		return "is given twice"
	case strings.Contains(refused, "is already set"):
		return "only one of the fields that exclude each other may be given"
	case field == nil:
		return "must be " + object(message)
	case field.IsList() && !path.inList():
		return "must be a list of items, each " + Expected(field)
	}
	return "must be " + Expected(field)
}

// offset turns a line and a column, both from 1 and the column in characters, into a byte offset.
func offset(raw []byte, line, column string) int {
	l, _ := strconv.Atoi(line)
	c, _ := strconv.Atoi(column)
	at := 0
	for ; l > 1; l-- {
		at += bytes.IndexByte(raw[at:], '\n') + 1
	}
	for ; c > 1 && at < len(raw); c-- {
		_, size := utf8.DecodeRune(raw[at:])
		at += size
	}
	return at
}

// resolve follows a path down from root: the message that its last name stands in, and the field, nil where there is none.
func resolve(root protoreflect.MessageDescriptor, p path) (protoreflect.MessageDescriptor, protoreflect.FieldDescriptor) {
	message, field := root, protoreflect.FieldDescriptor(nil)
	for _, step := range p {
		if !step.isKey() {
			continue
		}
		if field != nil && field.Message() != nil {
			message = field.Message()
		}
		if field = Field(message, step.key); field == nil {
			return message, nil
		}
	}
	return message, field
}

// Field is the field of a message by its JSON name or by its name in the proto: requests may use either.
func Field(m protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if f := m.Fields().ByJSONName(name); f != nil {
		return f
	}
	return m.Fields().ByName(protoreflect.Name(name))
}
