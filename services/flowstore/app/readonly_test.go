package app_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// A service whose volume cannot be written starts, says so in /readyz, answers what is read, searches and events included, and
// tells every writer why it does not write.
func TestAVolumeThatIsReadOnlyAtStart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	c := client(t, a)
	flow := newFlow(t, c)
	if _, err := add(c, flow, "夜明け前の町は静かだった。", ""); err != nil {
		t.Fatal(err)
	}
	before := path(t, c, flow)
	stop(t, a)
	testkit.ReadOnly(t, data)
	a = start(t, data)
	defer stop(t, a)
	c = client(t, a)
	if diff := cmp.Diff(before, path(t, c, flow), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	found, err := c.SearchNodes(t.Context(), &flowstorev1.SearchNodesRequest{Query: "静か"})
	if err != nil || found.GetTotalSize() != 1 {
		t.Errorf("found %v: %v", found, err)
	}
	events, err := c.WatchEvents(t.Context(), &flowstorev1.WatchEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := events.Recv(); err != nil || e.GetEvent() != "hello" {
		t.Errorf("the first event is %v: %v", e, err)
	}
	for name, write := range map[string]func() error{
		"CreateFlow": func() error {
			_, err := c.CreateFlow(t.Context(), &flowstorev1.CreateFlowRequest{Flow: &flowstorev1.Flow{DisplayName: "朝"}})
			return err
		},
		"AddNode": func() error { _, err := add(c, flow, "朝だった。", ""); return err },
		"DeleteFlow": func() error {
			_, err := c.DeleteFlow(t.Context(), &flowstorev1.DeleteFlowRequest{Name: flow})
			return err
		},
		"FlushStore": func() error { _, err := c.FlushStore(t.Context(), &flowstorev1.FlushStoreRequest{}); return err },
	} {
		e, ok := apierr.FromStatus(write())
		if !ok || e.Code != codes.Unavailable || e.Reason != "STORE_READ_ONLY" || e.Metadata["cause"] == "" {
			t.Errorf("%s is answered with %+v", name, e)
		}
	}
	check := a.Ready(t.Context())[0]
	if check.OK || !strings.Contains(check.Message, "cannot write") {
		t.Errorf("/readyz says %+v", check)
	}
}
