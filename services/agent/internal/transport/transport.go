// Package transport is AgentService over gRPC: requests become the values of packages generation, nodecontext, summary and sessionservice, their events and
// errors become messages and statuses. It has no rule of its own.
package transport

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/generation"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/nodecontext"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessionservice"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/summary"
	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
)

// Server answers the calls of AgentService.
type Server struct {
	agentv1.UnimplementedAgentServiceServer
	generations *generation.Service
	contexts    *nodecontext.Service
	summaries   *summary.Service
	sessions    *sessionservice.Service
	// heartbeat is how long the stream of a session is silent before it tells that it lives.
	heartbeat time.Duration
}

// New makes a Server. heartbeat is how long the stream of a session is silent before it tells that it lives.
func New(generations *generation.Service, contexts *nodecontext.Service, summaries *summary.Service, sessions *sessionservice.Service, heartbeat time.Duration) *Server {
	return &Server{generations: generations, contexts: contexts, summaries: summaries, sessions: sessions, heartbeat: heartbeat}
}

// show sends what a watcher reads until there is no more. When the server begins to stop, every generation ends, and so
// does this stream, after its text is stored.
func (s *Server) show(stream grpc.ServerStreamingServer[agentv1.GenerateNodeEvent], v *generation.View) error {
	defer v.Close()
	ctx := stream.Context()
	defer drainWith(ctx, s.generations.Drain)()
	for {
		e, err := v.Next(ctx)
		switch {
		case errors.Is(err, generation.ErrEnd):
			return nil
		case err != nil:
			return fault(err)
		}
		if err := stream.Send(event(e)); err != nil {
			return err
		}
	}
}

// showAll sends what the watcher of several answers reads.
func (s *Server) showAll(stream grpc.ServerStreamingServer[agentv1.GenerateNodeEvent], a *generation.Answers) error {
	defer a.Close()
	ctx := stream.Context()
	defer drainWith(ctx, s.generations.Drain)()
	err := a.Read(ctx, func(n int, e generation.Event) error {
		out := event(e)
		out.Index = proto.Int32(int32(n))
		return stream.Send(out)
	})
	return fault(err)
}

// drainWith drains when the server of the call drains, until stop is called.
func drainWith(ctx context.Context, drain func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-interceptor.Draining(ctx):
			drain()
		case <-done:
		}
	}()
	return func() { close(done) }
}
