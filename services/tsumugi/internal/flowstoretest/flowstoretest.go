// Package flowstoretest is a running flowstore for tests of the commands that talk to one.
package flowstoretest

import (
	"testing"

	"go.uber.org/zap"
	"google.golang.org/grpc"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	flowstore "github.com/tsumugi-dev/tsumugi/services/flowstore/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// Start starts one over an empty folder, which ends with the test.
func Start(t *testing.T) flowstorev1.FlowStoreServiceClient {
	t.Helper()
	a, err := flowstore.New(t.Context(), flowstore.Config{Data: t.TempDir()}, flowstore.Deps{Log: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return flowstorev1.NewFlowStoreServiceClient(testkit.Serve(t, func(r grpc.ServiceRegistrar) { a.Register(r) }))
}
