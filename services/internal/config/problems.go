package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// Checker is a settings struct with rules. Load calls Check once everything is filled in, for every struct at any depth,
// so a Check looks at its own fields only, and its keys are relative to its own struct.
type Checker interface{ Check(p *Problems) }

// Problems collects what is wrong in settings. The zero value is ready to use.
type Problems struct{ list []problem }

type problem struct{ key, message string }

// Add notes that the value of a key, such as `http.max_body`, is wrong and what would be right.
func (p *Problems) Add(key, format string, args ...any) {
	p.list = append(p.list, problem{key, fmt.Sprintf(format, args...)})
}

// AddFile notes what is wrong with a file that the value of a key names, so that it is told together with all else that is
// wrong in the settings: each problem of a *yamlx.Error by itself, any other error as it is, nil not at all.
func (p *Problems) AddFile(key, path string, err error) {
	var wrong *yamlx.Error
	switch {
	case errors.As(err, &wrong):
		for _, problem := range wrong.Problems {
			p.Add(key, "the file %s: %v", path, problem)
		}
	case err != nil:
		p.Add(key, "%v", err)
	}
}

// Err is nil where nothing was noted, else an *Error.
func (p *Problems) Err() error {
	if len(p.list) == 0 {
		return nil
	}
	return &Error{p.lines()}
}

func (p *Problems) lines() []string {
	out := make([]string, len(p.list))
	for i, x := range p.list {
		out[i] = x.message
		if x.key != "" {
			out[i] = x.key + ": " + x.message
		}
	}
	return out
}

// Error is everything that is wrong in settings, each problem one line that begins with its key.
type Error struct{ Lines []string }

// Error lists the problems for a person at a terminal.
func (e *Error) Error() string {
	if len(e.Lines) == 1 {
		return "the configuration has a problem:\n  " + e.Lines[0]
	}
	return fmt.Sprintf("the configuration has %d problems:\n  %s", len(e.Lines), strings.Join(e.Lines, "\n  "))
}

// check asks every Checker. A key that could not be decoded is not complained of twice: its value is the default.
func (t *tree) check(dst any) {
	broken, told := map[string]bool{}, map[problem]bool{}
	for _, p := range t.problems.list {
		broken[p.key] = true
	}
	ask(reflect.ValueOf(dst).Elem(), "", func(p problem) {
		if broken[p.key] || told[p] {
			return
		}
		told[p] = true
		t.problems.Add(p.key, "%s%s", p.message, t.from(t.find(p.key)))
	})
}

// ask calls Check on v and on the structs in it. An inlined struct lends its Check to the outer one, so the same
// problem may be told twice.
func ask(v reflect.Value, prefix string, tell func(problem)) {
	if v.CanInterface() {
		if c, ok := v.Addr().Interface().(Checker); ok {
			var own Problems
			c.Check(&own)
			for _, p := range own.list {
				tell(problem{path(prefix, p.key), p.message})
			}
		}
	}
	for key, f := range fields(v) {
		if f.Kind() == reflect.Pointer {
			f = f.Elem()
		}
		if f.Kind() == reflect.Struct {
			ask(f, path(prefix, key), tell)
		}
	}
}

// fields gives the fields of a struct with their keys, in order; an inlined struct has the empty key.
func fields(v reflect.Value) func(yield func(string, reflect.Value) bool) {
	return func(yield func(string, reflect.Value) bool) {
		for i := range v.NumField() {
			key, rest, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			if rest != "inline" && (key == "" || key == "-") {
				continue
			}
			if !yield(key, v.Field(i)) {
				return
			}
		}
	}
}

// find gives the node of a key, nil where only the default stands.
func (t *tree) find(key string) *yamlx.Node {
	n := t.root
	for level := range strings.SplitSeq(key, ".") {
		n = yamlx.Get(n, level)
	}
	return n
}
