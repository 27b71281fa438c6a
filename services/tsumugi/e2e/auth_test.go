package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth/authtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// guarded is a world that asks for tokens, with a model that follows a script. Of people it knows a in team-a and b in team-b, who may decide.
func guarded(t *testing.T, m mode, also ...func(*settings)) (w *world, a, b string) {
	t.Helper()
	w = prepare(t, m, nobody)
	var tokens []token.Token
	for _, one := range []token.Token{authtest.User("a", "team-a"), authtest.User("b", "team-b")} {
		one.Roles = append(one.Roles, token.Approver)
		tokens = append(tokens, one)
	}
	file, shown := authtest.File(t, append(tokens, authtest.Service("agent"))...)
	script := filepath.Join(t.TempDir(), "script.yaml")
	w.settings.tokens, w.settings.serviceToken = file, filepath.Join(t.TempDir(), "agent.token")
	for name, text := range map[string]string{
		script: fmt.Sprintf("window: 100000\nreplies:\n  - {contains: 固定5項目, text: %q}\n  - text: 続き、そしておわり。\n",
			say("AWAITING_APPROVAL", "pending_user", "plan", draft, "rationale", words)),
		w.settings.backends:     fmt.Sprintf("default: tale\nbackends:\n  tale: {kind: scripted, script: %s}\n", script),
		w.settings.serviceToken: shown[2],
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, set := range also {
		set(&w.settings)
	}
	w.start(t)
	return w, shown[0], shown[1]
}

// asker calls any RPC as somebody, by the service that has it.
type asker struct {
	how   string
	ctx   context.Context
	conns map[protoreflect.FullName]grpc.ClientConnInterface
}

// as gives the callers with a token, over gRPC and over REST; an empty token is none.
func (w *world) as(t *testing.T, token string) []asker {
	t.Helper()
	overGRPC := asker{"gRPC", w.ctx, map[protoreflect.FullName]grpc.ClientConnInterface{}}
	REST := asker{"REST", w.ctx, map[protoreflect.FullName]grpc.ClientConnInterface{}}
	own := *w
	own.http = &http.Client{Transport: bearing{w.http.Transport, token}}
	for _, s := range w.services() {
		conn, err := grpcclient.Dial(s.address, grpcclient.Options{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		w.conns = append(w.conns, conn)
		overGRPC.conns[s.service.FullName()], REST.conns[s.service.FullName()] = conn, overREST{&own}
	}
	return []asker{overGRPC, REST}
}

// bearing sends a token with each request.
type bearing struct {
	http.RoundTripper
	token string
}

func (b bearing) RoundTrip(q *http.Request) (*http.Response, error) {
	if b.token != "" {
		q.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.RoundTripper.RoundTrip(q)
}

type placed struct {
	address string
	service protoreflect.ServiceDescriptor
}

func (w *world) services() []placed {
	return []placed{
		{w.promptbuilder, promptbuilderv1.File_tsumugi_promptbuilder_v1_promptbuilder_proto.Services().Get(0)},
		{w.agent, agentv1.File_tsumugi_agent_v1_agent_proto.Services().Get(0)},
		{w.flowstore, flowstorev1.File_tsumugi_flowstore_v1_flowstore_proto.Services().Get(0)},
	}
}

func message(t *testing.T, d protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	m, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		t.Fatal(err)
	}
	return m.New().Interface()
}

// ask makes a call with a request in JSON, and gives its answers in JSON; of a stream that does not end by itself the first.
func (a asker) ask(t *testing.T, m protoreflect.MethodDescriptor, request string) (string, error) {
	t.Helper()
	q := message(t, m.Input())
	if err := protojson.Unmarshal([]byte(request), q); err != nil {
		t.Fatalf("%s: %v", m.Name(), err)
	}
	conn, name := a.conns[m.Parent().FullName()], fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
	reply := message(t, m.Output())
	if !m.IsStreamingServer() && !m.IsStreamingClient() {
		err := conn.Invoke(a.ctx, name, q, reply)
		return protojson.Format(reply), err
	}
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: m.IsStreamingServer(), ClientStreams: m.IsStreamingClient()}, name)
	if err != nil {
		return "", err
	}
	if err := stream.SendMsg(q); err != nil && !errors.Is(err, io.EOF) { // then RecvMsg says why
		return "", err
	}
	if err := stream.CloseSend(); err != nil {
		return "", err
	}
	var all strings.Builder
	for {
		err := stream.RecvMsg(reply)
		if errors.Is(err, io.EOF) {
			return all.String(), nil
		}
		if err != nil {
			return all.String(), err
		}
		all.WriteString(protojson.Format(reply))
		if x, ok := reply.(*flowstorev1.ExportFlowsResponse); ok {
			all.Write(x.GetChunk())
		}
		if !m.IsStreamingServer() || m.Name() == "WatchEvents" || m.Name() == "WatchSession" {
			return all.String(), nil
		}
		reply = message(t, m.Output())
	}
}

// forged: whoever has a token cannot say that he is somebody else, at none of the services.
func forged(t *testing.T, m mode) {
	w, a, b := guarded(t, m)
	known := w.furnish(t, w.as(t, a)[0])
	x := w.as(t, b)[0]
	for _, pairs := range [][]string{
		{"tsumugi-namespace", "team-a"},
		{"tsumugi-caller-bin", `{"name":"a","namespace":"team-a","roles":["user","admin"]}`},
		{"tsumugi-namespace", "team-a", "tsumugi-caller-bin", `{"name":"a","namespace":"team-a","roles":["service"]}`, "x-user", "a"},
	} {
		liar := x
		liar.ctx = metadata.AppendToOutgoingContext(w.ctx, pairs...)
		for _, c := range foreign {
			if _, err := liar.ask(t, w.methods()[c.method], fill(c.request, known...)); err == nil || !gone(err) {
				t.Errorf("%s with %q: %v", c.method, pairs, err)
			}
		}
	}
	x.ctx = metadata.AppendToOutgoingContext(w.ctx, "authorization", "Bearer "+a) // beside its own
	for _, name := range []string{"GetFlow", "GetGeneration", "ListBackends"} {
		if _, err := x.ask(t, w.methods()[name], `{}`); err == nil || !strings.Contains(err.Error(), "2 authorization values") {
			t.Errorf("%s with two tokens: %v", name, err)
		}
	}
}

// changing: tokens come and go while the services run, and commands say who asks.
func changing(t *testing.T, m mode) {
	w, a, _ := guarded(t, m)
	w.furnish(t, w.as(t, a)[0])
	known := func(token string) (yes, no int) {
		for _, x := range w.as(t, token) {
			for _, name := range []string{"ListFlows", "ListBackends", "GetGeneration"} {
				request := `{}`
				if name == "GetGeneration" {
					request = `{"name": "generations/0196b2c4-0007-7aaa-8bbb-000000000007"}`
				}
				_, err := x.ask(t, w.methods()[name], request)
				if e, ok := apierr.FromStatus(err); ok && e.Code == codes.Unauthenticated {
					no++
				} else {
					yes++
				}
			}
		}
		return yes, no
	}
	command := func(variable string, args ...string) (string, error) {
		var out, beside bytes.Buffer
		cmd := exec.CommandContext(w.ctx, filepath.Join(programs, "tsumugi"), args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "TSUMUGI_TOKEN="+variable), &out, &beside
		if err := cmd.Run(); err != nil {
			return out.String(), fmt.Errorf("%w: %s", err, beside.String())
		}
		return strings.TrimSpace(out.String()), nil
	}
	made, err := command("", "token", "add", "--tokens", w.settings.tokens, "--name", "c", "--namespace", "team-a", "--expires", "90d")
	if err != nil {
		t.Fatal(err)
	}
	if yes, no := known(made); no > 0 {
		t.Errorf("a token that was made while the services run: %d calls answered, %d refused", yes, no)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(made+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	search := []string{"search", "秘密", "--addr", w.flowstore}
	for _, ask := range []func() (string, error){
		func() (string, error) { return command(made, search...) },
		func() (string, error) { return command("", append(search, "--token-file", file)...) },
	} {
		if out, err := ask(); err != nil || !strings.Contains(out, "港") {
			t.Errorf("search: %s %v", out, err)
		}
	}
	if _, err := command("", search...); err == nil || !strings.Contains(err.Error(), "TSUMUGI_TOKEN") {
		t.Errorf("search without a token: %v", err)
	}
	events, err := w.watchAs(t, made)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.Split(made, "_")[1]
	if out, err := command("", "token", "revoke", id, "--tokens", w.settings.tokens); err != nil || !strings.Contains(out, id) {
		t.Errorf("%s %v", out, err)
	}
	if yes, no := known(made); yes > 0 {
		t.Errorf("a token that was revoked while the services run: %d calls answered, %d refused", yes, no)
	}
	if _, err := w.as(t, a)[0].ask(t, w.methods()["UpdateFlow"], fill(`{"flow": {"name": "FLOW", "displayName": "x"}, "updateMask": "displayName"}`)); err != nil {
		t.Fatal(err)
	}
	if e, err := events.Recv(); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("a stream of a revoked token: %v, %v", e, err)
	}
	if out, err := command("", "token", "list", "--tokens", w.settings.tokens); err != nil || strings.Contains(out, id) || !strings.Contains(out, "team-b") {
		t.Errorf("%s %v", out, err)
	}
}

// watchAs watches events as the bearer of a token, and has read the first.
func (w *world) watchAs(t *testing.T, token string) (grpc.ServerStreamingClient[flowstorev1.Event], error) {
	t.Helper()
	conn, err := grpcclient.Dial(w.flowstore, grpcclient.Options{Token: token})
	if err != nil {
		return nil, err
	}
	w.conns = append(w.conns, conn)
	events, err := flowstorev1.NewFlowStoreServiceClient(conn).WatchEvents(w.ctx, &flowstorev1.WatchEventsRequest{})
	if err == nil {
		_, err = events.Recv()
	}
	return events, err
}

// beyondLoopbackWithTokens: with a file of tokens a service may be reached from other machines, its admin port not.
func beyondLoopbackWithTokens(t *testing.T, m mode) {
	if m.name != fourProcesses.name {
		return
	}
	w, a, _ := guarded(t, m)
	for name, args := range map[string][]string{
		"flowstore": {"--data", t.TempDir()}, "promptbuilder": {"--backends", w.settings.backends}, "gateway": nil,
		"agent": {"--backends", w.settings.backends, "--data", w.settings.agent, "--service_token", w.settings.serviceToken},
	} {
		args = append(args, "--auth.tokens", w.settings.tokens)
		p, err := launch(w.ctx, w.settings, 1, name, append(args, "--listen", "0.0.0.0:0", "--admin", "127.0.0.1:0")...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := p.stop(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if _, err := launch(w.ctx, w.settings, 2, name, append(args, "--listen", "127.0.0.1:0", "--admin", "0.0.0.0:0")...); err == nil || !strings.Contains(err.Error(), "admin: ") {
			t.Errorf("%s: its admin port was opened: %v", name, err)
		}
	}
	_, err := launch(w.ctx, w.settings, 2, "agent", "--auth.tokens", w.settings.tokens, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	if err == nil || !strings.Contains(err.Error(), "service_token: must name a file") {
		t.Errorf("an agent that nobody would believe: %v", err)
	}
	if _, err := w.as(t, a)[0].ask(t, w.methods()["ListFlows"], `{}`); err != nil {
		t.Error(err)
	}
}
