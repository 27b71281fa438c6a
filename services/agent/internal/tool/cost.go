package tool

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
)

// maxVisits is how often one value of the arguments may be looked at. A schema comes from outside and is run by a library
// that follows every branch: one of 300 bytes can double the work at each level, and one that refers to itself never ends,
// which would end the process.
const maxVisits = 10_000

// maxSteps bounds the work of finding that out: some seconds at worst, for a schema made for it.
const maxSteps = 1_000_000

var (
	errEndless = errors.New("its input schema refers to itself without going into the arguments, so that checking would never end")
	errCostly  = fmt.Errorf("its input schema is too costly to check: one value could be looked at more than %d times", maxVisits)
)

// Keywords by what they apply their schemas to.
var (
	samePlace  = []string{"not", "if", "then", "else"}
	sameLists  = []string{"allOf", "anyOf", "oneOf"}
	anyMember  = []string{"additionalProperties", "unevaluatedProperties", "propertyNames"}
	anyItem    = []string{"items", "additionalItems", "unevaluatedItems", "contains"}
	notAllowed = []string{"$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"}
)

// affordable says whether checking against a schema is bounded.
func affordable(t tree) error {
	w := weigher{together: map[any][]tree{}, visits: map[visit]int{}}
	w.at(t, canon.MaxDepth)
	return w.err
}

// weigher counts how often one value can be looked at, at most: the schemas that apply to a value, and those that each of them
// applies to what is in the value, level by level.
type weigher struct {
	together map[any][]tree
	visits   map[visit]int
	steps    int
	err      error
}

type visit struct {
	node  any
	depth int
}

func (w *weigher) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// spend counts steps of the work, and says whether there are some left.
func (w *weigher) spend(n int) bool {
	if w.steps += n; w.steps > maxSteps {
		w.fail(errCostly)
	}
	return w.err == nil
}

// at counts for a value at a schema and for all that is in the value.
func (w *weigher) at(t tree, depth int) int {
	id := identity(t.node)
	if !w.spend(1) || id == nil || depth == 0 {
		return 1
	}
	if n, ok := w.visits[visit{id, depth}]; ok {
		return n
	}
	all, ok := w.together[id]
	if !ok {
		all = w.apply(t, nil, nil)
		w.together[id] = all
	}
	if !w.spend(len(all)) {
		return 1
	}
	members, items := map[string]int{}, 0
	every := 0
	for _, s := range all {
		for name, sub := range s.named("properties") {
			members[name] += w.at(sub, depth-1)
		}
		for _, sub := range s.named("patternProperties") {
			every += w.at(sub, depth-1)
		}
		every += w.children(s, anyMember, depth)
		items += w.children(s, anyItem, depth)
		for _, k := range []string{"items", "prefixItems"} {
			for _, sub := range s.list(k) {
				items += w.at(sub, depth-1)
			}
		}
	}
	most := max(len(all), items, every)
	for _, n := range members {
		most = max(most, n+every)
	}
	if most > maxVisits {
		w.fail(errCostly)
	}
	w.visits[visit{id, depth}] = most
	return most
}

func (w *weigher) children(s tree, keywords []string, depth int) (n int) {
	for _, k := range keywords {
		if sub, ok := s.child(k); ok {
			n += w.at(sub, depth-1)
		}
	}
	return n
}

// apply adds all the schemas that apply to the same value as t, t among them, each as often as it does.
func (w *weigher) apply(t tree, above []any, out []tree) []tree {
	id := identity(t.node)
	if !w.spend(1+len(above)) || id == nil {
		return out
	}
	for _, a := range above {
		if a == id {
			w.fail(errEndless)
			return out
		}
	}
	if out = append(out, t); len(out) > maxVisits {
		w.fail(errCostly)
		return out
	}
	above = append(above, id)
	for _, k := range notAllowed {
		if _, there := t.object()[k]; there && (k != "$id" || id != identity(t.root)) {
			w.fail(fmt.Errorf("its input schema uses %s, which is not followed", k))
		}
	}
	for _, sub := range t.beside() {
		out = w.apply(sub, above, out)
	}
	target, there, err := t.ref()
	if err != nil {
		w.fail(err)
	} else if there {
		out = w.apply(target, above, out)
	}
	return out
}

// beside are the schemas of t that apply to the same value, but for what $ref names.
func (t tree) beside() []tree {
	var out []tree
	for _, k := range samePlace {
		if sub, ok := t.child(k); ok {
			out = append(out, sub)
		}
	}
	for _, k := range sameLists {
		out = append(out, t.list(k)...)
	}
	for _, k := range []string{"dependentSchemas", "dependencies"} {
		for _, sub := range t.named(k) {
			out = append(out, sub)
		}
	}
	return out
}

// identity tells schemas of one tree apart; nil for what is no object, and applies nothing.
func identity(node any) any {
	m, ok := node.(map[string]any)
	if !ok || len(m) == 0 {
		return nil
	}
	return reflect.ValueOf(m).Pointer()
}
