package jsoninput

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// refused finds everything in a JSON object that a message does not take, each with its path: protojson, which decides, tells the first
// alone.
func refused(text []byte, m protoreflect.Message) (wrong []string) {
	return refusedIn("", text, m)
}

// refusedIn finds it in the object at a path.
func refusedIn(path string, text []byte, m protoreflect.Message) (wrong []string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || strings.HasPrefix(string(m.Descriptor().FullName()), "google.protobuf.") {
		return refusedValue(path, text, m)
	}
	known := m.Descriptor().Fields()
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		f := known.ByJSONName(name)
		if f == nil {
			f = known.ByName(protoreflect.Name(name))
		}
		if f == nil {
			wrong = append(wrong, at+": there is no such field"+meant(name, known))
			continue
		}
		wrong = append(wrong, refusedField(at, fields[name], m, f)...)
	}
	return wrong
}

// refusedField finds it in the value of one field.
func refusedField(at string, value json.RawMessage, m protoreflect.Message, f protoreflect.FieldDescriptor) (wrong []string) {
	var list []json.RawMessage
	switch inner := f.Message(); {
	case inner != nil && f.IsList() && json.Unmarshal(value, &list) == nil && list != nil:
		for i, one := range list {
			wrong = append(wrong, refusedIn(fmt.Sprintf("%s[%d]", at, i), one, m.NewField(f).List().NewElement().Message())...)
		}
		return wrong
	case inner != nil && !f.IsList() && !f.IsMap() && bytes.HasPrefix(value, []byte("{")):
		return refusedIn(at, value, m.NewField(f).Message())
	}
	one, _ := json.Marshal(map[string]json.RawMessage{f.JSONName(): value}) // It was read as JSON.
	return refusedValue(at, one, m.New())
}

// refusedValue has protojson read an object, and tells what it says.
func refusedValue(at string, text []byte, m protoreflect.Message) []string {
	err := protojson.Unmarshal(text, m.New().Interface())
	if err == nil {
		return nil
	}
	said := Plain(err).Error()
	if word := badValue.FindStringSubmatch(said); word != nil {
		if f := m.Descriptor().Fields().ByJSONName(word[1]); f != nil && must(f) != "" {
			said = fmt.Sprintf("must be %s, and is %s", must(f), word[2])
		}
	}
	if strings.Contains(said, "bytes field") {
		said += " (it must be base64; --file takes a file as it is)"
	}
	return []string{strings.TrimPrefix(at+": ", ": ") + said}
}

// badValue is what protojson says of a value that a field does not take, such as a word that an enumeration does not have.
var badValue = regexp.MustCompile(`invalid value for \w+ field (\w+): ([^\[{].*)`)

// must is what the value of a field has to be; empty where protojson says it better.
func must(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.EnumKind:
		return "one of " + strings.Join(valuesOf(f.Enum()), ", ")
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.StringKind:
		return "a text in quotes"
	case protoreflect.Int32Kind:
		return "a whole number of at most 2147483647"
	}
	return ""
}

// valuesOf gives the values of an enumeration without the first, which says nothing.
func valuesOf(e protoreflect.EnumDescriptor) (values []string) {
	for i := 1; i < e.Values().Len(); i++ {
		values = append(values, string(e.Values().Get(i).Name()))
	}
	return values
}

// meant is what a name was probably meant for, and which names there are.
func meant(name string, known protoreflect.FieldDescriptors) string {
	var names []string
	for i := range known.Len() {
		names = append(names, known.Get(i).JSONName())
	}
	if near := yamlx.Closest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; there are " + strings.Join(names, ", ")
}
