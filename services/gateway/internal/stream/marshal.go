package stream

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/strictjson"
)

// Lines writes each event as a line `{"result": …}`, and the error that ends a stream as a line `{"error": …}`.
type Lines struct{ *strictjson.Marshaler }

// StreamContentType is the type of the whole answer.
func (Lines) StreamContentType(any) string { return NDJSON }

// Marshal writes one line without its end.
func (Lines) Marshal(v any) ([]byte, error) {
	event, failure, err := open(v)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		return fmt.Appendf(nil, `{"error":%s}`, problem.JSON(failure)), nil
	}
	data, err := strictjson.Marshal(event)
	return fmt.Appendf(nil, `{"result":%s}`, data), err
}

// Events writes each event as a Server-Sent Event: `id` where the event has one, `event` with the kind, and `data` with
// the JSON. A heartbeat is a comment, behind its `id` where it has one: a browser takes that over. The error that ends a stream is an event `error`.
type Events struct{ *strictjson.Marshaler }

// StreamContentType is the type of the whole answer.
func (Events) StreamContentType(any) string { return SSE }

// Delimiter ends an event.
func (Events) Delimiter() []byte { return []byte("\n\n") }

// Marshal writes one event without its end.
func (Events) Marshal(v any) ([]byte, error) {
	event, failure, err := open(v)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		return fmt.Appendf(nil, "event: error\ndata: %s", problem.JSON(failure)), nil
	}
	id, kind := head(event.ProtoReflect())
	var b []byte
	if id > 0 {
		b = fmt.Appendf(b, "id: %d\n", id)
	}
	if kind == "heartbeat" {
		return append(b, ": heartbeat"...), nil
	}
	data, err := strictjson.Marshal(event)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(b, "event: %s\ndata: %s", kind, data), nil
}

// open takes apart what grpc-gateway hands to the marshaler of a stream: an event under `result`, or the status that ends
// the stream under `error`.
func open(v any) (event, failure proto.Message, err error) {
	switch v := v.(type) {
	case map[string]any:
		if m, ok := v["result"].(proto.Message); ok {
			return m, nil, nil
		}
	case map[string]proto.Message:
		if m, ok := v["error"]; ok {
			return nil, m, nil
		}
	}
	return nil, nil, fmt.Errorf("a stream cannot carry %T", v)
}

// head reads an event message: its field `id` or `seq`, and its field `event`, or the name of what is set in its oneof `event`.
func head(m protoreflect.Message) (id int64, kind string) {
	d := m.Descriptor()
	if f := d.Fields().ByName("id"); f != nil && f.Kind() == protoreflect.Int32Kind {
		id = m.Get(f).Int()
	}
	if f := d.Fields().ByName("seq"); f != nil && f.Kind() == protoreflect.Int64Kind {
		id = m.Get(f).Int()
	}
	if f := d.Fields().ByName("event"); f != nil && f.Kind() == protoreflect.StringKind {
		return id, m.Get(f).String()
	}
	if o := d.Oneofs().ByName("event"); o != nil {
		if f := m.WhichOneof(o); f != nil {
			return id, string(f.Name())
		}
	}
	return id, "message" // what a browser takes it for
}
