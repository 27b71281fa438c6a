package rest

import (
	"cmp"
	"context"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/strictjson"
)

// routeKey is where the context of a call keeps its route.
type routeKey struct{}

// inJSON renames the wrong fields that a service named as in the proto, such as `node.texts[0].token_count`: the caller
// wrote JSON, and where the body is one field of the request, that field stands nowhere in it.
func inJSON(ctx context.Context, st *status.Status) *status.Status {
	route, ok := ctx.Value(routeKey{}).(routes.Route)
	if !ok {
		return st
	}
	p := st.Proto()
	for i, d := range p.GetDetails() {
		wrong := &errdetails.BadRequest{}
		if d.UnmarshalTo(wrong) != nil {
			continue
		}
		for _, v := range wrong.GetFieldViolations() {
			name := jsonPath(route, v.GetField())
			if rest, found := strings.CutPrefix(p.GetMessage(), v.GetField()+": "); found {
				p.Message = cmp.Or(name, "the body") + ": " + rest
			}
			v.Field = name
		}
		renamed, err := anypb.New(wrong)
		if err != nil {
			return st
		}
		p.Details[i] = renamed
	}
	return status.FromProto(p)
}

// jsonPath is the path of a request field in the caller's JSON or query. What is no field of the request stays as it is;
// the field that is the whole body has the empty path.
func jsonPath(route routes.Route, path string) string {
	message := route.Query()
	if route.Upload() {
		if path == string(routes.Chunk) {
			return ""
		}
		path = strings.TrimPrefix(path, string(routes.Options)+".")
	}
	var names []string
	for i, part := range strings.Split(path, ".") {
		name, _, _ := strings.Cut(part, "[")
		var field protoreflect.FieldDescriptor
		if message != nil {
			field = strictjson.Field(message, name)
		}
		if field == nil {
			return path
		}
		message = field.Message()
		if i == 0 && name == route.Body {
			continue
		}
		names = append(names, field.JSONName()+strings.TrimPrefix(part, name))
	}
	return strings.Join(names, ".")
}
