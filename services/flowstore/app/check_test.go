package app_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// TestCheckStoreWhileHandsWork: what a hand does while the service runs is told, and what the service does beside it is not.
func TestCheckStoreWhileHandsWork(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := start(t, data)
	defer stop(t, a)
	c := client(t, a)
	flow := newFlow(t, c)
	node, err := add(c, flow, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := check(t, c); len(got) > 0 {
		t.Errorf("in a tree of ours it finds %q", got)
	}
	file := filepath.Join(data, "default", "flows", "000", "000.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(text), "connections: []", "connections:\n  - from: 1\n    to: 1", 1)
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "default", "nodes", "000", "005.xml"), make([]byte, 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := add(c, newFlow(t, c), "b", ""); err != nil {
		t.Fatal(err)
	}
	got := check(t, c)
	if len(got) != 2 || got[0] != "KIND_NUL_FILE nodes/000/005.xml" || got[1] != "KIND_CYCLE flows/000/000.yaml" {
		t.Errorf("it finds %q (the node is %s)", got, node)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stream, err := c.CheckStore(ctx, &flowstorev1.CheckStoreRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Canceled {
		t.Errorf("a cancelled check: %v", err)
	}
}

func check(t *testing.T, c flowstorev1.FlowStoreServiceClient) (findings []string) {
	t.Helper()
	stream, err := c.CheckStore(t.Context(), &flowstorev1.CheckStoreRequest{})
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if f := e.GetFinding(); f != nil {
			findings = append(findings, f.GetKind().String()+" "+f.GetPath())
		}
		ended = e.GetResult() != nil
	}
	if !ended {
		t.Error("the stream ended without a result")
	}
	return findings
}
