package e2e

import (
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// Whatever stands in a field of a request to flowstore, the answer is no fault of ours: what cannot be taken is refused by the name of
// the field, in an answer that every client can read. The contract is read here, so that a new field is asked, too.
func crooked(t *testing.T, m mode) {
	w := open(t, m, nobody)
	l := w.library(t)
	conn := w.dial(t, w.flowstore)
	methods := flowstorev1.File_tsumugi_flowstore_v1_flowstore_proto.Services().Get(0).Methods()
	asked := 0
	for i := range methods.Len() {
		method := methods.Get(i)
		if method.IsStreamingClient() || method.Name() == "WatchEvents" { // what they take that is no field, and a stream without end
			continue
		}
		leaves(method.Input(), nil, func(path []protoreflect.FieldDescriptor) {
			for _, v := range nonsense(path[len(path)-1]) {
				request := l.sound(method)
				put(request, path, v)
				err := w.call(conn, method, request)
				asked++
				if complaint := complain(err, path, v); complaint != "" {
					t.Errorf("%s, %s = %.40v: %s: %v", method.Name(), dotted(path), v, complaint, err)
				}
			}
		})
	}
	if asked < 500 {
		t.Errorf("only %d values were sent", asked)
	}
	w.flow(t, l.flow)
}

// complain says what is wrong with an answer.
func complain(err error, path []protoreflect.FieldDescriptor, v protoreflect.Value) string {
	// Of a number or a word of an enum we know that it is wrong, whatever else is; but an update looks at what its mask names.
	f := path[len(path)-1]
	sure := f.Kind() == protoreflect.EnumKind || f.Kind() == protoreflect.DoubleKind || f.Kind() == protoreflect.Int32Kind && v.Int() < 0
	if _, update := updated(path[0].ContainingMessage()); update {
		sure = false
	}
	got, typed := apierr.FromStatus(err)
	switch {
	case err == nil && sure:
		return "it is taken"
	case err == nil:
		return ""
	case !typed || got.Code == codes.Internal || got.Code == codes.Unknown || got.Code == codes.DataLoss || got.Code == codes.Unimplemented:
		return "a fault of ours"
	case proto.Size(status.Convert(err).Proto()) > 8<<10: // what an HTTP/2 header list holds by default in several clients
		return "an error too large for some clients"
	case got.Code != codes.InvalidArgument && !sure:
		return ""
	}
	for _, violation := range got.Violations {
		if violation.Field != "" && (!sure || strings.HasPrefix(violation.Field, dotted(path))) {
			return ""
		}
	}
	return "the field is not named"
}

// leaves visits every field that a caller may set and that holds no message.
func leaves(d protoreflect.MessageDescriptor, path []protoreflect.FieldDescriptor, visit func([]protoreflect.FieldDescriptor)) {
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		switch here := slices.Concat(path, []protoreflect.FieldDescriptor{f}); {
		case is(f, annotations.FieldBehavior_OUTPUT_ONLY) || f.IsMap():
		case f.Message() != nil:
			leaves(f.Message(), here, visit)
		default:
			visit(here)
		}
	}
}

// nonsense gives values that a field of this kind should not be given.
func nonsense(f protoreflect.FieldDescriptor) (values []protoreflect.Value) {
	switch f.Kind() {
	case protoreflect.StringKind:
		for _, text := range []string{"nonsense", "a\x00\x1b\r\n", "nodes/../../etc/passwd", strings.Repeat("長", 30_000)} {
			values = append(values, protoreflect.ValueOfString(text))
		}
	case protoreflect.Int32Kind:
		for _, n := range []int32{-1, math.MinInt32, math.MaxInt32} {
			values = append(values, protoreflect.ValueOfInt32(n))
		}
	case protoreflect.Int64Kind:
		values = append(values, protoreflect.ValueOfInt64(math.MinInt64), protoreflect.ValueOfInt64(math.MaxInt64))
	case protoreflect.DoubleKind:
		values = append(values, protoreflect.ValueOfFloat64(math.NaN()), protoreflect.ValueOfFloat64(math.Inf(1)))
	case protoreflect.EnumKind:
		values = append(values, protoreflect.ValueOfEnum(999), protoreflect.ValueOfEnum(-1))
	}
	return values
}

// sound makes a request that names what is there.
func (l library) sound(m protoreflect.MethodDescriptor) *dynamicpb.Message {
	names := map[protoreflect.Name]string{
		"flow": l.flow, "node": l.c, "other": l.b, "parent": l.b, "child": l.c, "old_parent": l.b, "new_parent": l.a, "display_name": "名", "revision": "1", "reason": "理由", "query": "一", "name": l.c,
	}
	if strings.HasSuffix(string(m.Name()), "Flow") {
		names["name"] = l.flow
	}
	return named(m, names)
}

// named makes a request whose fields of these names have these texts.
func named(m protoreflect.MethodDescriptor, names map[protoreflect.Name]string) *dynamicpb.Message {
	r := dynamicpb.NewMessage(m.Input())
	for name, text := range names {
		if f := m.Input().Fields().ByName(name); f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() {
			r.Set(f, protoreflect.ValueOfString(text))
		}
	}
	return r
}

// put sets a field within messages that are made where they are missing.
func put(m protoreflect.Message, path []protoreflect.FieldDescriptor, v protoreflect.Value) {
	f := path[0]
	switch {
	case len(path) > 1 && f.IsList():
		put(m.Mutable(f).List().AppendMutable().Message(), path[1:], v)
	case len(path) > 1:
		put(m.Mutable(f).Message(), path[1:], v)
	case f.IsList():
		m.Mutable(f).List().Append(v)
	default:
		m.Set(f, v)
	}
}

// dotted is the path as errors name it: without the number of a last list's item, and not into a time or a mask.
func dotted(path []protoreflect.FieldDescriptor) string {
	var b strings.Builder
	for i, f := range path {
		if strings.HasPrefix(string(f.FullName()), "google.protobuf.") {
			break
		}
		b.WriteString("." + string(f.Name()))
		if f.IsList() && i < len(path)-1 {
			b.WriteString("[0]")
		}
	}
	return b.String()[1:]
}
