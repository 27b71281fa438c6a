package stream

import (
	"encoding/json"
	"strings"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/gateway/internal/strictjson"
)

var (
	opened    = &agentv1.GenerateNodeEvent{Event: &agentv1.GenerateNodeEvent_Opened{Opened: &agentv1.Opened{Generation: "generations/x"}}}
	text      = &agentv1.GenerateNodeEvent{Id: 3, Event: &agentv1.GenerateNodeEvent_Text{Text: &agentv1.TextPiece{Text: "紡ぎ<b>&\n\r\u2028🧵"}}}
	heartbeat = &agentv1.GenerateNodeEvent{Event: &agentv1.GenerateNodeEvent_Heartbeat{Heartbeat: &agentv1.Heartbeat{}}}
	stored    = &agentv1.GenerateNodeEvent{Id: 4, Event: &agentv1.GenerateNodeEvent_Stored{Stored: &agentv1.Stored{Node: &flowstorev1.Node{}}}}
	failure   = map[string]proto.Message{"error": &spb.Status{Code: 14, Message: "モデルが答えない"}}
)

func result(m proto.Message) map[string]any { return map[string]any{"result": m} }

func TestEvents(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in   any
		want string
	}{
		"no id":     {result(opened), "event: opened\ndata: {\"id\":0,\"opened\":{"},
		"id":        {result(text), "id: 3\nevent: text\ndata: {\"id\":3,\"text\":{\"text\":\"紡ぎ<b>&\\n\\r\u2028🧵\"}}"},
		"heartbeat": {result(heartbeat), ": heartbeat"},
		"stored":    {result(stored), "id: 4\nevent: stored\ndata: {\"id\":4,\"stored\":{\"node\":{"},
		"error":     {failure, "event: error\ndata: {\"code\":14,\"message\":\"モデルが答えない\"}"},
		"other":     {result(&flowstorev1.Edge{From: 1}), "event: message\ndata: {\"from\":1,\"to\":0,\"displayName\":\"\"}"},
	} {
		got, err := Events{strictjson.New()}.Marshal(tt.in)
		if err != nil || !strings.HasPrefix(string(got), tt.want) {
			t.Errorf("%s: %s, %v; want %s", name, got, err, tt.want)
		}
		for _, line := range strings.Split(string(got), "\n") {
			if field, _, ok := strings.Cut(line, ":"); !ok || strings.Contains(field, " ") {
				t.Errorf("%s: %q is no line of an event", name, line)
			}
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]any{"result": result(text), "error": failure} {
		got, err := Lines{strictjson.New()}.Marshal(in)
		if err != nil || strings.ContainsAny(string(got), "\n\r") || strings.Contains(string(got), `\u`) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		var line map[string]json.RawMessage
		if err := json.Unmarshal(got, &line); err != nil || len(line) != 1 || line[name] == nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// Plain JSON, a line and an event have the same keys (grpc-gateway#294).
func TestAllFormsSayTheSame(t *testing.T) {
	t.Parallel()
	m := &agentv1.GenerateNodeEvent{Id: 1, Event: &agentv1.GenerateNodeEvent_Stored{Stored: &agentv1.Stored{}}}
	plain, err := strictjson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	line, _ := Lines{strictjson.New()}.Marshal(result(m))
	event, _ := Events{strictjson.New()}.Marshal(result(m))
	if want := `{"result":` + string(plain) + `}`; string(line) != want {
		t.Errorf("line %s, want %s", line, want)
	}
	if want := "id: 1\nevent: stored\ndata: " + string(plain); string(event) != want {
		t.Errorf("event %s, want %s", event, want)
	}
	if !strings.Contains(string(plain), `"stored":{"node":null,"replayed":false}`) {
		t.Errorf("an empty value has lost its key: %s", plain)
	}
}

func TestWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	for _, in := range []any{nil, "x", map[string]any{"result": 1}, map[string]any{}, map[string]proto.Message{}} {
		if _, err := (Lines{strictjson.New()}).Marshal(in); err == nil {
			t.Errorf("%v became a line", in)
		}
		if _, err := (Events{strictjson.New()}).Marshal(in); err == nil {
			t.Errorf("%v became an event", in)
		}
	}
}
