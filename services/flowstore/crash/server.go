package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// startLimit is how long a start may take.
const startLimit = 20 * time.Second

// server is a running flowstore.
type server struct {
	cmd     *exec.Cmd
	trouble *bytes.Buffer
	conn    *grpc.ClientConn
	client  flowstorev1.FlowStoreServiceClient
	// address tells where it answers, once it does; closed without one when it ends before.
	address <-chan string
}

// launch starts the program and does not wait for it.
func launch(ctx context.Context, binary, data string) (*server, error) {
	s := &server{
		cmd:     exec.CommandContext(ctx, binary, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--data", data, "--log.level", "error"),
		trouble: &bytes.Buffer{},
	}
	s.cmd.Stderr = s.trouble
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	address := make(chan string, 1)
	s.address = address
	go func() {
		defer close(address)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, rest, found := strings.Cut(lines.Text(), " answers on "); found {
				where, _, _ := strings.Cut(rest, ";")
				address <- where
			}
		}
	}()
	return s, nil
}

// ready waits until the program answers.
func (s *server) ready() error {
	select {
	case address, ok := <-s.address:
		if !ok {
			return errors.Join(errors.New("flowstore ended while it started"), s.kill(), errors.New(s.trouble.String()))
		}
		var err error
		s.conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
		s.client = flowstorev1.NewFlowStoreServiceClient(s.conn)
		return err
	case <-time.After(startLimit):
		return errors.Join(fmt.Errorf("flowstore did not answer within %s", startLimit), s.kill())
	}
}

// kill ends the program with SIGKILL and waits until it is gone.
func (s *server) kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	for range s.address { // until its output ends
	}
	var exit *exec.ExitError
	if err := s.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}
