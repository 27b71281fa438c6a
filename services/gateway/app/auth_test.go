package app_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/gateway/app"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/routes"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth/authtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// asking is a gateway that knows two persons, a program, a session of an agent, and somebody who approves and no more.
func asking(t *testing.T, s *services) (url, path string, shown []string) {
	t.Helper()
	session, approver := authtest.User("b", "default"), authtest.User("c", "default")
	session.Session, approver.Roles = "sessions/0196b2c4-0001-7aaa-8bbb-000000000001", []token.Role{token.Approver}
	path, shown = authtest.File(t, authtest.User("a", "team-a"), authtest.User("b", "default"), authtest.Service("agent"), session, approver)
	server, _ := start(t, s, func(_ *app.Config, d *app.Deps) { d.Auth = authtest.Open(t, path) })
	return server.URL, path, shown
}

var inBraces = regexp.MustCompile(`\{[^}=]*=([^}]*)\}`)

// Without a right token no path of the contract is answered, uploads and streams among them, and nothing else is looked at: each gets
// 401 with the scheme and the problem document. Pages are for everybody, and Host and OPTIONS are as without tokens.
func TestEveryPathAsksForAToken(t *testing.T) {
	t.Parallel()
	s := &services{}
	url, _, shown := asking(t, s)
	for _, r := range routes.All() {
		for name, headers := range map[string][]string{
			"none": nil, "SSE": {"Accept", "text/event-stream"}, "empty": {"Authorization", ""},
			"legacy": {"Grpc-Metadata-Authorization", "Bearer " + shown[0], "Grpcgateway-Authorization", "Bearer " + shown[0]},
		} {
			// All else is wrong, too, and would be told if it were looked at.
			q := newRequest(t, r.Method, url+strings.ReplaceAll(inBraces.ReplaceAllString(r.Path, "$1"), "*", "x")+"?nonsense=1", "{", append(headers, "Content-Type", "text/plain")...)
			got := do(t, q)
			reason, p := got.reason(t)
			if got.status != 401 || reason != "UNAUTHENTICATED" || got.header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(p.Message, "tsumugi token add") {
				t.Errorf("%s %s, %s: %d %s", r.Method, r.Path, name, got.status, got.body)
			}
		}
	}
	if request, _ := s.last(); request != nil {
		t.Errorf("a service got %v", request)
	}
	if got := do(t, newRequest(t, "GET", url+"/v1/nodes/x?nonsense=1", "{", "Authorization", "Bearer "+shown[0])); got.status != 400 {
		t.Errorf("a right token: %d %s", got.status, got.body)
	}
	for _, page := range []string{"/", "/openapi.json"} {
		if got := do(t, newRequest(t, "GET", url+page, "")); got.status != 200 {
			t.Errorf("%s: %d", page, got.status)
		}
	}
	if got := do(t, newRequest(t, "GET", url+"/v1/nodes/"+id, "", "Host", "evil.example", "Authorization", "Bearer "+shown[0])); got.status != 421 {
		t.Errorf("another host: %d", got.status)
	}
	if got := do(t, newRequest(t, "OPTIONS", url+"/v1/nodes", "")); got.status != 204 || got.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("OPTIONS: %d %v", got.status, got.header)
	}
	if got := do(t, newRequest(t, "GET", url+"/v1/nothing", "")); got.status != 404 {
		t.Errorf("no path: %d", got.status)
	}
}

// A token that is right and not for a call is refused before anything else is looked at, too.
func TestEveryPathAsksForARight(t *testing.T) {
	t.Parallel()
	s := &services{}
	url, _, shown := asking(t, s)
	for _, r := range routes.All() {
		for i, may := range map[int]error{
			2: errors.New("a program comes over gRPC"),
			3: auth.Caller{Name: "b", Roles: []token.Role{token.User}, Session: "sessions/x"}.MayCall(r.Call()),
			4: auth.Caller{Name: "c", Roles: []token.Role{token.Approver}}.MayCall(r.Call()),
		} {
			if may == nil {
				continue
			}
			q := newRequest(t, r.Method, url+strings.ReplaceAll(inBraces.ReplaceAllString(r.Path, "$1"), "*", "x")+"?nonsense=1", "{", "Content-Type", "text/plain", "Authorization", "Bearer "+shown[i])
			got := do(t, q)
			if reason, p := got.reason(t); got.status != 403 || reason != apierr.ReasonPermissionDenied || p.Message == "" {
				t.Errorf("%s %s, token %d: %d %s", r.Method, r.Path, i, got.status, got.body)
			}
		}
	}
	if request, _ := s.last(); request != nil {
		t.Errorf("a service got %v", request)
	}
}

// Tricks with headers are refused; what passes goes on to the service as it came, with the namespace that follows from it.
func TestTokensOverREST(t *testing.T) {
	t.Parallel()
	s := &services{}
	url, path, shown := asking(t, s)
	get := func(values ...string) reply {
		q := newRequest(t, "GET", url+"/v1/nodes/"+id, "", "Tsumugi-Namespace", "other", "Grpc-Metadata-Tsumugi-Caller-Bin", "e30=", "Tsumugi-Caller-Bin", "e30=", "X-User", "alice")
		for _, v := range values {
			q.Header.Add("Authorization", v)
		}
		return do(t, q)
	}
	for name, tt := range map[string]struct {
		values []string
		status int
	}{
		"right":                {[]string{"Bearer " + shown[1]}, 200},
		"lower case":           {[]string{"bearer " + shown[1]}, 200},
		"two":                  {[]string{"Bearer " + shown[1], "Bearer " + shown[0]}, 401},
		"the same twice":       {[]string{"Bearer " + shown[1], "Bearer " + shown[1]}, 401},
		"over-long":            {[]string{"Bearer " + strings.Repeat("x", 4000)}, 401},
		"basic":                {[]string{"Basic " + shown[1]}, 401},
		"the token alone":      {[]string{shown[1]}, 401},
		"that of a program":    {[]string{"Bearer " + shown[2]}, 403},
		"for another services": {[]string{"Bearer " + shown[0]}, 403}, // which asks nobody, and would serve it in its own namespace
	} {
		got := get(tt.values...)
		if got.status != tt.status {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if strings.Contains(got.body, shown[1][20:40]) {
			t.Errorf("%s: the secret is told", name)
		}
		if tt.status != 200 {
			got.reason(t)
		}
	}
	get("Bearer " + shown[1])
	_, md := s.last()
	if v := md.Get("authorization"); len(v) != 1 || v[0] != "Bearer "+shown[1] || len(md.Get("tsumugi-caller-bin")) != 0 || len(md.Get("x-user")) != 0 {
		t.Errorf("the service got %v", md)
	}
	authtest.Revoke(t, path, shown[1])
	if got := get("Bearer " + shown[1]); got.status != 401 {
		t.Errorf("revoked: %d", got.status)
	}
	for range 20 {
		get("Bearer " + shown[1])
	}
	if got := get("Bearer " + shown[1]); got.status != 429 || got.header.Get("Retry-After") == "" {
		t.Errorf("too many failures: %d %v", got.status, got.header)
	}
}

// Without a file of tokens of its own the gateway hands on what it gets, each value, so that the service refuses two.
func TestTheTokenGoesOn(t *testing.T) {
	t.Parallel()
	s := &services{}
	server, _ := start(t, s)
	q := newRequest(t, "GET", server.URL+"/v1/nodes/"+id, "")
	q.Header["Authorization"] = []string{"Bearer a", "Bearer b"}
	do(t, q)
	if _, md := s.last(); len(md.Get("authorization")) != 2 {
		t.Errorf("%v", md)
	}
}
