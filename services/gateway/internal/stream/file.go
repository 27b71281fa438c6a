package stream

import (
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/strictjson"
)

// Chunks is what File is registered for: no media type that a client asks for.
const Chunks = "application/x-chunks"

// File writes the chunks of a stream one behind the other: the answer is the file that they are. An error that ends the
// stream is a line of its own, and what is behind it is missing: an export without its last line is noticed when it is read.
type File struct{ *strictjson.Marshaler }

// StreamContentType is the type of the file: lines of JSON.
func (File) StreamContentType(any) string { return NDJSON }

// Delimiter is what stands between chunks: nothing.
func (File) Delimiter() []byte { return nil }

// Marshal gives the bytes of a chunk.
func (File) Marshal(v any) ([]byte, error) {
	event, failure, err := open(v)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		return fmt.Appendf(nil, "\n{\"error\":%s}\n", problem.JSON(failure)), nil
	}
	m := event.ProtoReflect()
	return m.Get(m.Descriptor().Fields().ByName(routes.Chunk)).Bytes(), nil
}
