package grpcserver_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth/authtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

func bearer(ctx context.Context, shown string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+shown)
}

// Calls and streams alike are refused without exactly one right token, health and reflection are not, and what a caller
// says of itself beside its token is not heard (cases/agent.md c8: names in headers).
func TestTokens(t *testing.T) {
	t.Parallel()
	approver := authtest.User("c", "team-a")
	approver.Roles = []token.Role{token.Approver}
	session := authtest.User("d", "team-a")
	session.Session = "sessions/0196b2c4-0001-7aaa-8bbb-000000000001"
	path, shown := authtest.File(t, authtest.User("a", "team-a"), authtest.User("b", "team-b"), approver, session)
	f := &fake{create: namespaceOf, watch: func(_ *agentv1.WatchGenerationRequest, s grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
		return s.Send(text(auth.From(s.Context()).Name))
	}}
	r := serve(t, f, func(o *grpcserver.Options) { o.Auth, o.Reflection = authtest.Open(t, path), true })
	for name, tt := range map[string]struct {
		pairs []string
		code  codes.Code
		want  string
	}{
		"right":                {[]string{"authorization", "Bearer " + shown[0]}, codes.OK, "a"},
		"lower case":           {[]string{"authorization", "bearer " + shown[0]}, codes.OK, "a"},
		"says another name":    {[]string{"authorization", "Bearer " + shown[0], auth.CallerKey, `{"name":"b","namespace":"team-b","roles":["admin"]}`, "x-user", "b"}, codes.OK, "a"},
		"none":                 {nil, codes.Unauthenticated, ""},
		"empty":                {[]string{"authorization", ""}, codes.Unauthenticated, ""},
		"two":                  {[]string{"authorization", "Bearer " + shown[0], "authorization", "Bearer " + shown[1]}, codes.Unauthenticated, ""},
		"in another key":       {[]string{"grpc-metadata-authorization", "Bearer " + shown[0], "grpcgateway-authorization", "Bearer " + shown[0]}, codes.Unauthenticated, ""},
		"a caller and no more": {[]string{auth.CallerKey, `{"name":"b","namespace":"default","roles":["user"]}`}, codes.Unauthenticated, ""},
		"over-long":            {[]string{"authorization", "Bearer " + shown[0] + strings.Repeat(" ", 300)}, codes.Unauthenticated, ""},
		"another scheme":       {[]string{"authorization", "Basic " + shown[0]}, codes.Unauthenticated, ""},
		"approver alone":       {[]string{"authorization", "Bearer " + shown[2]}, codes.PermissionDenied, ""},
		"session of an agent":  {[]string{"authorization", "Bearer " + shown[3]}, codes.PermissionDenied, ""},
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), tt.pairs...)
		n, err := r.flows.CreateNode(ctx, &flowstorev1.CreateNodeRequest{})
		s, opened := r.agent.WatchGeneration(ctx, &agentv1.WatchGenerationRequest{})
		if opened != nil {
			t.Fatal(opened)
		}
		e, streamed := s.Recv()
		if tt.code == codes.OK {
			if err != nil || streamed != nil || n.GetModel() != "team-a" || n.GetNote() != tt.want || e.GetText().GetText() != tt.want {
				t.Errorf("%s: %v, %v, %v, %v", name, n, err, e, streamed)
			}
			continue
		}
		reason := apierr.ReasonUnauthenticated
		if tt.code == codes.PermissionDenied {
			reason = apierr.ReasonPermissionDenied
		}
		check(t, err, tt.code, reason)
		check(t, streamed, tt.code, reason)
		if strings.Contains(err.Error(), shown[0][20:40]) {
			t.Errorf("%s: the secret is told", name)
		}
	}
	if _, err := grpc_health_v1.NewHealthClient(r.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
	info, err := grpc_reflection_v1.NewServerReflectionClient(r.conn).ServerReflectionInfo(t.Context())
	if err == nil {
		err = info.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	}
	if err == nil {
		_, err = info.Recv()
	}
	if err != nil {
		t.Errorf("reflection: %v", err)
	}
	err = r.conn.Invoke(t.Context(), "/tsumugi.flowstore.v1.FlowStoreService/NoSuchMethod", &flowstorev1.CreateNodeRequest{}, &flowstorev1.Node{})
	check(t, err, codes.Unauthenticated, apierr.ReasonUnauthenticated)
	for _, line := range r.logs.All() {
		for _, f := range line.Context {
			if strings.Contains(f.String, shown[0][20:40]) {
				t.Errorf("the log holds the secret: %v", line)
			}
		}
	}
}

