package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/sampling/wire"
)

// TestNothingIsLost: whatever the contract can say comes back, so that a field that is added to it is not forgotten here.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	seen := map[protoreflect.FullName]bool{}
	rapid.Check(t, func(t *rapid.T) {
		in := &flowstorev1.Sampling{}
		fill(t, in.ProtoReflect(), seen)
		if out := wire.FromSampling(wire.Sampling(in)); !proto.Equal(in, out) {
			t.Fatalf("%v came back as %v", in, out)
		}
	})
	if len(seen) < 23 {
		t.Errorf("only %d fields were filled", len(seen))
	}
	if diff := cmp.Diff(wire.Sampling(&flowstorev1.Sampling{}), wire.Sampling(nil)); diff != "" {
		t.Error(diff)
	}
}

// fill sets fields of a message by chance, to values by chance.
func fill(t *rapid.T, m protoreflect.Message, seen map[protoreflect.FullName]bool) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !rapid.Bool().Draw(t, string(f.Name())) {
			continue
		}
		seen[f.FullName()] = true
		if !f.IsList() {
			m.Set(f, value(t, m.NewField(f), f, seen))
			continue
		}
		list := m.Mutable(f).List()
		for range rapid.IntRange(1, 3).Draw(t, "items") {
			list.Append(value(t, list.NewElement(), f, seen))
		}
	}
}

func value(t *rapid.T, empty protoreflect.Value, f protoreflect.FieldDescriptor, seen map[protoreflect.FullName]bool) protoreflect.Value {
	label := string(f.Name())
	switch f.Kind() {
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(rapid.Float64().Draw(t, label))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, label))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, label))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, label))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(rapid.String().Draw(t, label))
	case protoreflect.MessageKind:
		fill(t, empty.Message(), seen)
		return empty
	default:
		t.Fatalf("%s is of kind %s, which the test does not know", f.FullName(), f.Kind())
		return empty
	}
}
