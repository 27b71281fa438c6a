// Package testkit is what tests of every service need: a real server and client in one call, reference data, golden
// files, and the check that no goroutine was left behind.
package testkit

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
)

// Main runs the tests of a package and fails when one of them left a goroutine behind:
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
// What the tests of a package share of their own is taken away by after.
func Main(m *testing.M, after ...func()) { goleak.VerifyTestMain(tests{m, after}) }

// tests stops what the tests share before goroutines are counted.
type tests struct {
	m     *testing.M
	after []func()
}

// Run runs them.
func (t tests) Run() int {
	defer func() {
		stopModels()
		for _, end := range t.after {
			end()
		}
	}()
	return t.m.Run()
}

// Need says whether TSUMUGI_NEED asks for something (`race`, `model`, `git`, `strace`): a test that cannot have it then fails
// instead of skipping.
func Need(what string) bool {
	return slices.Contains(strings.Split(os.Getenv("TSUMUGI_NEED"), ","), what)
}

// Serve starts a server with the chain, limits and translation of production and gives a client of ours to it, over
// bufconn. Both end with the test.
func Serve(t testing.TB, register func(grpc.ServiceRegistrar)) *grpc.ClientConn {
	t.Helper()
	_, conn := ServeWith(t, grpcserver.Options{Config: grpcserver.DefaultConfig()}, register)
	return conn
}

// ServeWith is Serve with options, for tests of limits, drains and logs.
func ServeWith(t testing.TB, o grpcserver.Options, register func(grpc.ServiceRegistrar)) (*grpcserver.Server, *grpc.ClientConn) {
	t.Helper()
	server := grpcserver.New(o)
	register(server.Registrar())
	listener := bufconn.Listen(1 << 20)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpcclient.Dial("test", grpcclient.Options{Dialer: listener.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := server.Stop(ctx); err != nil {
			t.Errorf("stopping the server: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	return server, conn
}

// Shared gives the path of reference data, such as `text/kokoro.txt`, and skips the test where it is absent. It is
// looked for in the folder TSUMUGI_SHARED, else in a folder `shared` beside the repository.
func Shared(t testing.TB, path string) string {
	t.Helper()
	folder := os.Getenv("TSUMUGI_SHARED")
	if folder == "" {
		folder = filepath.Join(Root(t), "..", "shared")
	}
	full := filepath.Join(folder, filepath.FromSlash(path))
	if _, err := os.Stat(full); err != nil {
		t.Skipf("reference data is not here: looked for %s (TSUMUGI_SHARED names another folder)", full)
	}
	return full
}

// Root gives the folder of the repository: the nearest one above the test with a go.work.
func Root(t testing.TB) string {
	t.Helper()
	start, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("no go.work above %s", start)
		}
	}
}

// WithoutRace skips a test with the race detector: for one that works on a single goroutine, where it finds nothing and takes minutes.
// `make test` runs it without (tools/withoutrace.sh), which finds it by its name: this and Race stand in the function of a test itself.
func WithoutRace(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("works on one goroutine, and is run without the race detector")
	}
}
