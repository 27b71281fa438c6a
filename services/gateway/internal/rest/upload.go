package rest

import (
	"io"
	"net/url"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/strictjson"
)

// chunkBytes is how much of a file one message carries.
const chunkBytes = 1 << 20

// upload is a body that is a file, read already. It becomes a stream of messages: the options of the query, then chunks.
type upload struct {
	options url.Values
	began   bool
	left    []byte
}

// Read is not used: the messages are made by decode.
func (*upload) Read([]byte) (int, error) { return 0, io.EOF }

// Close does nothing: all of the body is here.
func (*upload) Close() error { return nil }

// marshaler is the gateway's JSON, which also takes files apart.
type marshaler struct{ *strictjson.Marshaler }

// NewDecoder makes a decoder of a body: one message of JSON, or the messages of an upload.
func (m marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	if u, ok := r.(*upload); ok {
		return runtime.DecoderFunc(u.decode)
	}
	return m.Marshaler.NewDecoder(r)
}

// decode gives the next message; io.EOF behind the last.
func (u *upload) decode(v any) error {
	m := v.(proto.Message).ProtoReflect()
	fields := m.Descriptor().Fields()
	if !u.began {
		u.began = true
		options := m.Mutable(fields.ByName(routes.Options)).Message().Interface()
		return runtime.PopulateQueryParameters(options, u.options, &utilities.DoubleArray{})
	}
	if len(u.left) == 0 {
		return io.EOF
	}
	n := min(len(u.left), chunkBytes)
	m.Set(fields.ByName(routes.Chunk), protoreflect.ValueOfBytes(u.left[:n:n]))
	u.left = u.left[n:]
	return nil
}
