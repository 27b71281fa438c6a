package grpcserver

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	"github.com/tsumugi-dev/tsumugi/services/internal/interceptor"
)

// Registrar takes services.
//
// Some requests grpc answers itself, with a bare status that has no ErrorInfo: a message that is too large or is not
// one of this method (RESOURCE_EXHAUSTED, INTERNAL), an unknown compression, metadata over 16 KiB, and an answer of
// ours that is too large to send. The first two would also leave no trace in the log and in the metrics; registered
// here, they do.
func (s *Server) Registrar() grpc.ServiceRegistrar { return registrar{s} }

type registrar struct{ server *Server }

// RegisterService adds a service to the server.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s := r.server
	d := *desc
	d.Methods = slices.Clone(desc.Methods)
	s.mu.Lock()
	for i, m := range d.Methods {
		name := "/" + d.ServiceName + "/" + m.MethodName
		s.methods[name] = true
		d.Methods[i].Handler = noticed(name, m.Handler)
	}
	for _, m := range d.Streams {
		s.methods["/"+d.ServiceName+"/"+m.StreamName] = true
	}
	s.services = append(s.services, d.ServiceName)
	s.mu.Unlock()
	s.grpc.RegisterService(&d, impl)
}

// noticed is a method whose unreadable requests go through the chain too, as calls that fail.
func noticed(name string, handler grpc.MethodHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, decode func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
		var unreadable error
		resp, err := handler(srv, ctx, func(m any) error {
			unreadable = decode(m)
			return unreadable
		}, chain)
		if unreadable == nil || chain == nil {
			return resp, err
		}
		info := &grpc.UnaryServerInfo{Server: srv, FullMethod: name}
		return chain(ctx, nil, info, func(context.Context, any) (any, error) { return nil, interceptor.Unreadable(unreadable) })
	}
}
