package write

import (
	"testing"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
)

// Whoever watches is told that `tsumugi write` did it, also of the answers, which the agent stores for it.
func TestEventsNameTheSession(t *testing.T) {
	d := newDesk(t, llmtest.Options{Reply: replies()})
	stream, err := d.flows.WatchEvents(t.Context(), &flowstorev1.WatchEventsRequest{Events: []string{"flow_created", "node_created"}})
	if err != nil {
		t.Fatal(err)
	}
	if hello, err := stream.Recv(); err != nil || hello.GetEvent() != "hello" {
		t.Fatalf("%v, %v", hello, err)
	}
	d.must(Options{File: d.file("夜.txt", "夜、"), Yes: true})
	for _, want := range []string{"flow_created", "node_created", "node_created"} { // the novel and its continuation
		e, err := stream.Recv()
		if err != nil || e.GetEvent() != want || e.GetOrigin() != "tsumugi write" {
			t.Errorf("%v, %v; want %s by tsumugi write", e, err, want)
		}
	}
}
