package format

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// editedNodeIndex reads an index.yaml of any form: of the seed, or with comments and an order of somebody's own. yaml.v3
// only parses: it would compare all keys of a mapping with each other to fill a map or struct (cases/perf.md 10).
func editedNodeIndex(text []byte) (x NodeIndex, err error) {
	r := &flowReader{}
	ids := newKeys(compareIDs, 0)
	x.Updated, err = r.metadata(text, "nodes", func(key, value *yamlx.Node) {
		place := "nodes." + cut(key.Value)
		id, err := parseID(key.Value)
		switch {
		case err != nil:
			r.problem(key, place, "%s; it is left out", err)
		case !ids.first(id):
			r.problem(key, "nodes."+id.String(), "stands there twice; the first counts")
		case value.Kind != yamlx.Mapping && !isNull(value):
			r.problem(value, place, "must be a mapping of keys to values; it is left out")
		default:
			r.keys = r.mapping(place, value)
			x.Nodes = append(x.Nodes, NodeEntry{
				ID: id, Created: r.time("timestamp"), Summary: r.text(place+".summary", r.keys["summary"]),
				Keywords: r.list(place+".keywords", r.keys["keywords"]),
			})
		}
	})
	x.Problems = first(r.problems)
	return x, err
}

// editedTags reads a tags.yaml of any form. A tag is what stands there, whatever YAML would make of it: `yes`, `null`.
func editedTags(text []byte) (x TagIndex, err error) {
	r := &flowReader{}
	names := newKeys(strings.Compare, 0)
	x.Updated, err = r.metadata(text, "tags", func(key, value *yamlx.Node) {
		place := "tags." + cut(key.Value)
		if !names.first(key.Value) {
			r.problem(key, place, "stands there twice; the first counts")
			return
		}
		t := TagEntry{Tag: key.Value}
		ids := newKeys(compareIDs, 0)
		for _, item := range r.sequence(place, value) {
			id, err := parseID(item.Value)
			switch {
			case err != nil:
				r.problem(item, place, "%s; it is left out", err)
			case !ids.first(id):
				r.problem(item, place+"."+id.String(), "stands there twice; the first counts")
			default:
				t.Nodes = append(t.Nodes, id)
			}
		}
		if len(t.Nodes) > 0 {
			x.Tags = append(x.Tags, t)
		}
	})
	x.Problems = first(r.problems)
	return x, err
}

// metadata goes through the entries under a key of a metadata file.
func (r *flowReader) metadata(text []byte, key string, visit func(key, value *yamlx.Node)) (updated time.Time, err error) {
	f, err := readFlow(text)
	if err != nil {
		return time.Time{}, err
	}
	r.problems = f.problems
	entries := f.keys[key]
	if entries == nil || entries.Kind != yamlx.Mapping && !isNull(entries) {
		return time.Time{}, unreadable("has no mapping %q", key)
	}
	for _, k := range slices.Sorted(maps.Keys(f.keys)) {
		if k != key && k != "updated" {
			r.problem(f.keys[k], cut(k), "is not known; it is left out")
		}
	}
	r.keys = f.keys
	updated = r.time("updated")
	for i := 0; i+1 < len(entries.Content); i += 2 {
		visit(entries.Content[i], entries.Content[i+1])
	}
	return updated, nil
}

// first gives as many problems as are told.
func first(problems []string) []string {
	if more := len(problems) - maxProblems; more > 0 {
		return append(problems[:maxProblems:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return problems
}
