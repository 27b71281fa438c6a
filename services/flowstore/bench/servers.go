package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/app"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/bench/peer"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/transport"
	"github.com/tsumugi-dev/tsumugi/services/internal/benchtable"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
)

// server is a running FlowStoreService and a client of it, over TCP on loopback.
type server struct {
	client  flowstorev1.FlowStoreServiceClient
	metrics *prometheus.Registry
	stop    func() error
}

// startFlowstore starts flowstore as it runs in production.
func startFlowstore(ctx context.Context, data string) (*server, error) {
	metrics := prometheus.NewRegistry()
	a, err := app.New(ctx, app.Config{Data: data}, app.Deps{Metrics: metrics})
	if err != nil {
		return nil, err
	}
	return serve(ctx, metrics, a.Register, func() error { return a.Close(ctx) })
}

// startPeer starts the same service over the peer's engine.
func startPeer(ctx context.Context, data string) (*server, error) {
	p, err := peer.New(data, (1+benchtable.Rounds)*createsPerRound)
	if err != nil {
		return nil, err
	}
	service := transport.New(library.New(p, p))
	return serve(ctx, prometheus.NewRegistry(), func(r grpc.ServiceRegistrar) {
		flowstorev1.RegisterFlowStoreServiceServer(r, service)
	}, p.Close)
}

// serve answers on loopback with all interceptors and limits, until stop.
func serve(ctx context.Context, metrics *prometheus.Registry, register func(grpc.ServiceRegistrar), closeStore func() error) (*server, error) {
	s := grpcserver.New(grpcserver.Options{Config: grpcserver.DefaultConfig(), Metrics: metrics})
	register(s.Registrar())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, closeStore())
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	conn, err := grpcclient.Dial(l.Addr().String(), grpcclient.Options{})
	if err != nil {
		return nil, errors.Join(err, s.Stop(ctx), <-served, closeStore())
	}
	return &server{
		client: flowstorev1.NewFlowStoreServiceClient(conn), metrics: metrics,
		stop: func() error { return errors.Join(conn.Close(), s.Stop(ctx), <-served, closeStore()) },
	}, nil
}

// counter reads a metric.
func (s *server) counter(name string) (float64, error) {
	families, err := s.metrics.Gather()
	if err != nil {
		return 0, err
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue(), nil
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}
