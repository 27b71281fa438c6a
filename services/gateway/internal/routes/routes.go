// Package routes knows the REST surface: which method and path leads to which RPC, as the protos say it.
package routes

import (
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
	promptbuilderv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/promptbuilder/v1"
)

// Route is the way to one RPC.
type Route struct {
	// Method is the HTTP method, such as `POST`.
	Method string
	// Path is the path template, such as `/v1/{flow=flows/*}:addNode`.
	Path string
	// Body is the request field that the HTTP body is: `*` for the whole request, empty where there is no body.
	Body string
	// RPC is the call that it leads to.
	RPC protoreflect.MethodDescriptor
}

// ServiceOf takes the short name of a service out of its full name, such as `agent` out of `tsumugi.agent.v1.AgentService`.
func ServiceOf(fullName string) string {
	parts := strings.Split(fullName, ".")
	if len(parts) < 2 {
		return fullName
	}
	return parts[1]
}

// Call is the name by which gRPC knows the RPC, `/package.Service/Method`.
func (r Route) Call() string {
	return "/" + string(r.RPC.Parent().FullName()) + "/" + string(r.RPC.Name())
}

// Stream says that the answer is a stream of events.
func (r Route) Stream() bool { return r.RPC.IsStreamingServer() }

// Upload says that the body of the request is a file, which goes on as a stream of chunks behind the options.
func (r Route) Upload() bool { return r.RPC.IsStreamingClient() }

// Download says that the answer is a file, which comes as a stream of chunks.
func (r Route) Download() bool { return r.Stream() && r.RPC.Output().Fields().ByName(Chunk) != nil }

// Chunk and Options are the fields of the messages of uploads and downloads.
const (
	Chunk   protoreflect.Name = "chunk"
	Options protoreflect.Name = "options"
)

// Query is the message whose fields the parameters of the query set: the request, or the options of an upload.
func (r Route) Query() protoreflect.MessageDescriptor {
	if r.Upload() {
		return r.RPC.Input().Fields().ByName(Options).Message()
	}
	return r.RPC.Input()
}

// InPath says whether the path binds the request field.
func (r Route) InPath(field protoreflect.Name) bool {
	return strings.Contains(r.Path, "{"+string(field)+"=") || strings.Contains(r.Path, "{"+string(field)+"}")
}

// Services are the services behind the gateway.
func Services() []protoreflect.ServiceDescriptor {
	var all []protoreflect.ServiceDescriptor
	for _, file := range []protoreflect.FileDescriptor{
		promptbuilderv1.File_tsumugi_promptbuilder_v1_promptbuilder_proto,
		agentv1.File_tsumugi_agent_v1_agent_proto,
		flowstorev1.File_tsumugi_flowstore_v1_flowstore_proto,
	} {
		for i := range file.Services().Len() {
			all = append(all, file.Services().Get(i))
		}
	}
	return all
}

// All are the routes of all services, in the order of the protos.
func All() []Route {
	var all []Route
	for _, service := range Services() {
		for i := range service.Methods().Len() {
			all = append(all, of(service.Methods().Get(i))...)
		}
	}
	return all
}

func of(rpc protoreflect.MethodDescriptor) []Route {
	rule, ok := proto.GetExtension(rpc.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok || rule == nil {
		return nil
	}
	var all []Route
	for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
		if method, path := pattern(r); path != "" {
			all = append(all, Route{Method: method, Path: path, Body: r.GetBody(), RPC: rpc})
		}
	}
	return all
}

func pattern(r *annotations.HttpRule) (method, path string) {
	switch p := r.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return http.MethodGet, p.Get
	case *annotations.HttpRule_Post:
		return http.MethodPost, p.Post
	case *annotations.HttpRule_Put:
		return http.MethodPut, p.Put
	case *annotations.HttpRule_Patch:
		return http.MethodPatch, p.Patch
	case *annotations.HttpRule_Delete:
		return http.MethodDelete, p.Delete
	}
	return "", ""
}
