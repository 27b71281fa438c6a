// Package demo does the main job once, in front of a person: a story, continued by a real model, through all services.
//
// It is a client like any other: everything goes over gRPC and REST to a process that `tsumugi serve` would also be.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/backends"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/localmodel"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/allinone"
)

// Options of a demo.
type Options struct {
	// ModelURL is a model server of the person's; empty: the small local model. ModelKind is one of kinds; empty: llamacpp.
	ModelURL, ModelKind string
	// Keep leaves everything running at the end, until ctx ends.
	Keep bool
	// Out is where the demo shows.
	Out io.Writer
}

// Run shows everything, cleans up after itself and then says that it is ok. An error is one sentence that says what to do.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := run(ctx, o); err != nil {
		return err
	}
	fmt.Fprintln(o.Out, "\ndemo: ok")
	return nil
}

// kinds are those of model servers of which an address is all that must be known, the usual one first.
var kinds = []string{llamacpp.Kind, koboldcpp.Kind}

// check tells all that is wrong with what the person named.
func (o Options) check() error {
	var wrong []string
	u, err := url.Parse(o.ModelURL)
	switch {
	case o.ModelURL == "" && o.ModelKind != "":
		wrong = append(wrong, "MODEL_KIND (--model-kind) is given without MODEL_URL (--model-url), the address of the model server")
	case o.ModelURL != "" && (err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https")):
		wrong = append(wrong, fmt.Sprintf("MODEL_URL (--model-url) is %q; it must be an address such as http://127.0.0.1:8080", o.ModelURL))
	}
	if o.ModelKind != "" && !slices.Contains(kinds, o.ModelKind) {
		wrong = append(wrong, fmt.Sprintf("MODEL_KIND (--model-kind) is %q; it must be %s", o.ModelKind, strings.Join(kinds, " or ")))
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

// lookLimit is how long the person's model server may take to say who it is.
const lookLimit = 15 * time.Second

// look asks the person's model server who it is, before anything is shown.
func (o Options) look(ctx context.Context) error {
	if o.ModelURL == "" {
		return nil
	}
	set, err := backends.Parse([]byte(o.server().backendsFile()))
	if err != nil {
		return fmt.Errorf("MODEL_URL is %q: %w", o.ModelURL, err)
	}
	defer set.Close() //nolint:errcheck // one question was asked
	counter, err := set.Counter("")
	if err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	_, err = counter.Window(asked)
	var trouble *llm.Error
	switch {
	case ctx.Err() != nil:
		return errStopped
	case errors.As(err, &trouble):
		return fmt.Errorf("MODEL_URL names %s: %s; without MODEL_URL the demo brings a small model of its own", o.ModelURL, trouble.Message)
	}
	return err
}

// errStopped is for a person who did not wait.
var errStopped = errors.New("the demo was stopped before its end; what it had started is stopped too")

// run is the demo with its cleanup.
func run(ctx context.Context, o Options) (err error) {
	if err := o.look(ctx); err != nil {
		return err
	}
	p := &page{out: o.Out}
	model, stopModel, err := p.model(ctx, o)
	if err != nil {
		return err
	}
	defer stopModel()
	data, err := os.MkdirTemp("", "tsumugi-demo-")
	if err != nil {
		return fmt.Errorf("there is no place for the demo's data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	process, err := open(ctx, data, model)
	if err != nil {
		return fmt.Errorf("the demo cannot start: %w", err)
	}
	stopped := make(chan error, 1)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() { stopped <- process.Run(running, lifecycle.Options{Signals: make(chan os.Signal)}) }()
	defer func() { stop(); err = errors.Join(err, <-stopped) }()

	err = p.tell(ctx, process, data, model)
	switch {
	case ctx.Err() != nil:
		return errStopped
	case err != nil:
		return err
	}
	if o.Keep {
		p.title("It keeps running")
		p.line("gRPC %s, REST http://%s, data in %s. Stop it with Ctrl-C.", process.GRPC(), process.HTTP(), data)
		<-ctx.Done()
	}
	return nil
}

// server is the model server that the demo uses.
type server struct{ kind, url, what string }

// server is the person's.
func (o Options) server() server {
	return server{kind: cmp.Or(o.ModelKind, kinds[0]), url: o.ModelURL, what: "the model at " + o.ModelURL}
}

// model finds or starts the model server.
func (p *page) model(ctx context.Context, o Options) (server, func(), error) {
	p.title("A model server")
	if o.ModelURL != "" {
		p.line("yours, at %s", o.ModelURL)
		return o.server(), func() {}, nil
	}
	dir, err := localmodel.DefaultDir()
	if err != nil {
		return server{}, nil, err
	}
	if err := localmodel.Install(ctx, dir, indented{o.Out}); err != nil {
		return server{}, nil, err
	}
	s, err := localmodel.Start(ctx, localmodel.Options{Dir: dir, Model: "gemma"})
	if err != nil {
		return server{}, nil, err
	}
	p.line("Gemma 3 270M (base) on llama.cpp at %s, from %s", s.URL(), dir)
	return server{kind: llamacpp.Kind, url: s.URL(), what: "Gemma 3 270M"}, s.Stop, nil
}

// open makes a process on free ports that knows one model server.
func open(ctx context.Context, data string, m server) (*allinone.Process, error) {
	file := filepath.Join(data, "backends.yaml")
	if err := os.WriteFile(file, []byte(m.backendsFile()), 0o600); err != nil {
		return nil, fmt.Errorf("the demo's backends file cannot be written: %w", err)
	}
	cfg := allinone.DefaultConfig()
	cfg.Listen = allinone.Listen{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	cfg.Backends = file
	cfg.FlowStore.Data, cfg.Agent.Data = filepath.Join(data, "flowstore"), filepath.Join(data, "agent")
	return allinone.Open(ctx, cfg, zap.NewNop())
}

// backendsFile names one model server.
func (m server) backendsFile() string {
	return fmt.Sprintf("default: demo\nbackends:\n  demo:\n    kind: %q\n    address: %q\n", m.kind, m.url)
}

// indented writes lines below a title.
type indented struct{ out io.Writer }

func (i indented) Write(text []byte) (int, error) {
	if _, err := fmt.Fprintf(i.out, "   %s", text); err != nil {
		return 0, err
	}
	return len(text), nil
}
