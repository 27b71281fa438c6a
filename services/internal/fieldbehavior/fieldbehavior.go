// Package fieldbehavior reads the google.api.field_behavior annotations of a message (AIP-203): which REQUIRED fields
// are missing, and which OUTPUT_ONLY fields a caller has no business to set.
//
// It walks nested messages, lists and maps. What a message type demands is found once and kept.
package fieldbehavior

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// rules is what one message type demands of its fields.
type rules struct {
	required, outputOnly, nested []protoreflect.FieldDescriptor
}

var known sync.Map // protoreflect.FullName -> *rules

func rulesOf(d protoreflect.MessageDescriptor) *rules {
	if r, ok := known.Load(d.FullName()); ok {
		return r.(*rules)
	}
	r := &rules{}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		switch {
		case has(f, annotations.FieldBehavior_OUTPUT_ONLY):
			r.outputOnly = append(r.outputOnly, f)
			continue
		case has(f, annotations.FieldBehavior_REQUIRED):
			r.required = append(r.required, f)
		}
		if message(f) != nil {
			r.nested = append(r.nested, f)
		}
	}
	known.Store(d.FullName(), r)
	return r
}

func has(f protoreflect.FieldDescriptor, b annotations.FieldBehavior) bool {
	list, _ := proto.GetExtension(f.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	return slices.Contains(list, b)
}

// Input says whether a caller may set the field: what is OUTPUT_ONLY, or the IDENTIFIER of a resource, only answers hold.
func Input(f protoreflect.FieldDescriptor) bool {
	return !has(f, annotations.FieldBehavior_OUTPUT_ONLY) && !has(f, annotations.FieldBehavior_IDENTIFIER)
}

// message is the type of the messages that a field holds, itself or as items; nil for a field of scalars.
func message(f protoreflect.FieldDescriptor) protoreflect.MessageDescriptor {
	if f.IsMap() {
		return f.MapValue().Message()
	}
	return f.Message()
}

// Missing calls report with the path of every REQUIRED field that is not set, such as `node.texts[2].role`, in the
// order of the fields in the proto, until report says false. An empty list, text, or number 0 counts as not set unless
// the field is `optional`.
func Missing(m proto.Message, report func(path string, f protoreflect.FieldDescriptor) bool) {
	missing(m.ProtoReflect(), "", report)
}

func missing(m protoreflect.Message, prefix string, report func(string, protoreflect.FieldDescriptor) bool) bool {
	r := rulesOf(m.Descriptor())
	for _, f := range r.required {
		if !m.Has(f) && !report(prefix+string(f.Name()), f) {
			return false
		}
	}
	return each(m, prefix, r.nested, func(sub protoreflect.Message, path string) bool {
		return missing(sub, path+".", report)
	})
}

// ClearOutputOnly empties every OUTPUT_ONLY field, as AIP-203 asks: a caller may send back what it was given.
func ClearOutputOnly(m proto.Message) { clearOutput(m.ProtoReflect()) }

func clearOutput(m protoreflect.Message) {
	r := rulesOf(m.Descriptor())
	for _, f := range r.outputOnly {
		m.Clear(f)
	}
	each(m, "", r.nested, func(sub protoreflect.Message, _ string) bool { clearOutput(sub); return true })
}

// each visits the messages that stand in fields, with their paths, until visit says false.
func each(m protoreflect.Message, prefix string, fields []protoreflect.FieldDescriptor, visit func(protoreflect.Message, string) bool) bool {
	for _, f := range fields {
		if !m.Has(f) {
			continue
		}
		path, goOn := prefix+string(f.Name()), true
		switch v := m.Get(f); {
		case f.IsList():
			for i := 0; goOn && i < v.List().Len(); i++ {
				goOn = visit(v.List().Get(i).Message(), path+"["+strconv.Itoa(i)+"]")
			}
		case f.IsMap():
			goOn = eachValue(v.Map(), path, visit)
		default:
			goOn = visit(v.Message(), path)
		}
		if !goOn {
			return false
		}
	}
	return true
}

func eachValue(m protoreflect.Map, path string, visit func(protoreflect.Message, string) bool) bool {
	goOn := true
	m.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		goOn = visit(v.Message(), fmt.Sprintf("%s[%q]", path, k.String()))
		return goOn
	})
	return goOn
}
