package tool

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// names are the keys of an object that the schemas which apply to it speak of.
type names struct {
	// known are the members by name, patterns those by pattern.
	known    map[string][]tree
	patterns map[string][]tree
	// open says that a schema allows further keys in so many words.
	open bool
	more []tree
	// items are the schemas of the items, where the value is a list.
	items []tree
}

// collect adds what a schema names, and those that apply to the same value.
func (n *names) collect(t tree) {
	for name, sub := range t.named("properties") {
		n.known[name] = append(n.known[name], sub)
	}
	for pattern, sub := range t.named("patternProperties") {
		n.patterns[pattern] = append(n.patterns[pattern], sub)
	}
	for _, k := range []string{"additionalProperties", "unevaluatedProperties"} {
		if more, ok := t.child(k); ok && more.node != false {
			n.open = true
			n.more = append(n.more, more)
		}
	}
	if items, ok := t.child("items"); ok {
		n.items = append(n.items, items)
	}
	n.items = append(n.items, t.list("prefixItems")...)
	if target, there, err := t.ref(); there && err == nil {
		n.collect(target)
	}
	for _, sub := range t.beside() {
		n.collect(sub)
	}
}

// unknown adds the keys that no schema names.
func (e *explainer) unknown(t tree, value any, path string) { e.unnamed([]tree{t}, value, path) }

func (e *explainer) unnamed(schemas []tree, value any, path string) {
	n := names{known: map[string][]tree{}, patterns: map[string][]tree{}}
	for _, t := range schemas {
		n.collect(t)
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			e.unnamed(n.items, item, fmt.Sprintf("%s[%d]", path, i))
		}
	case map[string]any:
		// An inner object of which the schema names no key is one with free keys. Arguments are not.
		free := path != "" && len(n.known) == 0 && len(n.patterns) == 0
		for _, name := range slices.Sorted(maps.Keys(v)) {
			subs, named := n.find(name)
			if !named && !n.open && !free {
				e.add(member(path, name), "is not a parameter%s", n.list())
				continue
			}
			e.unnamed(subs, v[name], member(path, name))
		}
	}
}

// find gives the schemas of a member, and whether any of them names it.
func (n *names) find(name string) (subs []tree, named bool) {
	subs, named = n.known[name]
	for pattern, more := range n.patterns {
		if matches(pattern, name) {
			subs, named = append(slices.Clone(subs), more...), true
		}
	}
	if !named {
		subs = n.more
	}
	return subs, named
}

// list tells what the parameters are.
func (n *names) list() string {
	const most = 20 // names that a sentence can have
	all := slices.Sorted(maps.Keys(n.known))
	if len(all) == 0 {
		return "; there are none"
	}
	if len(all) > most {
		all = append(all[:most:most], "…")
	}
	return "; they are " + PlainLine(strings.Join(all, ", "), MaxDescription)
}
