package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/edge"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/problem"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// methods are those that a path can have.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// probeKey marks a request that only asks whether its path is known; the value is where the answer goes.
type probeKey struct{}

// matched runs for every request whose path is known, before the generated code.
func (s *surface) matched(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, params map[string]string) {
		pattern, _ := runtime.HTTPPattern(r.Context())
		exact := pattern.Verb() != "" || !strings.Contains(lastSegment(r), ":")
		if found, probing := r.Context().Value(probeKey{}).(*bool); probing {
			*found = exact
			return
		}
		if !exact { // `flows/x:addNodes` also matches the path of GetFlow, but ids have no colon: the verb is wrong
			s.unrouted(r.Context(), s.mux, nil, w, r, http.StatusNotFound)
			return
		}
		edge.SetRoute(r.Context(), pattern.String())
		route, isCall := s.routes[r.Method+" "+pattern.String()]
		if !isCall { // a page
			next(w, r, params)
			return
		}
		ctx, err := s.known(r, route)
		if err != nil {
			s.refuse(r.Context(), w, err)
			return
		}
		r = r.WithContext(ctx)
		prepared, done, err := s.prepare(w, r, route, params)
		if err != nil {
			s.refuse(r.Context(), w, err)
			return
		}
		defer done()
		next(w, prepared, params)
	}
}

func lastSegment(r *http.Request) string {
	return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
}

// unrouted answers where no path, or the path with other methods only, was found.
func (s *surface) unrouted(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, _ int) {
	if ctx.Value(probeKey{}) != nil {
		return
	}
	allow := strings.Join(s.allowed(r), ", ")
	switch {
	case allow == "":
		s.refuse(ctx, w, apierr.New(codes.NotFound, problem.RouteNotFound,
			fmt.Sprintf("there is no path %s; GET /openapi.json lists them all", r.URL.Path)))
	case r.Method == http.MethodOptions:
		w.Header().Set("Allow", allow)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", allow)
		s.refuse(ctx, w, apierr.New(codes.Unimplemented, problem.MethodNotAllowed,
			fmt.Sprintf("the path %s does not take %s; it takes %s", r.URL.Path, r.Method, allow), "allow", allow))
	}
}

// allowed asks the router which methods the path of r has. OPTIONS is answered on every path.
func (s *surface) allowed(r *http.Request) []string {
	var allow []string
	for _, method := range methods {
		found := false
		probe := r.WithContext(context.WithValue(r.Context(), probeKey{}, &found))
		probe.Method = method
		s.mux.ServeHTTP(nil, probe)
		if found {
			allow = append(allow, method)
		}
	}
	if allow != nil {
		allow = append(allow, http.MethodOptions)
	}
	return allow
}
