package rest

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/strictjson"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/upstream"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/origin"
)

// lastEventID is what a browser sends when it takes up a stream again. It stands for one of the fields resumed, and wins over
// it: the address with its `after` is the one that the page first opened.
const lastEventID = "Last-Event-ID"

// resumed are the fields that say after which event a stream goes on.
var resumed = []protoreflect.Name{"after", "since_seq", "from_seq"}

// grpcTimeout is the header with the time limit of a call.
const grpcTimeout = "Grpc-Timeout"

// timeLimit is what gRPC over HTTP/2 takes for one (its PROTOCOL-HTTP2, Timeout).
var timeLimit = regexp.MustCompile(`^[0-9]{1,8}[HMSmun]$`)

// maxAuthorization bounds the header Authorization in bytes: with it a call's metadata stays under the 16 KiB that a
// server of ours takes.
const maxAuthorization = 8 << 10

// checkFields checks the fields in the path, the query and the headers, all of them, and returns the query with
// Last-Event-ID in it. grpc-gateway drops parameters that it does not know.
func checkFields(r *http.Request, route routes.Route, params map[string]string) (query string, err error) {
	var wrong apierr.Fields
	for name, value := range params {
		if !utf8.ValidString(value) {
			wrong.Add(name, "the path is not UTF-8")
		}
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		wrong.Add("", "the query cannot be read: %s", err)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if fault := checkParameter(route, key, values[key]); fault != "" {
			wrong.Add(key, "%s", fault)
			continue
		}
		if field := parameter(route, key); field.Message() != nil && field.Message().FullName() == fieldMask {
			values.Set(key, protoNames(values.Get(key)))
		}
	}
	checkHeaders(r, &wrong)
	resume(r, route, values, &wrong)
	return values.Encode(), wrong.Err()
}

// resume puts Last-Event-ID into the query of a stream that can be taken up again.
func resume(r *http.Request, route routes.Route, values url.Values, wrong *apierr.Fields) {
	id := r.Header.Get(lastEventID)
	for _, name := range resumed {
		field := route.RPC.Input().Fields().ByName(name)
		if id == "" || field == nil {
			continue
		}
		bits := 64
		if field.Kind() == protoreflect.Int32Kind {
			bits = 32
		}
		if n, err := strconv.ParseInt(id, 10, bits); err != nil || n < 0 {
			wrong.Add(lastEventID, "must be the id of an event, a whole number from 0 on")
		}
		values.Del(string(name))
		values.Set(field.JSONName(), id)
	}
}

// fieldMask names fields of a message in one text, with commas between them. In JSON they are camelCase
// (https://protobuf.dev/programming-guides/json/); the parser of the generated code leaves them so.
const fieldMask = "google.protobuf.FieldMask"

// protoNames gives names of fields as the protos write them.
func protoNames(names string) string {
	var b strings.Builder
	for _, r := range names {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// checkHeaders checks the headers that go on to the service. grpc-gateway drops a value that metadata cannot carry.
func checkHeaders(r *http.Request, wrong *apierr.Fields) {
	if len(strings.Join(r.Header.Values("Authorization"), "")) > maxAuthorization {
		wrong.Add("Authorization", "must be at most %d bytes", maxAuthorization)
	}
	keys := r.Header.Values(upstream.IdempotencyKey)
	if len(keys) > 1 || len(keys) == 1 && uuid.Validate(keys[0]) != nil {
		wrong.Add("Idempotency-Key", "must be one UUID")
	}
	if names := r.Header.Values(origin.Key); len(names) > 1 || len(names) == 1 && !origin.Valid(names[0]) {
		wrong.Add("Tsumugi-Client", "%s", origin.Rule)
	}
	if limit := r.Header.Get(grpcTimeout); limit != "" && !timeLimit.MatchString(limit) {
		wrong.Add(grpcTimeout, "must be a time limit such as 30S: up to 8 digits and H, M, S (seconds), m (milliseconds), u or n, is %.20q", limit)
	}
}

// checkParameter says what is wrong with one parameter of a query, or nothing.
func checkParameter(route routes.Route, key string, values []string) string {
	field := parameter(route, key)
	if field == nil {
		return "there is no such parameter; " + strictjson.Instead(key, parameters(route))
	}
	for _, v := range values {
		if !utf8.ValidString(v) {
			return "is not UTF-8"
		}
	}
	if len(values) > 1 && !field.IsList() {
		return "is given more than once"
	}
	// The parser of the generated code judges, on a message that is thrown away.
	trial := dynamicpb.NewMessage(route.Query())
	if runtime.PopulateQueryParameters(trial, url.Values{key: values}, &utilities.DoubleArray{}) != nil {
		return "must be " + strictjson.Expected(field)
	}
	return ""
}

// parameter is the request field that a parameter such as `pageSize` or `story.title` sets; nil where there is none.
// Fields that the path or the body give are none.
func parameter(route routes.Route, key string) protoreflect.FieldDescriptor {
	message := route.Query()
	var field protoreflect.FieldDescriptor
	for i, name := range strings.Split(key, ".") {
		if i > 0 {
			if field.Message() == nil || field.IsList() {
				return nil
			}
			message = field.Message()
		}
		if field = strictjson.Field(message, name); field == nil || i == 0 && !free(route, field) {
			return nil
		}
	}
	return field
}

// free says that neither path nor body give the field. The body of an upload is a file and gives none.
func free(route routes.Route, field protoreflect.FieldDescriptor) bool {
	return route.Upload() || route.Body != "*" && route.Body != string(field.Name()) && !route.InPath(field.Name())
}

func parameters(route routes.Route) []string {
	var names []string
	fields := route.Query().Fields()
	for i := range fields.Len() {
		if free(route, fields.Get(i)) {
			names = append(names, fields.Get(i).JSONName())
		}
	}
	return names
}
