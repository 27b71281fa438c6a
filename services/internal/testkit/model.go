package testkit

import (
	_ "embed" // the template
	"os"
	"sync"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/localmodel"
)

// models are the real model servers of this test binary, by name.
var models = struct {
	sync.Mutex
	running map[string]*localmodel.Server
}{running: map[string]*localmodel.Server{}}

// toolTemplate is a template with a place for tools, in the marks of the Hermes family, which llama.cpp knows. Models of this
// size have none of their own.
//
//go:embed tools.jinja
var toolTemplate string

// Model gives the base URL of a real llama.cpp server with one of localmodel.Models, started once for all tests of a
// package. The test skips where the models are not installed; where TSUMUGI_NEED has `model` they are installed.
func Model(t testing.TB, name string) string {
	t.Helper()
	return ModelOf(t, name, "")
}

// ModelOf is Model for tests that run beside others and look at what the server is doing: each owner has a server of its own.
func ModelOf(t testing.TB, name, owner string) string {
	t.Helper()
	return started(t, name+" of "+owner, localmodel.Options{Model: name})
}

// ModelWithTools is Model of `smollm2` with a template that tells the model of tools. It calls one when it is told to write the
// call (servertest.Calling); by itself it does not.
func ModelWithTools(t testing.TB) string {
	t.Helper()
	return started(t, "smollm2 with tools", localmodel.Options{Model: "smollm2", Template: toolTemplate})
}

// started starts a server unless it runs.
func started(t testing.TB, name string, o localmodel.Options) string {
	t.Helper()
	o.Dir = ModelDir(t)
	models.Lock()
	defer models.Unlock()
	if s := models.running[name]; s != nil {
		return s.URL()
	}
	s, err := localmodel.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	models.running[name] = s
	return s.URL()
}

// ModelDir gives the folder of the installed models, for a test that starts and kills a server of its own. It skips and
// installs as Model does. TSUMUGI_MODEL=off leaves out all tests with a real model.
func ModelDir(t testing.TB) string {
	t.Helper()
	dir, err := localmodel.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case Need("model"):
		if err := localmodel.Install(t.Context(), dir, os.Stderr); err != nil {
			t.Fatal(err)
		}
	case os.Getenv("TSUMUGI_MODEL") == "off":
		t.Skip("TSUMUGI_MODEL=off: tests with a real model are left out")
	case !localmodel.Installed(dir):
		t.Skipf("%s: %v", dir, localmodel.ErrNotInstalled)
	}
	return dir
}

// stopModels ends the model servers before goroutines are counted.
func stopModels() {
	models.Lock()
	defer models.Unlock()
	for _, s := range models.running {
		s.Stop()
	}
}
