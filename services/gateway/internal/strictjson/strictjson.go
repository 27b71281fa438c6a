// Package strictjson reads requests and writes answers as JSON.
//
// Reading is strict: an unknown field, a field given twice, a value of the wrong type or anything behind the document is
// refused with the field named. Writing keeps every key, also where its value is empty, and enums are strings.
package strictjson

import (
	"bytes"
	"fmt"
	"io"
	"reflect"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/stablejson"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// write keeps every key: a client need not know which values are empty.
var write = protojson.MarshalOptions{EmitUnpopulated: true}

// Body is the body of a request, read already. It remembers why it could not be decoded: the generated code between
// decoder and error handler passes on no more than the text of an error.
type Body struct {
	*bytes.Reader
	raw   []byte
	bound map[string]string
	err   error
}

// NewBody makes a Body of what was read. bound are the request fields that the path gives: the body may leave them out
// or repeat them, but not contradict.
func NewBody(raw []byte, bound map[string]string) *Body {
	return &Body{Reader: bytes.NewReader(raw), raw: raw, bound: bound}
}

// Close does nothing: all of the body is here.
func (*Body) Close() error { return nil }

// Err is why the body could not be decoded, an *apierr.Error, or nil.
func (b *Body) Err() error { return b.err }

// Marshaler is the gateway's JSON. Its decoder reads a Body and nothing else.
type Marshaler struct{ runtime.JSONPb }

// New makes a Marshaler.
func New() *Marshaler { return &Marshaler{runtime.JSONPb{MarshalOptions: write}} }

// Marshal writes a whole answer, which ends its line: two answers in a terminal stay apart.
func (m *Marshaler) Marshal(v any) ([]byte, error) {
	b, err := m.JSONPb.Marshal(v)
	if err == nil {
		b, err = stablejson.Compact(b)
	}
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

// Marshal writes one message.
func Marshal(m proto.Message) ([]byte, error) { return stablejson.Marshal(write, m) }

// NewDecoder makes a decoder of a Body. It decodes once, into a message or a pointer to one.
func (*Marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		body, ok := r.(*Body)
		if !ok {
			return fmt.Errorf("a body of type %T was not read by the gateway", r)
		}
		return body.decode(v)
	})
}

func (b *Body) decode(v any) error {
	if len(bytes.TrimSpace(b.raw)) == 0 {
		return io.EOF // no body is an empty request: the service names the fields that it misses
	}
	m := message(v)
	if err := protojson.Unmarshal(b.raw, m); err != nil {
		b.err = explain(b.raw, m.ProtoReflect().Descriptor(), err)
	} else {
		b.err = b.contradiction(m.ProtoReflect())
	}
	return b.err
}

// message is v, or the new message that the pointer v is made to point to (a body that is one field of the request).
func message(v any) proto.Message {
	if m, ok := v.(proto.Message); ok {
		return m
	}
	field := reflect.ValueOf(v).Elem()
	field.Set(reflect.New(field.Type().Elem()))
	return field.Interface().(proto.Message)
}

// contradiction refuses a body that says something else than the path: one of the two would be dropped silently.
func (b *Body) contradiction(m protoreflect.Message) error {
	for name, want := range b.bound {
		field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		if field == nil || field.Kind() != protoreflect.StringKind {
			continue
		}
		if got := m.Get(field).String(); got != "" && got != want {
			return invalid(name, fmt.Sprintf("the path says %q: leave it out, or say the same", want))
		}
	}
	return nil
}

// invalid is the error for one wrong field of a body; an empty field is the whole body.
func invalid(field, description string) error {
	e := apierr.New(codes.InvalidArgument, problem.InvalidJSON, "the body: "+description)
	if field != "" {
		e.Message = "the body: " + field + ": " + description
	}
	e.Violations = []apierr.Violation{{Field: field, Description: description}}
	return e
}
