// Package stablejson gives the same message the same JSON, with every build: protojson varies its spaces from one program
// to the next on purpose, and whoever compares or caches answers would see changes that are none.
package stablejson

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Marshal writes one message without a space that says nothing. The error is that of protojson, such as a text that is
// not UTF-8.
func Marshal(o protojson.MarshalOptions, m proto.Message) ([]byte, error) {
	b, err := o.Marshal(m)
	if err != nil {
		return nil, err
	}
	return Compact(b)
}

// Compact takes the spaces out of JSON that stand outside its strings, which stay byte for byte.
func Compact(b []byte) ([]byte, error) {
	out := bytes.NewBuffer(make([]byte, 0, len(b)+1)) // one more for the end of the line
	if err := json.Compact(out, b); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
