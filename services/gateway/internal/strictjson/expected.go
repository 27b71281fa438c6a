package strictjson

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
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

func object(m protoreflect.MessageDescriptor) string {
	if m.FullName() == "google.protobuf.Timestamp" {
		return "a time such as 2026-01-31T12:00:00Z"
	}
	if m.Fields().Len() == 0 {
		return "an empty object"
	}
	return "an object with the fields " + names(m)
}

func names(m protoreflect.MessageDescriptor) string {
	list := make([]string, m.Fields().Len())
	for i := range list {
		list[i] = m.Fields().Get(i).JSONName()
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
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
