package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

const (
	sse    = "text/event-stream"
	ndjson = "application/x-ndjson"
)

// answered is what came over REST.
type answered struct {
	status int
	header http.Header
	body   []byte
}

// err gives the error of an answer as gRPC would give it; nil for a good answer.
func (a answered) err() error {
	if a.status == http.StatusOK {
		return nil
	}
	return failure(a.body)
}

// failure reads an error out of JSON.
func failure(body []byte) error {
	var s spb.Status
	if err := protojson.Unmarshal(body, &s); err != nil {
		return fmt.Errorf("%w in %s", err, body)
	}
	return status.FromProto(&s).Err()
}

// request makes a request; headers are names and values in turn.
func (w *world) request(ctx context.Context, method, path string, body []byte, headers ...string) (*http.Request, error) {
	q, err := http.NewRequestWithContext(ctx, method, w.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	q.Host = q.Header.Get("Host") // empty: that of the address
	return q, nil
}

// rest makes a request and reads the whole answer.
func (w *world) rest(t *testing.T, method, path string, body []byte, headers ...string) answered {
	t.Helper()
	q, err := w.request(w.ctx, method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.http.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered{r.StatusCode, r.Header, text}
}

// post sends a message as JSON.
func (w *world) post(t *testing.T, path string, m proto.Message, headers ...string) answered {
	t.Helper()
	body, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return w.rest(t, http.MethodPost, path, body, headers...)
}

// into reads a good answer.
func (a answered) into(t *testing.T, m proto.Message) {
	t.Helper()
	if err := a.err(); err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(a.body, m); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
}

// generateOver calls GenerateNode over REST and reads the stream as it was asked for.
func (w *world) generateOver(t *testing.T, accept string, q *agentv1.GenerateNodeRequest) *reading {
	t.Helper()
	body, err := protojson.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	return w.stream(http.MethodPost, "/v1/nodes:generateNode", body, "Accept", accept)
}

// watchOver calls WatchGeneration over SSE, as a browser does that lost its connection.
func (w *world) watchOver(generation string, after int32) *reading {
	return w.stream(http.MethodGet, "/v1/"+generation+":watchGeneration", nil, "Accept", sse, "Last-Event-ID", strconv.Itoa(int(after)))
}

// stream reads a stream over REST. An answer that is none is its error.
func (w *world) stream(method, path string, body []byte, headers ...string) *reading {
	ctx, cancel := context.WithCancel(w.ctx)
	fail := func(err error) *reading {
		cancel()
		return &reading{err: err, leave: cancel}
	}
	q, err := w.request(ctx, method, path, body, headers...)
	if err != nil {
		return fail(err)
	}
	r, err := w.http.Do(q)
	if err != nil {
		return fail(err)
	}
	leave := func() { cancel(); r.Body.Close() }
	lines := bufio.NewReader(r.Body)
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && r.StatusCode == http.StatusOK && media == sse:
		return &reading{receive: func() (*agentv1.GenerateNodeEvent, error) { return nextEvent(lines) }, leave: leave}
	case err == nil && r.StatusCode == http.StatusOK && media == ndjson:
		return &reading{receive: func() (*agentv1.GenerateNodeEvent, error) { return nextLine(lines) }, leave: leave}
	}
	defer leave()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return fail(err)
	}
	return fail(errors.Join(err, failure(text)))
}

// nextLine reads an event from NDJSON.
func nextLine(lines *bufio.Reader) (*agentv1.GenerateNodeEvent, error) {
	text, err := nextResult(lines)
	if err != nil {
		return nil, err
	}
	return event(text)
}

// nextResult reads the result of a line of NDJSON.
func nextResult(lines *bufio.Reader) (json.RawMessage, error) {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	var e struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, fmt.Errorf("%w in %s", err, line)
	}
	if e.Error != nil {
		return nil, failure(e.Error)
	}
	return e.Result, nil
}

// nextEvent reads an event from SSE. Its id and kind must be those that stand in its data.
func nextEvent(lines *bufio.Reader) (*agentv1.GenerateNodeEvent, error) {
	fields := map[string]string{}
	for {
		line, err := lines.ReadString('\n')
		switch {
		case err == io.EOF && len(fields) > 0:
			return nil, fmt.Errorf("the stream broke off inside an event: %q", fields)
		case err != nil:
			return nil, err
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" && fields["data"] != "" {
			break
		}
		if name, value, ok := strings.Cut(line, ": "); ok {
			fields[name] = value // of a comment the name is empty
		}
	}
	if fields["event"] == "error" {
		return nil, failure([]byte(fields["data"]))
	}
	e, err := event([]byte(fields["data"]))
	if err != nil {
		return nil, err
	}
	kind := e.ProtoReflect().WhichOneof(e.ProtoReflect().Descriptor().Oneofs().ByName("event")).JSONName()
	if id := fields["id"]; kind != fields["event"] || e.Id > 0 && id != strconv.Itoa(int(e.Id)) {
		return nil, fmt.Errorf("the event %s %q has the data of %s %d", fields["event"], id, kind, e.Id)
	}
	return e, nil
}

func event(data []byte) (*agentv1.GenerateNodeEvent, error) {
	e := &agentv1.GenerateNodeEvent{}
	if err := protojson.Unmarshal(data, e); err != nil {
		return nil, fmt.Errorf("%w in %s", err, data)
	}
	return e, nil
}
