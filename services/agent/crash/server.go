package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// server is a running Tsumugi.
type server struct {
	program *kill.Program
	conn    *grpc.ClientConn
	client  agentv1.AgentServiceClient
}

// settings writes the files that say what sessions may reach and which model answers.
func (t *trial) settings() error {
	tools, err := json.Marshal(map[string]any{"roots": []map[string]string{{"name": root, "path": t.work()}}}) // JSON is YAML
	if err != nil {
		return err
	}
	backends := "default: play\nbackends:\n  play: {kind: scripted, script: script.yaml}\n"
	return errors.Join(os.WriteFile(t.file("tools.yaml"), tools, 0o600), os.WriteFile(t.file("backends.yaml"), []byte(backends), 0o600))
}

func (t *trial) file(name string) string { return filepath.Join(t.dir, name) }

// launch starts Tsumugi and does not wait for it. Its lease is as short as it may be: what the process before held is free again soon.
func (t *trial) launch(ctx context.Context) (*server, error) {
	const nowhere = "127.0.0.1:0"
	p, err := kill.Launch(ctx, grpcAddress, t.binary, "serve",
		"--listen.grpc", nowhere, "--listen.http", nowhere, "--listen.admin", nowhere, "--log.level", "error",
		"--flowstore.data", t.file("flowstore"), "--agent.data", t.file("agent"), "--backends", t.file("backends.yaml"),
		"--agent.sessions.tools", t.file("tools.yaml"), "--agent.sessions.lease", "1s")
	if err != nil {
		return nil, err
	}
	return &server{program: p}, nil
}

// grpcAddress reads where gRPC is out of a line of what Tsumugi says when it is up.
func grpcAddress(line string) (string, bool) {
	fields := strings.Fields(line)
	if len(fields) != 2 || fields[0] != "gRPC" {
		return "", false
	}
	return fields[1], true
}

// connect waits until Tsumugi answers.
func (t *trial) connect(s *server) error {
	address, err := s.program.Address()
	if err != nil {
		return err
	}
	if t.secret, err = token.ReadSecret(filepath.Join(t.file("agent"), token.SecretName)); err != nil {
		return errors.Join(fmt.Errorf("the secret of approvers: %w", err), s.kill())
	}
	if s.conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry()); err != nil {
		return errors.Join(err, s.kill())
	}
	s.client = agentv1.NewAgentServiceClient(s.conn)
	return nil
}

// kill ends Tsumugi with SIGKILL, and the connection to it.
func (s *server) kill() error {
	err := s.program.Kill()
	if s.conn != nil {
		err = errors.Join(err, s.conn.Close())
	}
	return err
}

// approver is a call of somebody who may decide.
func (t *trial) approver(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+t.secret)
}
