package strictjson

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tsumugi-dev/tsumugi/services/internal/fieldbehavior"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// Expected says in words what a value of the field must be, such as `a whole number from 0 to 4294967295`.
func Expected(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.StringKind:
		return "a string of whole Unicode characters"
	case protoreflect.BytesKind:
		return "a string in base64"
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "a number"
	case protoreflect.EnumKind:
		return "one of " + values(f.Enum())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return object(f.Message())
	}
	return wholeNumber(f.Kind())
}

func wholeNumber(k protoreflect.Kind) string {
	switch k {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return fmt.Sprintf("a whole number from %d to %d", math.MinInt32, math.MaxInt32)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return fmt.Sprintf("a whole number from 0 to %d", uint32(math.MaxUint32))
	}
	return "a whole number of 64 bits"
}

// object says what a message is made of. What only answers hold is no advice to one who asks.
func object(m protoreflect.MessageDescriptor) string {
	if m.FullName() == "google.protobuf.Timestamp" {
		return "a time such as 2026-01-31T12:00:00Z"
	}
	names := inputs(m)
	if len(names) == 0 {
		return "an empty object"
	}
	return "an object with the fields " + strings.Join(names, ", ")
}

// inputs are the JSON names of the fields that a caller may set.
func inputs(m protoreflect.MessageDescriptor) []string {
	var names []string
	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); fieldbehavior.Input(f) {
			names = append(names, f.JSONName())
		}
	}
	return names
}

// Instead says, behind a name that is not known, which one was probably meant, and which there are.
func Instead(name string, known []string) string {
	switch near := yamlx.Closest(name, known); {
	case len(known) == 0:
		return "there are none here"
	case near != "":
		return "did you mean " + near + "? There are " + strings.Join(known, ", ")
	}
	return "there are " + strings.Join(known, ", ")
}

// values leaves out the zero value, which says nothing.
func values(e protoreflect.EnumDescriptor) string {
	var list []string
	for i := range e.Values().Len() {
		if v := e.Values().Get(i); v.Number() != 0 {
			list = append(list, string(v.Name()))
		}
	}
	return strings.Join(list, ", ")
}
