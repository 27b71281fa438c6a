package transport

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/check"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

func nodeNames(ids []uuid.UUID) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = node.Name(id)
	}
	return names
}

// fields reads the fields of a request, collects what is wrong with them, and remembers where each id stood: the domain
// says of which id it speaks, and only here is it known which field that was.
type fields struct {
	apierr.Fields
	places []place
	// etag is the field with the etag, where it is another one than `etag`.
	etag string
	// head is the field with the name of a head, where there is one: at which node it stands only the domain knows.
	head string
	// unnamedIn is the field that leads to nodes which the request does not name, where there is one.
	unnamedIn string
}

// place is a field that holds an id.
type place struct {
	field string
	role  role
	id    uuid.UUID
}

// role is what an id is for.
type role int

const (
	// aNode and aFlow are asked for by name, a neighbour in a list of nodes.
	aNode role = iota
	aFlow
	neighbour
	// chosen is the id of what is to be made.
	chosen
	request
)

// begin starts with the fields that are missing.
func begin(req proto.Message) *fields {
	f := &fields{}
	f.Required(req)
	return f
}

// uuid reads a UUID in its form of 36 characters, upper case too; empty is zero.
func (f *fields) uuid(field, text string, r role) uuid.UUID {
	if text == "" {
		return uuid.UUID{}
	}
	id, err := uuid.Parse(text)
	f.places = append(f.places, place{field, r, id})
	switch {
	case err != nil || len(text) != 36:
		f.Add(field, "must be a UUID of 36 characters, such as 0192f000-0000-7000-8000-000000000001")
	case id == uuid.UUID{}:
		f.Add(field, "must not be the UUID of zeros alone")
	}
	return id
}

// name reads the name of a node or flow; empty is zero.
func (f *fields) name(field, text string, r role) uuid.UUID {
	collection := node.Collection
	if r == aFlow {
		collection = flow.Collection
	}
	if text == "" {
		return uuid.UUID{}
	}
	rest, found := strings.CutPrefix(text, collection)
	if !found || rest == "" {
		f.Add(field, "must be %s and a UUID, such as %s0192f000-0000-7000-8000-000000000001", collection, collection)
		return uuid.UUID{}
	}
	return f.uuid(field, rest, r)
}

// operationRequest is a request for an operation on a flow.
type operationRequest interface {
	GetFlow() string
	GetEtag() string
	GetRequestId() string
}

// operation reads what the operations on a flow have in common.
func (f *fields) operation(req operationRequest) library.Operation {
	return library.Operation{
		Flow: f.name("flow", req.GetFlow(), aFlow), Etag: req.GetEtag(), Request: f.uuid("request_id", req.GetRequestId(), request),
	}
}

// names reads a list of different nodes, or flows.
func (f *fields) names(field string, texts []string, limit int, r role) []uuid.UUID {
	kind := store.KindNode
	if r == aFlow {
		kind = store.KindFlow
	}
	if len(texts) > limit {
		f.Add(field, "has %d items; the limit is %d", len(texts), limit)
		return nil
	}
	ids, firsts := make([]uuid.UUID, len(texts)), make(map[uuid.UUID]int, len(texts))
	for i, text := range texts {
		item := field + "[" + strconv.Itoa(i) + "]"
		if ids[i] = f.name(item, text, r); text == "" {
			f.Add(item, "is empty")
		}
		first, again := firsts[ids[i]]
		switch {
		case again && ids[i] != (uuid.UUID{}):
			f.Add(item, "is %s[%d] again; name each %s once", field, first, kind)
		case !again:
			firsts[ids[i]] = i
		}
	}
	return ids
}

// where gives the fields in which an id stood for one of the roles. An id that stood in none is that of an answer which
// was given before: by its request id it was asked for.
func (f *fields) where(id uuid.UUID, roles ...role) []string {
	var fields, asked []string
	for _, p := range f.places {
		switch {
		case p.id == id && slices.Contains(roles, p.role):
			fields = append(fields, p.field)
		case p.role == request:
			asked = append(asked, p.field)
		}
	}
	if len(fields) == 0 {
		return asked
	}
	return fields
}

// named gives the fields in which a node or flow was named.
func (f *fields) named(kind store.Kind, id uuid.UUID) []string {
	if kind == store.KindFlow {
		return f.where(id, aFlow)
	}
	fields := f.where(id, aNode, neighbour)
	if led := cmp.Or(f.head, f.unnamedIn); led != "" && !slices.ContainsFunc(f.places, func(p place) bool { return p.id == id }) {
		return []string{led}
	}
	return fields
}

// unnamed refuses a name in a resource that is to be made.
func (f *fields) unnamed(field, name, chooser string) {
	if name != "" {
		f.Add(field+".name", "must be empty; %s chooses the id of a new one", chooser)
	}
}

// found adds what the domain found wrong within a field, or in the request where within is empty.
func (f *fields) found(within string, list []check.Violation) {
	for _, v := range list {
		f.Add(strings.TrimPrefix(within+"."+v.Field, "."), "%s", v.Message)
	}
}
