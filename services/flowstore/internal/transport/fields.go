package transport

import (
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/check"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// Collections of names: `nodes/{uuid}`, `flows/{uuid}`.
const (
	nodes = "nodes/"
	flows = "flows/"
)

func nodeName(id uuid.UUID) string { return nodes + id.String() }

func flowName(id uuid.UUID) string { return flows + id.String() }

func nodeNames(ids []uuid.UUID) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = nodeName(id)
	}
	return names
}

// fields reads the fields of a request and collects what is wrong with them.
type fields struct{ apierr.Fields }

// begin starts with the fields that are missing.
func begin(req proto.Message) *fields {
	f := &fields{}
	f.Required(req)
	return f
}

// uuid reads a UUID in its form of 36 characters, upper case too; empty is zero.
func (f *fields) uuid(field, text string) uuid.UUID {
	if text == "" {
		return uuid.UUID{}
	}
	id, err := uuid.Parse(text)
	switch {
	case err != nil || len(text) != 36:
		f.Add(field, "must be a UUID of 36 characters, such as 0192f000-0000-7000-8000-000000000001")
	case id == uuid.UUID{}:
		f.Add(field, "must not be the UUID of zeros alone")
	}
	return id
}

// name reads the name of a node or flow; empty is zero.
func (f *fields) name(field, text, collection string) uuid.UUID {
	if text == "" {
		return uuid.UUID{}
	}
	rest, found := strings.CutPrefix(text, collection)
	if !found || rest == "" {
		f.Add(field, "must be %s and a UUID, such as %s0192f000-0000-7000-8000-000000000001", collection, collection)
		return uuid.UUID{}
	}
	return f.uuid(field, rest)
}

// names reads a list of nodes.
func (f *fields) names(field string, texts []string, limit int) []uuid.UUID {
	if len(texts) > limit {
		f.Add(field, "has %d items; the limit is %d", len(texts), limit)
		return nil
	}
	ids := make([]uuid.UUID, len(texts))
	for i, text := range texts {
		item := field + "[" + strconv.Itoa(i) + "]"
		if ids[i] = f.name(item, text, nodes); text == "" {
			f.Add(item, "is empty")
		}
	}
	return ids
}

// unnamed refuses a name in a resource that is to be made.
func (f *fields) unnamed(field, name, chooser string) {
	if name != "" {
		f.Add(field+".name", "must be empty; %s chooses the id of a new one", chooser)
	}
}

// found adds what the domain found wrong within a field.
func (f *fields) found(within string, list []check.Violation) {
	for _, v := range list {
		f.Add(within+"."+v.Field, "%s", v.Message)
	}
}
