package testkit_test

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestServe(t *testing.T) {
	t.Parallel()
	conn := testkit.Serve(t, func(grpc.ServiceRegistrar) {})
	resp, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || resp.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("%v, %v", resp, err)
	}
}

func TestNeed(t *testing.T) {
	t.Setenv("TSUMUGI_NEED", "race,model")
	if !testkit.Need("race") || !testkit.Need("model") || testkit.Need("mod") || testkit.Need("") {
		t.Error("Need")
	}
	t.Setenv("TSUMUGI_NEED", "")
	if testkit.Need("race") {
		t.Error("nothing is asked for")
	}
}

func TestShared(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TSUMUGI_SHARED", dir)
	if err := os.WriteFile(filepath.Join(dir, "x.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := testkit.Shared(t, "x.txt"); got != filepath.Join(dir, "x.txt") {
		t.Errorf("got %s", got)
	}
	t.Run("absent", func(t *testing.T) {
		defer func() {
			if !t.Skipped() {
				t.Error("a test without its data was not skipped")
			}
		}()
		testkit.Shared(t, "none.txt")
		t.Error("it went on")
	})
}

func TestRoot(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join(testkit.Root(t), "services", "internal", "go.mod")); err != nil {
		t.Error(err)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	testkit.Golden(t, "golden.txt", []byte("つむぎ\n"))
}

func TestModel(t *testing.T) {
	t.Parallel()
	if first, second := testkit.Model(t, "smollm2"), testkit.Model(t, "smollm2"); first == "" || first != second {
		t.Errorf("%q and %q", first, second)
	}
}
