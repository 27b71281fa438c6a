// Package demo does the main job once, in front of a person: a story, continued by a real model, through all services.
//
// It is a client like any other: everything goes over gRPC and REST to a process that `tsumugi serve` would also be.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
	"github.com/tsumugi-dev/tsumugi/services/internal/localmodel"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/allinone"
)

// Options of a demo.
type Options struct {
	// ModelURL is a model server of the person's, of kind ModelKind; empty: the small local model.
	ModelURL, ModelKind string
	// Keep leaves everything running at the end, until ctx ends.
	Keep bool
	// Out is where the demo shows.
	Out io.Writer
}

// Run shows everything and cleans up after itself. An error is one sentence that says what to do.
func Run(ctx context.Context, o Options) (err error) {
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
		return errors.New("the demo was stopped before its end; what it had started is stopped too")
	case err != nil:
		return err
	}
	if o.Keep {
		p.title("It keeps running")
		p.line("gRPC %s, REST http://%s, data in %s. Stop it with Ctrl-C.", process.GRPC(), process.HTTP(), data)
		<-ctx.Done()
	}
	fmt.Fprintln(o.Out, "\ndemo: ok")
	return nil
}

// server is the model server that the demo uses.
type server struct{ url, kind, what string }

// model finds or starts the model server.
func (p *page) model(ctx context.Context, o Options) (server, func(), error) {
	p.title("A model server")
	if o.ModelURL != "" {
		if u, err := url.Parse(o.ModelURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return server{}, nil, fmt.Errorf("MODEL_URL is %q; it must be an address such as http://127.0.0.1:8080", o.ModelURL)
		}
		p.line("yours, at %s", o.ModelURL)
		return server{url: o.ModelURL, kind: o.ModelKind, what: "the model at " + o.ModelURL}, func() {}, nil
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
	return server{url: s.URL(), kind: "llamacpp", what: "Gemma 3 270M"}, s.Stop, nil
}

// open makes a process on free ports that knows one model server.
func open(ctx context.Context, data string, m server) (*allinone.Process, error) {
	file := filepath.Join(data, "backends.yaml")
	text := fmt.Sprintf("default: demo\nbackends:\n  demo:\n    kind: %q\n    address: %q\n", m.kind, m.url)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("the demo's backends file cannot be written: %w", err)
	}
	cfg := allinone.DefaultConfig()
	cfg.Listen = allinone.Listen{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0"}
	cfg.Backends = file
	cfg.FlowStore.Data = filepath.Join(data, "flowstore")
	return allinone.Open(ctx, cfg, zap.NewNop())
}

// indented writes lines below a title.
type indented struct{ out io.Writer }

func (i indented) Write(text []byte) (int, error) {
	if _, err := fmt.Fprintf(i.out, "   %s", text); err != nil {
		return 0, err
	}
	return len(text), nil
}
