package koboldcpp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// recorded gives what a real server sent in one exchange, status line and headers included. A stream that the recording
// shortens in the middle of an event is joined again.
func recorded(t *testing.T, title string) string {
	t.Helper()
	text, err := os.ReadFile(testkit.Shared(t, "wire/koboldcpp.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "=== "+title+"\n")
	if !ok {
		t.Fatalf("the recording has no exchange %q", title)
	}
	rest, _, _ = strings.Cut(rest, "\n=== ")
	_, answer, _ := strings.Cut(rest, "\nHTTP/1.0 ")
	head, body, _ := strings.Cut("HTTP/1.0 "+answer, "\n\n")
	body = regexp.MustCompile(`\n\.\.\.\[\d+ characters in all\]\.\.\.\n`).ReplaceAllString(body, "on\": \"nul")
	if strings.Contains(head, "event-stream") {
		body = strings.TrimRight(body, "\n") + "\n\n"
	}
	return strings.ReplaceAll(strings.TrimRight(head, "\n"), "\n", "\r\n") + "\r\n\r\n" + body
}

// replay is a server that sends recorded bytes, by path.
func replay(t *testing.T, titles map[string]string) *koboldcpp.Client {
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
		_, _ = out.WriteString(answers[r.URL.Path])
		_ = out.Flush() // a client that has read enough may have left
	}))
	t.Cleanup(server.Close)
	return client(t, server.URL)
}

// generating replays a stream with what surrounds it.
func generating(t *testing.T, stream string) *koboldcpp.Client {
	t.Helper()
	return replay(t, map[string]string{
		"/api/extra/true_max_context_length": "true window", "/api/extra/tokencount": "count", "/api/extra/perf": "perf, idle",
		"/api/extra/generate/stream": stream, "/api/extra/abort": "abort, wrong genkey",
	})
}

func TestReplayWindow(t *testing.T) {
	c := replay(t, map[string]string{
		"/api/extra/true_max_context_length": "true window", "/api/v1/model": "model name", "/api/extra/tokencount": "count, Japanese",
	})
	id, err := c.Window(t.Context())
	if err != nil || id.Window != 2048 || id.Model != "koboldcpp/SmolLM2-135M-Instruct.Q4_1" || len(id.Tokenizer) != 32 {
		t.Errorf("the identity is %+v, %v", id, err)
	}
}

func TestReplayCount(t *testing.T) {
	for title, want := range map[string]int{"count": 3, "count, Japanese": 9, "count, control token text": 2} {
		if n, err := replay(t, map[string]string{"/api/extra/tokencount": title}).Count(t.Context(), "x"); n != want || err != nil {
			t.Errorf("%q gives %d, %v; want %d", title, n, err, want)
		}
	}
	for title, want := range map[string]llm.Fault{
		"count, bad JSON": llm.FaultRefused, "count, 60,000 tokens": llm.FaultCount, "detokenize": llm.FaultProtocol, "unknown path": llm.FaultProtocol,
		"generate, bad JSON": llm.FaultRefused, "three at once on --multiuser 2, number 1": llm.FaultBusy,
	} {
		_, err := replay(t, map[string]string{"/api/extra/tokencount": title}).Count(t.Context(), "x")
		if servertest.FaultOf(err) != want {
			t.Errorf("%q is %v, not %s", title, err, want)
		}
	}
	if n, err := replay(t, map[string]string{"/api/extra/tokencount": "count, empty"}).Count(t.Context(), ""); n != 1 || err != nil {
		t.Errorf("the empty text has %d tokens, %v", n, err)
	}
}

func TestReplayStream(t *testing.T) {
	for title, test := range map[string]struct {
		stops []string
		want  string
		fault llm.Fault
		end   llm.Finish
		stop  string
	}{
		"stream": {want: ", the world was ruled by a being who was known as", end: llm.FinishLength},
		"stream, stop sequence": {
			stops: []string{"."}, end: llm.FinishStop, stop: ".",
			want: ", the world was ruled by a being who was known as the \"Saber-Bhima\" or \"Saber-Bhima-Lok\" (Saber-Bhima-Lok-Saber-Bhima)",
		},
		"disconnect after the first bytes of a stream (client side cut)": {
			want:  "\nThe story is about a sea that is a very long story. It is a very long story about the sea. It is a very long story about the sea. It is",
			fault: llm.FaultCut,
		},
		"generate":           {fault: llm.FaultProtocol}, // JSON, no stream
		"generate, bad JSON": {fault: llm.FaultRefused},
		"three at once on --multiuser 2, number 1": {fault: llm.FaultBusy},
	} {
		t.Run(title, func(t *testing.T) {
			r := servertest.Request("Once upon a time", 60)
			r.Sampling.Stop = test.stops
			text, result, err := servertest.Ask(t, generating(t, title), r)
			if text != test.want || servertest.FaultOf(err) != test.fault {
				t.Errorf("the answer is %q, %v", text, err)
			}
			want := llm.Result{Finish: test.end, StopString: test.stop, PromptTokens: 3}
			result.AnswerTokens = 0
			if err != nil && result.Finish == "" && result.PromptTokens == 0 {
				want = result // it never began
			}
			if diff := cmp.Diff(want, result); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// An aborted stream ends like one that is done; the recording shortens it.
func TestReplayAborted(t *testing.T) {
	text, result, err := servertest.Ask(t, generating(t, "stream, aborted by POST /api/extra/abort with its genkey"), servertest.Request("x", 600))
	if err != nil || !strings.HasPrefix(text, "\nThe story about the sea is a very long") || result.Finish != llm.FinishLength {
		t.Errorf("the answer is %q with %+v, %v", text, result, err)
	}
}
