package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
)

// schema is the input schema of a tool, ready to check arguments.
type schema struct {
	resolved *jsonschema.Resolved
	// root is the same schema as a tree, for defaults, unknown keys and sentences.
	root tree
}

// tree is a schema as JSON has it: an object, true or false. It finds what a reference inside the schema names.
type tree struct {
	root any
	node any
}

// compile reads a schema. It is refused where it is no object's, cannot be read, or would cost too much to check against.
func compile(text string) (*schema, error) {
	if len(text) > MaxSchema {
		return nil, fmt.Errorf("its input schema has %d bytes, at most %d are taken", len(text), MaxSchema)
	}
	var root map[string]any
	if err := json.Unmarshal([]byte(text), &root); err != nil || root == nil {
		return nil, errors.New("its input schema is no JSON object")
	}
	if root["type"] != "object" {
		return nil, errors.New(`its input schema must have "type": "object", since arguments are an object`)
	}
	var e *canon.Error
	if _, err := canon.JSON([]byte(text)); errors.As(err, &e) && e.Reason != canon.InexactNumber {
		return nil, fmt.Errorf("its input schema is not JSON that everybody reads in one way: %w", err)
	}
	t := tree{root, root}
	if err := affordable(t); err != nil {
		return nil, err
	}
	var read jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		return nil, fmt.Errorf("its input schema cannot be read: %s", PlainLine(err.Error(), MaxTitle))
	}
	resolved, err := read.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		return nil, fmt.Errorf("its input schema cannot be used: %s", PlainLine(err.Error(), MaxTitle))
	}
	return &schema{resolved, t}, nil
}

// at gives another place of the same schema.
func (t tree) at(node any) tree { return tree{t.root, node} }

// object is the schema as an object; nil for true and false.
func (t tree) object() map[string]any {
	m, _ := t.node.(map[string]any)
	return m
}

// child is the schema under a keyword, and whether there is one.
func (t tree) child(keyword string) (tree, bool) {
	c, ok := t.object()[keyword]
	return t.at(c), ok
}

// list are the schemas of a keyword that has a list of them.
func (t tree) list(keyword string) []tree {
	l, _ := t.object()[keyword].([]any)
	out := make([]tree, len(l))
	for i, n := range l {
		out[i] = t.at(n)
	}
	return out
}

// named are the schemas of a keyword that has an object of them.
func (t tree) named(keyword string) map[string]tree {
	m, _ := t.object()[keyword].(map[string]any)
	out := make(map[string]tree, len(m))
	for k, n := range m {
		out[k] = t.at(n)
	}
	return out
}

// ref is the schema that $ref names. An error where it is not inside this one: nothing is ever fetched.
func (t tree) ref() (target tree, there bool, err error) {
	ref, there := t.object()["$ref"].(string)
	if !there {
		return tree{}, false, nil
	}
	node := t.root
	pointer, inside := strings.CutPrefix(ref, "#")
	if !inside || pointer != "" && pointer[0] != '/' {
		return tree{}, true, fmt.Errorf("its input schema refers to %s; only references of the form #/... are followed", quote(ref))
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		next, ok := step(node, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
		if !ok {
			return tree{}, true, fmt.Errorf("its input schema refers to %s, which is not there", quote(ref))
		}
		node = next
	}
	return t.at(node), true, nil
}

// step goes into an object. References into lists and into escaped URLs are rare, and are not followed.
func step(node any, part string) (any, bool) {
	m, _ := node.(map[string]any)
	next, ok := m[part]
	return next, ok
}
