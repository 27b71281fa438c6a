package rest

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/stream"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/strictjson"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// prepare checks what the generated code does not look at, reads the body, and gives the call its form and its end.
// done is to be called after the answer.
func (s *surface) prepare(w http.ResponseWriter, r *http.Request, route routes.Route, params map[string]string) (
	prepared *http.Request, done context.CancelFunc, err error) {
	if err := checkMediaType(r, route); err != nil {
		return nil, nil, err
	}
	query, err := checkFields(r, route, params)
	if err != nil {
		return nil, nil, err
	}
	raw, err := s.readBody(w, r, route)
	if err != nil {
		return nil, nil, err
	}
	ctx, done := s.bound(r, route)
	prepared = r.WithContext(context.WithValue(ctx, routeKey{}, route))
	url := *r.URL
	url.RawQuery = query
	prepared.URL = &url
	if prepared.Body = strictjson.NewBody(raw, bound(route, params)); route.Upload() {
		prepared.Body = &upload{options: url.Query(), left: raw}
		prepared.Header.Set("Content-Type", "application/json") // grpc-gateway chooses by it who takes the body apart
	}
	choose(w, prepared, route)
	return prepared, done, nil
}

// bound gives the fields that the path sets, seen from the body: where that is one field of the request, `flow.name` is `name`.
func bound(route routes.Route, params map[string]string) map[string]string {
	inBody := make(map[string]string, len(params))
	for name, value := range params {
		inBody[strings.TrimPrefix(name, route.Body+".")] = value
	}
	return inBody
}

// checkMediaType refuses a write that is not declared as JSON. A browser sends anything else across origins without
// asking first, so this is also what keeps other people's pages from writing.
func checkMediaType(r *http.Request, route routes.Route) error {
	if route.Body == "" {
		return nil
	}
	header := r.Header.Get("Content-Type")
	mediaType, params, err := mime.ParseMediaType(header)
	charset := strings.ToLower(params["charset"])
	encoding := r.Header.Get("Content-Encoding")
	wrong, headers := apierr.Fields{}, map[string]string{}
	if types := mediaTypes(route); err != nil || !slices.Contains(types, mediaType) || charset != "" && charset != "utf-8" {
		wrong.Add("Content-Type", "must be %s, in UTF-8, is %.60q", strings.Join(types, " or "), header)
		headers["content_type"] = header
	}
	if encoding != "" && encoding != "identity" {
		wrong.Add("Content-Encoding", "must be left out, since bodies are not compressed, is %.60q", encoding)
		headers["content_encoding"] = encoding
	}
	refusal, ok := errors.AsType[*apierr.Error](wrong.Err())
	if !ok {
		return nil
	}
	refusal.Reason, refusal.Metadata = problem.UnsupportedMediaType, headers
	return refusal
}

// mediaTypes are those that a body may have.
func mediaTypes(route routes.Route) []string {
	if route.Upload() {
		return []string{"application/json", stream.NDJSON, "application/zip"}
	}
	return []string{"application/json"}
}

// choose picks the form of a stream, and tells grpc-gateway by the one header value that it compares whole.
func choose(w http.ResponseWriter, r *http.Request, route routes.Route) {
	if !route.Stream() {
		r.Header.Del("Accept")
		return
	}
	form := stream.Choose(r.Header.Values("Accept"))
	w.Header().Set("Content-Type", form)
	if route.Download() {
		form = stream.Chunks
		w.Header().Set("Content-Type", stream.NDJSON)
	}
	r.Header.Set("Accept", form)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
}

// bound gives a call its end: a time limit, or for a stream the moment when the gateway stops.
func (s *surface) bound(r *http.Request, route routes.Route) (context.Context, context.CancelFunc) {
	if route.Stream() {
		ctx, cancel := context.WithCancelCause(r.Context())
		stop := context.AfterFunc(s.Streams, func() { cancel(errDraining) })
		return ctx, func() { stop(); cancel(nil) }
	}
	limit := s.Timeout
	if route.Upload() || r.Header.Get(grpcTimeout) != "" { // grpc-gateway reads it, and the shorter limit holds
		limit = s.MaxTimeout
	}
	return context.WithTimeout(r.Context(), limit)
}
