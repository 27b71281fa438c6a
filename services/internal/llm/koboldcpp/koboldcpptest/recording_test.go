package koboldcpptest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/koboldcpp/koboldcpptest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// exchange is one request to a server and the bytes of its answer.
type exchange struct{ method, path, body, status, headers, answer string }

// recording reads the exchanges with a real KoboldCpp server, by title.
func recording(t *testing.T) map[string]exchange {
	t.Helper()
	text, err := os.ReadFile(testkit.Shared(t, "wire/koboldcpp.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]exchange{}
	for part := range strings.SplitSeq(string(text), "\n=== ") {
		title, rest, _ := strings.Cut(strings.TrimPrefix(part, "=== "), "\n")
		var e exchange
		if _, err := fmt.Sscanf(rest, "> %s %s\n", &e.method, &e.path); err != nil {
			t.Fatalf("%q: %v", title, err)
		}
		_, rest, _ = strings.Cut(rest, "\n> ")
		e.body, rest, _ = strings.Cut(rest, "\n")
		e.split(rest)
		all[title] = e
	}
	return all
}

// split takes an answer apart. Lengths depend on the texts.
func (e *exchange) split(answer string) {
	head, body, _ := strings.Cut(answer, "\n\n")
	first, headers, _ := strings.Cut(head, "\n")
	e.status, e.answer = first, strings.TrimRight(body, "\n")
	var kept []string
	for line := range strings.SplitSeq(strings.TrimRight(headers, "\n"), "\n") {
		if !strings.HasPrefix(line, "content-length: ") {
			kept = append(kept, line)
		}
	}
	e.headers = strings.Join(kept, "\n")
}

// ask sends a recorded request and gives the answer as it is on the wire.
func ask(t *testing.T, base string, e exchange) exchange {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", e.method, e.path, len(e.body), e.body); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	var got exchange
	got.split(strings.ReplaceAll(string(all), "\r\n", "\n"))
	return got
}

// The fake answers recorded requests in the shape in which the real server answered them.
func TestFakeBehavesLikeTheRecording(t *testing.T) {
	all := recording(t)
	server := koboldcpptest.New(t, koboldcpptest.Options{Cut: strings.Fields, Burst: 12, Reply: func(string) []string {
		return []string{", the", " world", " was", " ruled", " by", " a", " being", " who", ",", " it", " was", " known", " as", "."}
	}})
	for _, title := range []string{
		"version", "true window", "configured window (do not budget on it)", "model name", "perf, idle",
		"count", "count, empty", "count, no prompt field", "count, bad JSON", "generate", "generate, stop sequence", "generate, bad JSON",
		"stream", "stream, stop sequence", "abort, wrong genkey", "unknown path", "detokenize",
	} {
		t.Run(title, func(t *testing.T) {
			recorded, ok := all[title]
			if !ok {
				t.Fatal("the recording has no such exchange")
			}
			got := ask(t, server.URL, recorded)
			if got.status != recorded.status || got.headers != recorded.headers {
				t.Errorf("the head is %s\n%s\nrecorded is %s\n%s", got.status, got.headers, recorded.status, recorded.headers)
			}
			if title == "detokenize" {
				return // the recording has no body there
			}
			if diff := cmp.Diff(shape(t, recorded.answer), shape(t, got.answer)); diff != "" {
				t.Errorf("recorded -, fake +:\n%s", diff)
			}
		})
	}
}

// A text of 60,000 tokens, whose recorded request is shortened, is counted as none.
func TestUncountableLikeTheRecording(t *testing.T) {
	e := recording(t)["count, 60,000 tokens"]
	want := e.answer
	e.body = `{"prompt": "` + strings.Repeat("a b ", 30_000) + `"}`
	if got := ask(t, koboldcpptest.New(t, koboldcpptest.Options{Cut: strings.Fields}).URL, e); got.answer != want {
		t.Errorf("the answer is %.80s, recorded is %s", got.answer, want)
	}
}

// shape is a body with the types of its values instead of these; of a stream, that of its first and last event.
func shape(t *testing.T, body string) any {
	t.Helper()
	if strings.HasPrefix(body, "event: ") {
		events := strings.Split(body, "\n\n")
		return []any{event(t, events[0]), event(t, events[len(events)-1])}
	}
	if !strings.HasPrefix(body, "{") {
		return body
	}
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %.200s", err, body)
	}
	return types("", v)
}

// event is the lines of an event with the types of its data.
func event(t *testing.T, text string) any {
	t.Helper()
	first, data, _ := strings.Cut(text, "\n")
	return []any{first, shape(t, strings.TrimPrefix(data, "data: "))}
}

// types keeps the words that a client decides by.
func types(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = types(k, x)
		}
		return v
	case []any:
		if len(v) > 0 {
			return []any{types(key, v[0])}
		}
		return []any{"float64"}
	case string:
		if key == "finish_reason" || key == "type" || key == "success" || key == "done" {
			return v
		}
	}
	return fmt.Sprintf("%T", v)
}
