package routes

import (
	"regexp"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Two calls on one method and path: the generators document the first and route to the last, without a word.
func TestNoTwoCallsShareAPath(t *testing.T) {
	t.Parallel()
	variable := regexp.MustCompile(`\{[^=}]+(=([^}]+))?\}`)
	seen := map[string]protoreflect.FullName{}
	for _, r := range All() {
		shape := r.Method + " " + variable.ReplaceAllStringFunc(r.Path, func(v string) string {
			if pattern := variable.FindStringSubmatch(v)[2]; pattern != "" {
				return pattern
			}
			return "*"
		})
		if other, taken := seen[shape]; taken {
			t.Errorf("%s: both %s and %s", shape, other, r.RPC.FullName())
		}
		seen[shape] = r.RPC.FullName()
	}
}

func TestEveryCallHasAPath(t *testing.T) {
	t.Parallel()
	reached := map[protoreflect.FullName]bool{}
	for _, r := range All() {
		reached[r.RPC.FullName()] = true
	}
	services := Services()
	if len(services) != 3 {
		t.Errorf("%d services, want promptbuilder, agent and flowstore", len(services))
	}
	for _, s := range services {
		for i := range s.Methods().Len() {
			if name := s.Methods().Get(i).FullName(); !reached[name] {
				t.Errorf("%s has no REST path", name)
			}
		}
	}
}

// What the rest of the gateway takes for granted.
func TestShapesOfRoutes(t *testing.T) {
	t.Parallel()
	for _, r := range All() {
		name := r.RPC.FullName()
		// A browser asks before it sends a DELETE to another origin (Fetch standard, CORS-safelisted methods), and gets no leave.
		if (r.Method == "GET" || r.Method == "DELETE") != (r.Body == "") {
			t.Errorf("%s: %s with body %q; a GET or DELETE has none, and another write must have one so that its content type is checked", name, r.Method, r.Body)
		}
		if field := r.RPC.Input().Fields().ByName(protoreflect.Name(r.Body)); r.Body != "" && r.Body != "*" &&
			(field == nil || field.Message() == nil || field.IsList()) {
			t.Errorf("%s: the body %q is no message", name, r.Body)
		}
		chunk, options := r.RPC.Input().Fields().ByName(Chunk), r.RPC.Input().Fields().ByName(Options)
		if r.Upload() && (r.Stream() || chunk == nil || chunk.Kind() != protoreflect.BytesKind || options == nil || options.Message() == nil) {
			t.Errorf("%s: a stream of requests has no form in REST but that of a file: options, then chunks", name)
		}
	}
}

// A 64-bit number is a string in JSON, which breaks callers in JavaScript (grpc-gateway#438): none is in the contract but the
// numbers of events and of rows, which a caller only hands back; those of flowstore begin with the microseconds since 1970.
func TestNoNumbersOf64Bits(t *testing.T) {
	t.Parallel()
	allowed := map[protoreflect.FullName]bool{
		"tsumugi.flowstore.v1.Event.seq": true, "tsumugi.flowstore.v1.Event.last_seq": true, "tsumugi.flowstore.v1.WatchEventsRequest.since_seq": true,
		"tsumugi.agent.v1.BuildNodeContextResponse.store_seq": true,
		"tsumugi.agent.v1.Session.seq":                        true, "tsumugi.agent.v1.SessionEvent.seq": true, "tsumugi.agent.v1.WatchSessionRequest.from_seq": true,
		"tsumugi.agent.v1.AuditRecord.seq": true, "tsumugi.agent.v1.ListAuditRecordsRequest.after_seq": true, "tsumugi.agent.v1.VerifyAuditResponse.bad_seq": true,
		"tsumugi.agent.v1.AuditHead.seq": true, "tsumugi.agent.v1.BrokenRows.first_seq": true, "tsumugi.agent.v1.BrokenRows.last_seq": true,
	}
	seen := map[protoreflect.FullName]bool{}
	var walk func(m protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] || m.ParentFile().Package() == "google.protobuf" {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			switch f.Kind() {
			case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind,
				protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
				if !allowed[f.FullName()] {
					t.Errorf("%s has 64 bits and becomes a string in JSON", f.FullName())
				}
			}
			if f.Message() != nil {
				walk(f.Message())
			}
		}
	}
	for _, r := range All() {
		walk(r.RPC.Input())
		walk(r.RPC.Output())
	}
	if !seen["tsumugi.flowstore.v1.Sampling"] || !seen["tsumugi.agent.v1.Stored"] {
		t.Error("the walk did not reach nested messages")
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	for _, r := range All() {
		if r.RPC.Name() != "AddNode" {
			continue
		}
		if r.Method != "POST" || r.Path != "/v1/{flow=flows/*}:addNode" || r.Body != "*" || r.Stream() ||
			ServiceOf(string(r.RPC.Parent().FullName())) != "flowstore" || !r.InPath("flow") || r.InPath("node") {
			t.Errorf("%+v", r)
		}
		return
	}
	t.Error("AddNode is not there")
}
