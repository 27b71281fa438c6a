package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	flowstorev1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/flowstore/v1"
)

// overREST is a connection whose calls go over REST, by the paths of the contract: a client on it speaks as one of gRPC does.
type overREST struct{ *world }

var placeholder = regexp.MustCompile(`\{([a-z_.]+)(?:=[^}]*)?\}`)

// route gives the request of a call.
func (c overREST) route(method string, m proto.Message) (*http.Request, error) {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	rule, ok := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule)
	if !ok {
		return nil, fmt.Errorf("%s has no path", name)
	}
	verb, path := verbOf(rule)
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	path = placeholder.ReplaceAllStringFunc(path, func(p string) string { return take(fields, placeholder.FindStringSubmatch(p)[1]) })
	var body []byte
	switch rule.GetBody() {
	case "":
	case "*":
		body, err = json.Marshal(fields)
		fields = nil
	default:
		body, err = json.Marshal(fields[rule.GetBody()])
		delete(fields, rule.GetBody())
	}
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	flatten(query, "", fields)
	return c.request(c.ctx, verb, path+"?"+query.Encode(), body, "Content-Type", "application/json", "Accept", ndjson)
}

func verbOf(rule *annotations.HttpRule) (verb, path string) {
	switch p := rule.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		return http.MethodGet, p.Get
	case *annotations.HttpRule_Post:
		return http.MethodPost, p.Post
	case *annotations.HttpRule_Patch:
		return http.MethodPatch, p.Patch
	case *annotations.HttpRule_Delete:
		return http.MethodDelete, p.Delete
	}
	return "", ""
}

// take takes the value of a field, such as `node.name`, out of JSON.
func take(fields map[string]any, name string) string {
	first, rest, deeper := strings.Cut(name, ".")
	if deeper {
		inner, _ := fields[first].(map[string]any)
		return take(inner, rest)
	}
	value, _ := fields[name].(string)
	delete(fields, name)
	return value
}

// flatten writes fields as parameters of a query.
func flatten(query url.Values, prefix string, fields map[string]any) {
	for name, value := range fields {
		switch v := value.(type) {
		case map[string]any:
			flatten(query, prefix+name+".", v)
		case []any:
			for _, item := range v {
				query.Add(prefix+name, fmt.Sprint(item))
			}
		default:
			query.Add(prefix+name, fmt.Sprint(v))
		}
	}
}

// Invoke implements grpc.ClientConnInterface.
func (c overREST) Invoke(_ context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	q, err := c.route(method, args.(proto.Message))
	if err != nil {
		return err
	}
	r, err := c.http.Do(q)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return err
	case r.StatusCode != http.StatusOK:
		return failure(text)
	}
	return protojson.Unmarshal(text, reply.(proto.Message))
}

// NewStream implements grpc.ClientConnInterface.
func (c overREST) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	own := *c.world
	own.ctx = ctx
	return &restStream{overREST: overREST{&own}, method: method}, nil
}

// restStream is a stream over REST: of lines, or of the bytes of a file.
type restStream struct {
	grpc.ClientStream
	overREST
	method  string
	request proto.Message
	file    bytes.Buffer
	answer  *http.Response
	lines   *bufio.Reader
}

func (s *restStream) SendMsg(m any) error {
	if part, ok := m.(*flowstorev1.ImportFlowsRequest); ok {
		_, err := s.file.Write(part.GetChunk())
		return err
	}
	s.request = m.(proto.Message)
	return nil
}

func (s *restStream) CloseSend() error {
	q, err := s.overREST.request(s.ctx, http.MethodPost, "/v1/flows:importFlows", s.file.Bytes())
	if s.request != nil {
		q, err = s.route(s.method, s.request)
	}
	if err != nil {
		return err
	}
	s.answer, err = s.http.Do(q) //nolint:bodyclose // RecvMsg reads it to its end
	if err == nil {
		s.lines = bufio.NewReader(s.answer.Body)
	}
	return err
}

func (s *restStream) RecvMsg(m any) error {
	switch out := m.(type) {
	case *flowstorev1.ExportFlowsResponse:
		return s.whole(func(text []byte) error {
			if out.Chunk = text; len(text) == 0 {
				return io.EOF
			}
			return nil
		})
	case *flowstorev1.ImportFlowsResponse:
		return s.whole(func(text []byte) error { return protojson.Unmarshal(text, out) })
	}
	if s.answer.StatusCode != http.StatusOK {
		return s.whole(failure)
	}
	text, err := nextResult(s.lines)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(text, m.(proto.Message))
}

// whole reads the rest of the answer.
func (s *restStream) whole(into func([]byte) error) error {
	text, err := io.ReadAll(s.lines)
	switch {
	case err != nil:
		return err
	case s.answer.StatusCode != http.StatusOK:
		return failure(text)
	}
	return into(text)
}
