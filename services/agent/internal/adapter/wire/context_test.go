package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// What promptbuilder tells of a context is in the agent's reply, every field of it: one that the agent did not carry would be missing
// there without a word.
func TestContextsKeepEveryField(t *testing.T) {
	t.Parallel()
	sent := &promptbuilderv1.BuildContextResponse{}
	fill(t, sent)
	for _, e := range sent.GetEntries() {
		e.Id = "0196b2c4-1111-7aaa-8bbb-0000a1b2c301"
	}
	read, err := Context(sent)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, FromContext(read), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

// fill sets every field of a message to something.
func fill(t *testing.T, m proto.Message) {
	t.Helper()
	r := m.ProtoReflect()
	for i := range r.Descriptor().Fields().Len() {
		f := r.Descriptor().Fields().Get(i)
		switch {
		case f.IsList() && f.Message() != nil:
			fill(t, r.Mutable(f).List().AppendMutable().Message().Interface())
		case f.Kind() == protoreflect.StringKind:
			r.Set(f, protoreflect.ValueOfString("text of "+string(f.Name())))
		case f.Kind() == protoreflect.BoolKind:
			r.Set(f, protoreflect.ValueOfBool(true))
		case f.Kind() == protoreflect.Int32Kind:
			r.Set(f, protoreflect.ValueOfInt32(int32(f.Number())))
		case f.Kind() == protoreflect.EnumKind:
			r.Set(f, protoreflect.ValueOfEnum(f.Enum().Values().Get(1).Number()))
		default:
			t.Fatalf("a field of a kind that the test does not know: %s", f.FullName())
		}
	}
}
