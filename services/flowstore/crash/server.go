package main

import (
	"context"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
)

// server is a running flowstore.
type server struct {
	program *kill.Program
	conn    *grpc.ClientConn
	client  flowstorev1.FlowStoreServiceClient
}

// launch starts the program and does not wait for it.
func launch(ctx context.Context, binary, data string) (*server, error) {
	p, err := kill.Launch(ctx, address, binary, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", data, "--log.level", "error")
	if err != nil {
		return nil, err
	}
	return &server{program: p}, nil
}

// address reads where flowstore answers out of a line of what it says when it does.
func address(line string) (string, bool) {
	_, rest, found := strings.Cut(line, " answers on ")
	where, _, _ := strings.Cut(rest, ";")
	return where, found
}

// ready waits until the program answers.
func (s *server) ready() error {
	address, err := s.program.Address()
	if err != nil {
		return err
	}
	s.conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	s.client = flowstorev1.NewFlowStoreServiceClient(s.conn)
	return err
}

// kill ends the program with SIGKILL and waits until it is gone.
func (s *server) kill() error { return s.program.Kill() }
