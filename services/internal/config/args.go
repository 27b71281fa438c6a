package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// arguments reads a command line of the form `--key value` or `--key=value`, in which a key is one of the known ones
// (`--log.level debug`; `-` for `_` is allowed), into values for Source.Flags. A key that is not known needs no value:
// Load refuses it by its name, which says more. wrong is what Load tells beside its own problems.
func arguments(args []string, known []string) (flags map[string]string, wrong []string) {
	flags = map[string]string{}
	for len(args) > 0 {
		name, ok := strings.CutPrefix(args[0], "--")
		if !ok || name == "" {
			wrong = append(wrong, fmt.Sprintf("%q is not a setting; --help lists them", args[0]))
			args = args[1:]
			continue
		}
		args = args[1:]
		key, value, has := strings.Cut(name, "=")
		key = strings.ReplaceAll(key, "-", "_")
		switch {
		case has:
		case len(args) > 0 && !strings.HasPrefix(args[0], "--"):
			value, args = args[0], args[1:]
		case slices.Contains(known, key):
			wrong = append(wrong, fmt.Sprintf("--%s needs a value", key))
			continue
		}
		flags[key] = value
	}
	return flags, wrong
}

// Key is one key of the settings.
type Key struct {
	// Name is the key with its levels, such as `log.level`.
	Name string
	// Value is what it is set to, as one would write it.
	Value string
	// Help is the `help` tag of the field.
	Help string
}

// Keys lists the keys of settings, a pointer to a struct, in the order of its fields.
func Keys(settings any) []Key {
	return keys(reflect.ValueOf(settings).Elem(), "", nil)
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

func keys(v reflect.Value, prefix string, out []Key) []Key {
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag
		name, rest, _ := strings.Cut(tag.Get("yaml"), ",")
		switch {
		case rest != "inline" && (name == "" || name == "-"):
		case f.Kind() == reflect.Struct && !f.Type().Implements(textMarshaler):
			out = keys(f, path(prefix, name), out)
		default:
			out = append(out, Key{path(prefix, name), written(f), tag.Get("help")})
		}
	}
	return out
}

func written(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return written(v.Elem())
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = written(v.Index(i))
		}
		return strings.Join(items, ",")
	}
	if d, ok := v.Interface().(time.Duration); ok {
		return shortDuration(d)
	}
	return fmt.Sprint(v.Interface())
}

// shortDuration is 2m for what Go writes as 2m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}
