package e2e

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// No RPC forgets a REQUIRED field, neither of an empty request nor of the messages in it: the contract is read here, and
// every call is asked.
func required(t *testing.T, m mode) {
	w := open(t, m, nobody)
	asked := map[string]bool{}
	for _, service := range []struct {
		address string
		file    protoreflect.FileDescriptor
	}{
		{w.promptbuilder, promptbuilderv1.File_tsumugi_promptbuilder_v1_promptbuilder_proto},
		{w.agent, agentv1.File_tsumugi_agent_v1_agent_proto},
		{w.flowstore, flowstorev1.File_tsumugi_flowstore_v1_flowstore_proto},
	} {
		conn := w.dial(t, service.address)
		methods := service.file.Services().Get(0).Methods()
		for i := range methods.Len() {
			for depth := range 4 {
				request := hollow(methods.Get(i).Input(), depth)
				want := unset(request.ProtoReflect(), "")
				if resource, ok := updated(methods.Get(i).Input()); ok {
					// What else of it is required depends on the mask, and that is where nothing of the resource is set: messages in it are.
					if want = []string{resource + ".name"}; depth < 2 {
						want = append(want, "update_mask")
					}
				}
				if len(want) == 0 {
					continue
				}
				asked[string(methods.Get(i).Name())] = true
				err := w.call(conn, methods.Get(i), request)
				got, ok := apierr.FromStatus(err)
				if !ok || got.Code != codes.InvalidArgument || got.Reason != apierr.ReasonInvalidField {
					t.Errorf("%s of %v: %v", methods.Get(i).Name(), request, err)
					continue
				}
				for _, field := range want {
					if !slices.ContainsFunc(got.Violations, func(v apierr.Violation) bool { return v.Field == field }) {
						t.Errorf("%s of %v: %s is not asked for: %v", methods.Get(i).Name(), request, field, got.Violations)
					}
				}
			}
		}
	}
	if len(asked) < 12 {
		t.Errorf("only %d calls have required fields: %v", len(asked), asked)
	}
}

// updated gives the resource of a request to update one.
func updated(d protoreflect.MessageDescriptor) (name string, ok bool) {
	if d.Fields().ByName("update_mask") == nil {
		return "", false
	}
	for i := range d.Fields().Len() {
		if f := d.Fields().Get(i); f.Message() != nil && f.Message().Fields().ByName("etag") != nil {
			return string(f.Name()), true
		}
	}
	return "", false
}

// call makes any call; of a stream it reads the first event.
func (w *world) call(conn grpc.ClientConnInterface, m protoreflect.MethodDescriptor, request proto.Message) error {
	name := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
	answer := dynamicpb.NewMessage(m.Output())
	if !m.IsStreamingServer() {
		return conn.Invoke(w.ctx, name, request, answer)
	}
	stream, err := conn.NewStream(w.ctx, &grpc.StreamDesc{ServerStreams: true}, name)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(request); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return stream.RecvMsg(answer)
}

// mapKey is the key of each map's one entry.
const mapKey = "a"

// hollow makes a message whose messages are there, down to a depth, and in which nothing is set.
func hollow(d protoreflect.MessageDescriptor, depth int) *dynamicpb.Message {
	m := dynamicpb.NewMessage(d)
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		switch {
		case depth == 0 || f.Message() == nil || is(f, annotations.FieldBehavior_OUTPUT_ONLY):
		case f.IsMap():
			if v := f.MapValue().Message(); v != nil {
				m.Mutable(f).Map().Set(protoreflect.ValueOfString(mapKey).MapKey(), protoreflect.ValueOfMessage(hollow(v, depth-1)))
			}
		case f.IsList():
			m.Mutable(f).List().Append(protoreflect.ValueOfMessage(hollow(f.Message(), depth-1)))
		default:
			m.Set(f, protoreflect.ValueOfMessage(hollow(f.Message(), depth-1)))
		}
	}
	return m
}

func is(f protoreflect.FieldDescriptor, b annotations.FieldBehavior) bool {
	list, _ := proto.GetExtension(f.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	return slices.Contains(list, b)
}

// unset gives the paths of all REQUIRED fields that are not set.
func unset(m protoreflect.Message, prefix string) (paths []string) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		path := prefix + string(f.Name())
		switch {
		case !m.Has(f):
			if is(f, annotations.FieldBehavior_REQUIRED) {
				paths = append(paths, path)
			}
		case f.Message() == nil:
		case f.IsMap():
			if f.MapValue().Message() != nil {
				v := m.Get(f).Map().Get(protoreflect.ValueOfString(mapKey).MapKey())
				paths = append(paths, unset(v.Message(), fmt.Sprintf("%s[%q].", path, mapKey))...)
			}
		case f.IsList():
			paths = append(paths, unset(m.Get(f).List().Get(0).Message(), path+"[0].")...)
		default:
			paths = append(paths, unset(m.Get(f).Message(), path+".")...)
		}
	}
	return paths
}
