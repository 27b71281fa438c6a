package grpcserver_test

import (
	"context"
	"fmt"
	"log"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"

	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcserver"
)

// A server inside the process, and a client to it: as `inner` is for the agent.
func Example() {
	server := grpcserver.New(grpcserver.Options{Config: grpcserver.DefaultConfig(), TrustCaller: true})
	// Services are registered here, at server.Registrar().
	listener := bufconn.Listen(1 << 20)
	go func() {
		if err := server.Serve(listener); err != nil {
			log.Print(err)
		}
	}()
	conn, err := grpcclient.Dial("inner", grpcclient.Options{Dialer: listener.DialContext})
	if err != nil {
		log.Print(err)
		return
	}
	resp, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	fmt.Println(resp.GetStatus(), err)
	fmt.Println(conn.Close(), server.Stop(context.Background())) // whoever calls stops before whom it calls
	// Output:
	// SERVING <nil>
	// <nil> <nil>
}