// On a server without a file of tokens who shows the approver secret may decide, and nobody else; what callers say of themselves is not heard from
// either, and what is for another namespace is refused, secret or not.
func TestAgent08TheApproverSecretDecides(t *testing.T) {
	t.Parallel()
	asks, shown := authtest.Approver(t)
	r := serve(t, &fake{create: func(ctx context.Context, _ *flowstorev1.CreateNodeRequest) (*flowstorev1.Node, error) {
		c := auth.From(ctx)
		n := &flowstorev1.Node{Model: c.Namespace, Note: c.Name}
		if c.Has(token.Approver) {
			n.Tags = []string{"decides"}
		}
		return n, nil
	}}, func(o *grpcserver.Options) { o.Auth = asks })
	liar := []string{auth.CallerKey, `{"name":"b","namespace":"default","roles":["approver","service"]}`, "x-user", "alice"}
	elsewhere := []string{auth.NamespaceKey, "team-a"}
	secret := []string{"authorization", "Bearer " + shown}
	for name, tt := range map[string]struct {
		pairs   []string
		decides bool
		code    codes.Code
	}{
		"nothing":                       {nil, false, codes.OK},
		"the secret":                    {secret, true, codes.OK},
		"a lie":                         {liar, false, codes.OK},
		"the secret and a lie":          {append(liar, secret...), true, codes.OK},
		"a wrong one":                   {[]string{"authorization", "Bearer " + shown[:len(shown)-64] + strings.Repeat("0", 64)}, false, codes.Unauthenticated},
		"twice":                         {append(secret, secret...), false, codes.Unauthenticated},
		"another namespace":             {elsewhere, false, codes.PermissionDenied},
		"the secret, another namespace": {append(elsewhere, secret...), false, codes.PermissionDenied},
	} {
		n, err := r.flows.CreateNode(metadata.AppendToOutgoingContext(t.Context(), tt.pairs...), &flowstorev1.CreateNodeRequest{})
		switch tt.code {
		case codes.OK:
			if err != nil || n.GetNote() != auth.LocalName || n.GetModel() != "default" || (len(n.GetTags()) > 0) != tt.decides {
				t.Errorf("%s: %v, %v", name, n, err)
			}
		case codes.Unauthenticated:
			check(t, err, tt.code, apierr.ReasonUnauthenticated)
		default:
			check(t, err, tt.code, apierr.ReasonNamespaceDenied)
		}
	}
}

// A revoked token gets nothing more of a stream that it has opened, whatever the handler makes of that; the next call is refused.
func TestARevokedTokenEndsItsStreams(t *testing.T) {
	t.Parallel()
	path, shown := authtest.File(t, authtest.User("a", "team-a"), authtest.User("b", "team-b"))
	next := make(chan string)
	r := serve(t, &fake{create: namespaceOf, watch: func(_ *agentv1.WatchGenerationRequest, s grpc.ServerStreamingServer[agentv1.GenerateNodeEvent]) error {
		for word := range next {
			if s.Send(text(word)) != nil {
				return nil //nolint:nilerr // what was cut is no matter of this handler
			}
		}
		return nil
	}}, func(o *grpcserver.Options) { o.Auth = authtest.Open(t, path) })
	s, err := r.agent.WatchGeneration(bearer(t.Context(), shown[0]), &agentv1.WatchGenerationRequest{})
	if err != nil {
		t.Fatal(err)
	}
	next <- "before"
	if e, err := s.Recv(); err != nil || e.GetText().GetText() != "before" {
		t.Fatalf("%v, %v", e, err)
	}
	authtest.Revoke(t, path, shown[0])
	next <- "after"
	close(next)
	_, err = s.Recv()
	check(t, err, codes.Unauthenticated, apierr.ReasonUnauthenticated)
	_, err = r.flows.CreateNode(bearer(t.Context(), shown[0]), &flowstorev1.CreateNodeRequest{})
	check(t, err, codes.Unauthenticated, apierr.ReasonUnauthenticated)
	if _, err := r.flows.CreateNode(bearer(t.Context(), shown[1]), &flowstorev1.CreateNodeRequest{}); err != nil {
		t.Errorf("another token: %v", err)
	}
}
