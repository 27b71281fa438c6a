package llamacpp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llamacpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// outcomes asks a server everything and gives the fault of each answer, "ok" where there was none.
func outcomes(t *testing.T, c *llamacpp.Client) map[string]string {
	t.Helper()
	got := map[string]string{}
	_, err := c.Window(t.Context())
	got["window"] = faultOf(err)
	_, err = c.Count(t.Context(), "夜の港")
	got["count"] = faultOf(err)
	_, err = c.Pieces(t.Context(), "夜の港")
	got["pieces"] = faultOf(err)
	stream, err := c.Generate(t.Context(), request("夜の港", 20))
	got["generate"] = faultOf(err)
	if err == nil {
		_, got["text"] = read(t, stream)
	}
	return got
}

func faultOf(err error) string {
	var e *llm.Error
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return "ok"
	case errors.As(err, &e):
		return string(e.Fault)
	}
	return "untyped: " + err.Error()
}

// read reads an answer to its end and gives its text and its fault.
func read(t *testing.T, stream llm.Stream) (text, fault string) {
	t.Helper()
	defer func() {
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
	}()
	for {
		piece, err := stream.Recv()
		if err != nil {
			return text, faultOf(err)
		}
		text += piece
	}
}

func request(prompt string, most int) llm.Request {
	return llm.Request{Prompt: prompt, Sampling: llm.Sampling{MaxTokens: most}}
}

func TestFaultsOfTheServer(t *testing.T) {
	t.Parallel()
	all := func(fault string) map[string]string {
		return map[string]string{"window": fault, "count": fault, "pieces": fault, "generate": fault}
	}
	with := func(faults ...string) map[string]string {
		m := map[string]string{"window": "ok", "count": "ok", "pieces": "ok", "generate": "ok", "text": "ok"}
		for i := 0; i < len(faults); i += 2 {
			m[faults[i]] = faults[i+1]
		}
		return m
	}
	for name, test := range map[string]struct {
		faults llmtest.Faults
		want   map[string]string
	}{
		"nothing":     {llmtest.Faults{}, with()},
		"loading":     {llmtest.Faults{Loading: 4}, all("loading")},
		"busy":        {llmtest.Faults{Busy: 4}, all("busy")},
		"no tokens":   {llmtest.Faults{Count: llmtest.CountZero}, with("window", "count", "count", "count", "pieces", "count")},
		"negative":    {llmtest.Faults{Count: llmtest.CountNegative}, with("window", "count", "count", "count", "pieces", "count")},
		"garbage":     {llmtest.Faults{Count: llmtest.CountGarbage}, with("window", "protocol", "count", "protocol", "pieces", "protocol")},
		"failed":      {llmtest.Faults{Count: llmtest.CountFailed}, with("window", "protocol", "count", "protocol", "pieces", "protocol")},
		"cut":         {llmtest.Faults{Break: servertest.BreakCut, BreakAfter: 3}, with("text", "cut")},
		"no end":      {llmtest.Faults{Break: servertest.BreakEnd, BreakAfter: 3}, with("text", "cut")},
		"error event": {llmtest.Faults{Break: servertest.BreakError, BreakAfter: 3}, with("text", "cut")},
		"error field": {llmtest.Faults{Break: servertest.BreakErrorField, BreakAfter: 3}, with("text", "cut")},
		"bad event":   {llmtest.Faults{Break: servertest.BreakGarbage, BreakAfter: 3}, with("text", "protocol")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := llmtest.New(t, llmtest.Options{})
			server.Break(test.faults)
			if diff := cmp.Diff(test.want, outcomes(t, client(t, server.URL))); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// What other programs at the address answer.
func TestFaultsOfTheAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		header string
		body   string
		want   llm.Fault
	}{
		"a web page":         {200, "", "<html>", llm.FaultProtocol},
		"nothing":            {200, "", "", llm.FaultProtocol},
		"other JSON":         {200, "", "[]", llm.FaultProtocol},
		"a redirect":         {302, "", "", llm.FaultProtocol},
		"not found":          {404, "", `{"error":{"message":"File Not Found","type":"not_found_error","code":404}}`, llm.FaultProtocol},
		"wants a key":        {401, "", `{"error":{"message":"Invalid API Key"}}`, llm.FaultRefused},
		"a proxy":            {502, "", "<html>", llm.FaultUnreachable},
		"too many":           {429, "7", "", llm.FaultBusy},
		"loading":            {503, "7", `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, llm.FaultLoading},
		"failed":             {500, "", `{"error":{"code":500,"message":"boom","type":"server_error"}}`, llm.FaultProtocol},
		"refused":            {400, "", `{"error":{"code":400,"message":"no","type":"invalid_request_error"}}`, llm.FaultRefused},
		"too long":           {400, "", `{"error":{"code":400,"message":"m","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}`, llm.FaultTooLong},
		"too long, in words": {400, "", `{"error":{"code":400,"message":"the request exceeds the available context size. try","type":"invalid_request_error"}}`, llm.FaultTooLong},
		"endless":            {200, "", strings.Repeat(" ", 5<<20), llm.FaultProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if test.header != "" {
					w.Header().Set("Retry-After", test.header)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				w.Write([]byte(test.body))
			}))
			defer server.Close()
			c := client(t, server.URL)
			_, counted := c.Count(t.Context(), "x")
			_, asked := c.Window(t.Context())
			_, generated := c.Generate(t.Context(), request("x", 1))
			for _, err := range []error{counted, asked, generated} {
				var e *llm.Error
				if !errors.As(err, &e) || e.Fault != test.want {
					t.Fatalf("the error is %v, not %s", err, test.want)
				}
				if (e.RetryAfter == 7*time.Second) != (test.header == "7") {
					t.Errorf("retry after %v", e.RetryAfter)
				}
				if e.Fault == llm.FaultTooLong && name == "too long" && (e.Tokens != 9 || e.Window != 8) {
					t.Errorf("the error tells %d tokens in %d", e.Tokens, e.Window)
				}
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"window": "unreachable", "count": "unreachable", "pieces": "unreachable", "generate": "unreachable"}
	c := client(t, address)
	if diff := cmp.Diff(want, outcomes(t, c)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	_, err = c.Window(t.Context())
	if got, want := err.Error(), `backend "test" at `+address+`: nobody answers there; start the model server or correct the address`; got != want {
		t.Errorf("the error is %q, not %q", got, want)
	}
}

// A server that takes requests and never answers is given up after each time limit.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{})
	server.Break(llmtest.Faults{Hang: true})
	short := llm.DefaultTimeouts()
	short.Window, short.Count, short.FirstByte = time.Millisecond, time.Millisecond, time.Millisecond
	c := llamacpp.New(llamacpp.Config{Endpoint: wire.Endpoint{Name: "test", Address: server.URL, Timeouts: short}})
	t.Cleanup(func() { _ = c.Close() })
	want := map[string]string{"window": "timeout", "count": "timeout", "pieces": "timeout", "generate": "timeout"}
	if diff := cmp.Diff(want, outcomes(t, c)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	_, err := c.Count(t.Context(), "x")
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v looks like the caller's own deadline", err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = client(t, server.URL).Count(ctx, "x")
	if faultOf(err) != "timeout" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's own deadline gave %v", err)
	}
}

// No message tells what the writer wrote, nor the API key.
func TestErrorsHoldNoPrompt(t *testing.T) {
	t.Parallel()
	server := llmtest.New(t, llmtest.Options{Window: 4, APIKey: "another"})
	_, err := client(t, server.URL).Generate(t.Context(), request("ひみつ", 1))
	if err == nil || strings.Contains(err.Error(), "ひみつ") || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
}
