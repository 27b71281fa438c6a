package yamlx

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// maxProblems bounds what one text can make us write down.
const maxProblems = 100

// Decode reads one document into dst, a pointer to a struct with yaml tags. What the text does not name keeps the value
// that dst has. The error is an *Error with every problem: unknown and doubled keys, values of a wrong form.
//
// It fills structs (`yaml:"key"`, `yaml:",inline"`; a field without a tag is not read), maps with text keys, slices,
// pointers, text, numbers, true and false, time.Duration (`15s`), encoding.TextUnmarshaler, and Node (left as it is).
// A slice or map in the text replaces the one in dst. A key without a value is an error, except for a section.
func Decode(text []byte, dst any) error {
	n, err := Parse(text)
	if err != nil {
		return err
	}
	return DecodeNode(n, dst)
}

// DecodeNode is Decode for a piece of YAML that is parsed already.
func DecodeNode(n *Node, dst any) error {
	d := &decoder{}
	d.value(n, reflect.ValueOf(dst).Elem(), "")
	if len(d.problems) == 0 {
		return nil
	}
	return &Error{Problems: d.problems}
}

type decoder struct{ problems []Problem }

func (d *decoder) add(n *Node, path, format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, Problem{Path: path, Node: n, Message: fmt.Sprintf(format, args...)})
	}
}

var nodeType = reflect.TypeFor[Node]()

func (d *decoder) value(n *Node, v reflect.Value, path string) {
	switch {
	case v.Type() == nodeType:
		v.Set(reflect.ValueOf(*n))
	case v.Kind() == reflect.Pointer:
		d.pointer(n, v, path)
	case d.text(n, v, path):
	case v.Kind() == reflect.Struct:
		d.structure(n, v, path)
	case v.Kind() == reflect.Map:
		d.mapping(n, v, path)
	case v.Kind() == reflect.Slice:
		d.slice(n, v, path)
	default:
		d.scalar(n, v, path)
	}
}

func (d *decoder) pointer(n *Node, v reflect.Value, path string) {
	if null(n) {
		v.SetZero()
		return
	}
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	d.value(n, v.Elem(), path)
}

// text decodes what reads itself from text, and says whether v is of that kind.
func (d *decoder) text(n *Node, v reflect.Value, path string) bool {
	u, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	if !ok {
		return false
	}
	if s, ok := d.plain(n, path); ok {
		if err := u.UnmarshalText([]byte(s)); err != nil {
			d.add(n, path, "%s", err)
		}
	}
	return true
}

func (d *decoder) structure(n *Node, v reflect.Value, path string) {
	if null(n) {
		return // a section with all its lines commented out
	}
	fields := map[string]reflect.Value{}
	collect(v, fields)
	d.entries(n, path, func(key, value *Node, sub string) {
		f, ok := fields[key.Value]
		if !ok {
			d.add(key, sub, "unknown key%s", meant(key.Value, fields))
			return
		}
		d.value(value, f, sub)
	})
}

// collect finds the fields of a struct by key, those of inlined structs included.
func collect(v reflect.Value, out map[string]reflect.Value) {
	for i := range v.NumField() {
		name, rest, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		switch {
		case rest == "inline":
			collect(v.Field(i), out)
		case name != "" && name != "-":
			out[name] = v.Field(i)
		}
	}
}

func meant(word string, fields map[string]reflect.Value) string {
	known := make([]string, 0, len(fields))
	for k := range fields {
		known = append(known, k)
	}
	if k := Closest(word, known); k != "" {
		return "; did you mean " + k + "?"
	}
	return ""
}

// entries visits the keys of a mapping, each once; a doubled key is a problem.
func (d *decoder) entries(n *Node, path string, visit func(key, value *Node, path string)) {
	if n.Kind != Mapping {
		d.add(n, path, "must be a mapping of keys to values")
		return
	}
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		sub := join(path, key.Value)
		if key.Kind != Scalar || key.Tag == "!!merge" {
			d.add(key, path, "has a key that is not plain text")
			continue
		}
		if line, twice := seen[key.Value]; twice {
			d.add(key, sub, "stands here twice, also in line %d", line)
			continue
		}
		seen[key.Value] = key.Line
		visit(key, n.Content[i+1], sub)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *decoder) mapping(n *Node, v reflect.Value, path string) {
	out := reflect.MakeMap(v.Type())
	d.entries(n, path, func(key, value *Node, sub string) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(value, item, sub)
		out.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), item)
	})
	v.Set(out)
}

func (d *decoder) slice(n *Node, v reflect.Value, path string) {
	if n.Tag == textTag {
		n = split(n)
	}
	if n.Kind != Sequence {
		d.add(n, path, "must be a list, such as [a, b]")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.value(item, out.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	v.Set(out)
}

// split makes a list of comma separated text; nothing but space is the empty list.
func split(n *Node) *Node {
	list := &Node{Kind: Sequence}
	if strings.TrimSpace(n.Value) == "" {
		return list
	}
	for part := range strings.SplitSeq(n.Value, ",") {
		list.Content = append(list.Content, Text(strings.TrimSpace(part)))
	}
	return list
}

// plain gives the text of a scalar.
func (d *decoder) plain(n *Node, path string) (string, bool) {
	switch {
	case n.Kind != Scalar:
		d.add(n, path, "must be a single value, not a list or a mapping")
	case null(n):
		d.add(n, path, "has no value; leave the key out for the default")
	case n.Tag == "!!binary" || (n.Tag != textTag && strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!")):
		d.add(n, path, "has the tag %s, which is not known here", n.Tag)
	default:
		return n.Value, true
	}
	return "", false
}

func null(n *Node) bool { return n.Kind == Scalar && n.Tag == "!!null" }

func (d *decoder) scalar(n *Node, v reflect.Value, path string) {
	s, ok := d.plain(n, path)
	if !ok {
		return
	}
	if err := set(v, s); err != nil {
		d.add(n, path, "%s", err)
	}
}

func set(v reflect.Value, s string) error {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		return setDuration(v, s)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
		return nil
	case reflect.Bool:
		return setBool(v, s)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return setInt(v, s)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return setUint(v, s)
	case reflect.Float32, reflect.Float64:
		return setFloat(v, s)
	}
	return errors.New("cannot be set from YAML")
}
