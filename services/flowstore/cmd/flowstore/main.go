// Command flowstore is FlowStoreService alone, over gRPC. `tsumugi serve` runs it together with the other services.
package main

import (
	"context"
	"os"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/app"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
	"github.com/tsumugi-dev/tsumugi/services/internal/lifecycle"
)

type settings struct {
	lifecycle.Settings `yaml:",inline"`
	app.Config         `yaml:",inline"`
	GRPC               grpcserver.Config `yaml:"grpc"`
}

func main() {
	s := settings{
		Settings: lifecycle.DefaultSettings("127.0.0.1:7453", "127.0.0.1:7493"),
		Config:   app.DefaultConfig(), GRPC: grpcserver.DefaultConfig(),
	}
	os.Exit(lifecycle.Main(lifecycle.Program{
		Name: "flowstore", Summary: "keeps nodes and flows as a tree of text files",
		Config: &s, Settings: &s.Settings, GRPC: &s.GRPC,
		Start: func(ctx context.Context, e lifecycle.Env) (lifecycle.App, error) {
			return app.New(ctx, s.Config, app.Deps{Log: e.Log, Metrics: e.Metrics, Alone: true})
		},
		Try: `grpcurl -plaintext -d '{"flow": {"displayName": "夜明けの町"}}' ADDRESS tsumugi.flowstore.v1.FlowStoreService/CreateFlow`,
	}, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
