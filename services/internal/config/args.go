package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Args reads a command line of the form `--key value` or `--key=value`, in which a key is any key of the settings
// (`--log.level debug`; `-` for `_` is allowed), into values for Source.Flags. What begins without `--` is returned
// in rest. Unknown keys are refused by Load.
func Args(args []string) (flags map[string]string, rest []string, err error) {
	flags = map[string]string{}
	for i := 0; i < len(args); i++ {
		name, ok := strings.CutPrefix(args[i], "--")
		if !ok || name == "" {
			rest = append(rest, args[i])
			continue
		}
		key, value, has := strings.Cut(name, "=")
		if !has {
			if i++; i == len(args) {
				return nil, nil, fmt.Errorf("--%s needs a value", key)
			}
			value = args[i]
		}
		flags[strings.ReplaceAll(key, "-", "_")] = value
	}
	return flags, rest, nil
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
