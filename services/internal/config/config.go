// Package config fills a settings struct: defaults < YAML file < environment < command line.
//
// The struct holds its defaults when Load begins, and its yaml tags are the keys. An environment variable of ours is
// TSUMUGI_<SERVICE>__<KEY>, with `__` between the levels of a key: TSUMUGI_GATEWAY__HTTP__IDLE_TIMEOUT is the key
// http.idle_timeout of the gateway. A name without `__` is never ours: Kubernetes itself sets TSUMUGI_AGENT_PORT for a
// Service called tsumugi-agent. An unknown key is refused wherever it stands, and every problem is told at once.
package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// Services are the names that may stand in an environment variable. A variable of a service that this process does not
// hold is left alone; any other name is a mistake.
var Services = []string{"AGENT", "FLOWSTORE", "GATEWAY", "PROMPTBUILDER", "TSUMUGI"}

// Source is where settings come from. The zero value is the defaults alone.
type Source struct {
	// File is a YAML file; empty for none. It must exist.
	File string
	// Env are NAME=value pairs, as os.Environ gives them.
	Env []string
	// Sections says which services this process holds and where in the settings they stand: GATEWAY -> `gateway` for all
	// in one process, PROMPTBUILDER -> `` for a program of one service.
	Sections map[string]string
	// Flags are the values of the command line by key, such as `flowstore.data`.
	Flags map[string]string
	// wrong is what is wrong with the command line itself.
	wrong []string
}

// Load fills dst, a pointer to a struct that holds the defaults, then asks every Checker in it. The error is an *Error
// with all problems; dst is not to be used then.
func Load(dst any, src Source) error {
	t := &tree{root: &yamlx.Node{Kind: yamlx.Mapping}, origin: map[*yamlx.Node]string{}}
	whole := t.file(src.File)
	t.environment(src.Env, src.Sections)
	t.commandLine(src.Flags)
	for _, w := range src.wrong {
		t.problems.Add("", "%s", w)
	}
	t.decode(dst)
	if whole { // else the rules would complain of what the file may well say
		t.check(dst)
	}
	return t.problems.Err()
}

// tree is the settings before they are decoded, and where each of its values came from.
type tree struct {
	root     *yamlx.Node
	name     string // of the file
	origin   map[*yamlx.Node]string
	problems Problems
}

// file reads the YAML file and says whether it could be read.
func (t *tree) file(name string) bool {
	if name == "" {
		return true
	}
	t.name = name
	text, err := yamlx.ReadFile(name)
	if err != nil {
		t.problems.Add("", "the file %s cannot be read: %s", name, cause(err))
		return false
	}
	root, err := yamlx.Parse(text)
	if err != nil {
		t.problems.Add("", "the file %s: %s", name, err)
		return false
	}
	t.root = root
	return true
}

// cause is what went wrong, without the name that stands in the sentence already.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func (t *tree) environment(env []string, sections map[string]string) {
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		head, key, levels := strings.Cut(name, "__")
		service, ok := strings.CutPrefix(head+"_", "TSUMUGI_")
		if !ok || !levels {
			continue
		}
		service = strings.TrimSuffix(service, "_")
		section, held := sections[service]
		switch {
		case held:
			t.set(path(section, strings.ToLower(strings.ReplaceAll(key, "__", "."))), value, "environment variable "+name)
		case !slices.Contains(Services, service):
			t.problems.Add("", "environment variable %s: there is no service %q%s", name, service, meant(service))
		}
	}
}

func meant(service string) string {
	if s := yamlx.Closest(strings.ToUpper(service), Services); s != "" {
		return fmt.Sprintf("; did you mean TSUMUGI_%s__...?", s)
	}
	return "; there are " + strings.Join(Services, ", ")
}

// path joins two parts of a key, each of which may be empty.
func path(section, key string) string {
	if section == "" || key == "" {
		return section + key
	}
	return section + "." + key
}

func (t *tree) commandLine(flags map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		t.set(key, flags[key], "command line")
	}
}

// set puts a text at a key, over what stands there.
func (t *tree) set(key, value, origin string) {
	at := t.root
	levels := strings.Split(key, ".")
	for i, level := range levels {
		if at.Kind != yamlx.Mapping {
			t.problems.Add(key, "there is nothing below %s, which is a value (%s)", strings.Join(levels[:i], "."), origin)
			return
		}
		next := t.child(at, level, origin)
		if i == len(levels)-1 {
			*next = *yamlx.Text(value)
			t.origin[next] = origin
			return
		}
		if next.Tag == "!!null" { // a section without lines
			*next = yamlx.Node{Kind: yamlx.Mapping, Line: next.Line}
		}
		at = next
	}
}

// child gives the value of a key and makes an empty section where there is none.
func (t *tree) child(mapping *yamlx.Node, key, origin string) *yamlx.Node {
	if n := yamlx.Get(mapping, key); n != nil {
		return n
	}
	k, v := yamlx.Text(key), &yamlx.Node{Kind: yamlx.Mapping}
	t.origin[k], t.origin[v] = origin, origin
	mapping.Content = append(mapping.Content, k, v)
	return v
}

func (t *tree) decode(dst any) {
	err := yamlx.DecodeNode(t.root, dst)
	var e *yamlx.Error
	if !errors.As(err, &e) {
		return
	}
	for _, p := range e.Problems {
		t.problems.Add(p.Path, "%s%s", p.Message, t.from(p.Node))
	}
}

// from says in brackets where a value came from.
func (t *tree) from(n *yamlx.Node) string {
	switch {
	case n == nil:
		return ""
	case t.origin[n] != "":
		return " (" + t.origin[n] + ")"
	case n.Line > 0 && t.name != "":
		return fmt.Sprintf(" (%s, line %d)", t.name, n.Line)
	}
	return ""
}
