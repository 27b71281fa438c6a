package llamacpp_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// recorded gives what a real server sent in one exchange, status line, headers and framing included. A stream that the
// recording shortens, between two settings of its last event, is joined again and framed by its length alone.
func recorded(t *testing.T, title string) string {
	t.Helper()
	text, err := os.ReadFile(testkit.Shared(t, "wire/llamacpp.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "=== "+title+"\n")
	if !ok {
		t.Fatalf("the recording has no exchange %q", title)
	}
	rest, _, _ = strings.Cut(rest, "\n=== ")
	_, answer, _ := strings.Cut(rest, "\nHTTP/1.1 ")
	head, body, _ := strings.Cut("HTTP/1.1 "+answer, "\n\n")
	if joined := regexp.MustCompile(`\n\.\.\.\[\d+ characters in all\]\.\.\.\n`).ReplaceAllString(body, "c"); joined != body {
		head = strings.Replace(head, "Transfer-Encoding: chunked\n", "", 1)
		body = regexp.MustCompile(`(?m)^[0-9a-f]+$\n?`).ReplaceAllString(joined, "")
	}
	if strings.Contains(head, "chunked") {
		body = rechunk(body)
	}
	head = regexp.MustCompile(`Content-Length: \d+\n`).ReplaceAllString(head, "") // it shortens the paths of models, too
	return strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n" + body
}

// rechunk puts back the CR that the recording leaves out of the framing of chunks.
func rechunk(body string) string {
	var out strings.Builder
	for chunk := range strings.SplitSeq(body, "\n\n\n") {
		size, data, _ := strings.Cut(chunk, "\n")
		out.WriteString(size + "\r\n" + data + "\n\n\r\n")
	}
	return out.String()
}

// replay is a server that sends recorded bytes, by path.
func replay(t *testing.T, titles map[string]string) string {
	t.Helper()
	answers := map[string]string{}
	for path, title := range titles {
		answers[path] = recorded(t, title)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // the client left
		}
		conn, out, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if _, err := out.WriteString(answers[r.URL.Path]); err != nil {
			t.Error(err)
		}
		if err := out.Flush(); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestReplayWindow(t *testing.T) {
	c := client(t, replay(t, map[string]string{"/props": "props", "/v1/models": "models", "/tokenize": "tokenize"}))
	id, err := c.Window(t.Context())
	if err != nil || id.Window != 4096 || id.Model != "SmolLM2-135M-Instruct.Q4_1.gguf" || len(id.Tokenizer) != 32 {
		t.Errorf("the identity is %+v, %v", id, err)
	}
}

func TestReplayTokens(t *testing.T) {
	c := client(t, replay(t, map[string]string{"/tokenize": "tokenize, add_special, with_pieces"}))
	got, err := c.Pieces(t.Context(), "夜の港")
	if want := []int{2, 1, 3, 1, 1, 1}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("the pieces are %v, %v; want %v", got, err, want)
	}
	c = client(t, replay(t, map[string]string{"/tokenize": "tokenize"}))
	if n, err := c.Count(t.Context(), "hello world"); n != 2 || err != nil {
		t.Errorf("the count is %d, %v", n, err)
	}
	_, err = c.Pieces(t.Context(), "hello world") // the answer of a server that does not know with_pieces
	if !errors.Is(err, llm.ErrNoPieces) {
		t.Errorf("the error is %v", err)
	}
	for title, want := range map[string]string{
		"tokenize, no content": "count", "tokenize, bad JSON": "refused", "unknown path": "protocol", "health": "count",
	} {
		c := client(t, replay(t, map[string]string{"/tokenize": title}))
		if _, err := c.Count(t.Context(), "x"); faultOf(err) != want {
			t.Errorf("%q is %v, not %s", title, err, want)
		}
	}
}

func TestReplayStream(t *testing.T) {
	c := client(t, replay(t, map[string]string{"/completion": "completion stream"}))
	stream := start(t, t.Context(), c, request("Once upon a time", 8))
	if text, fault := read(t, stream); text != ", the city of New Haven was a" || fault != "ok" {
		t.Errorf("the answer is %q, %s", text, fault)
	}
	want := llm.Result{
		Finish: llm.FinishLength, PromptTokens: 4, CachedTokens: 3, CacheTold: true, AnswerTokens: 8,
		PromptTime: 18252 * time.Microsecond, AnswerTime: 45051 * time.Microsecond,
	}
	if diff := cmp.Diff(want, stream.Result()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestReplayCut(t *testing.T) {
	c := client(t, replay(t, map[string]string{"/completion": "stream cut by the client"}))
	stream := start(t, t.Context(), c, request("Once upon a time", 2000))
	if text, fault := read(t, stream); text != ", the city of New Haven" || fault != "cut" {
		t.Errorf("the answer is %q, %s", text, fault)
	}
}

func TestReplayTooLong(t *testing.T) {
	for _, title := range []string{"completion, prompt over the window", "completion stream, error before the first token"} {
		_, err := client(t, replay(t, map[string]string{"/completion": title})).Generate(t.Context(), request("x", 8))
		var e *llm.Error
		if !errors.As(err, &e) || e.Fault != llm.FaultTooLong || e.Tokens != 15001 || e.Window != 4096 {
			t.Errorf("%s: the error is %+v", title, err)
		}
	}
}
