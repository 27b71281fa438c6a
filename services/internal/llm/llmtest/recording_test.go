package llmtest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/llmtest"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// exchange is one request to a real server and its answer.
type exchange struct {
	method, path, body string
	status             int
	header             http.Header
	answer             string // events without the framing of chunks
}

// recording reads the exchanges with a real llama.cpp server, by title.
func recording(t *testing.T) map[string]exchange {
	t.Helper()
	text, err := os.ReadFile(testkit.Shared(t, "wire/llamacpp.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]exchange{}
	for part := range strings.SplitSeq(string(text), "\n=== ") {
		title, rest, _ := strings.Cut(strings.TrimPrefix(part, "=== "), "\n")
		all[title] = parse(t, rest)
	}
	return all
}

func parse(t *testing.T, text string) exchange {
	t.Helper()
	var e exchange
	first, rest, _ := strings.Cut(text, "\n")
	if _, err := fmt.Sscanf(first, "> %s %s", &e.method, &e.path); err != nil {
		t.Fatalf("%q: %v", first, err)
	}
	second, rest, _ := strings.Cut(rest, "\n")
	e.body = strings.TrimPrefix(second, "> ")
	head, body, _ := strings.Cut(rest, "\n\n")
	e.header = http.Header{}
	for i, line := range strings.Split(head, "\n") {
		if i == 0 {
			if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &e.status); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			continue
		}
		name, value, _ := strings.Cut(line, ": ")
		e.header.Add(name, value)
	}
	e.answer = strings.TrimRight(body, "\n")
	if e.header.Get("Transfer-Encoding") == "chunked" {
		e.answer = events(e.answer)
	}
	return e
}

// events leaves out the sizes of chunks. Where the recording shortens the last event, between two of its settings, the
// ends are joined again.
func events(body string) string {
	body = regexp.MustCompile(`\n\.\.\.\[\d+ characters in all\]\.\.\.\n`).ReplaceAllString(body, "c")
	var out strings.Builder
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "data: ") {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

// ask sends a recorded request to a server and gives its answer.
func ask(t *testing.T, base string, e exchange) exchange {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), e.method, base+e.path, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return exchange{status: response.StatusCode, header: response.Header, answer: string(body)}
}

// The fake answers recorded requests in the shape in which the real server answered them.
func TestFakeBehavesLikeTheRecording(t *testing.T) {
	all := recording(t)
	server := llmtest.New(t, llmtest.Options{Cut: servertest.Bytes, Reply: func(string) []string {
		return []string{",", " the", " city", " of", " New", " Haven", " was", " a"}
	}})
	for _, title := range []string{
		"health", "props", "models", "slots", "tokenize", "tokenize, no content", "tokenize, bad JSON",
		"completion", "completion again (prefix cache)", "completion, stop string",
		"completion, bad JSON", "completion stream", "unknown path",
	} {
		t.Run(title, func(t *testing.T) {
			recorded, ok := all[title]
			if !ok {
				t.Fatal("the recording has no such exchange")
			}
			got := ask(t, server.URL, recorded)
			if got.status != recorded.status {
				t.Errorf("the status is %d, not %d", got.status, recorded.status)
			}
			for _, name := range []string{"Content-Type", "Access-Control-Allow-Origin", "X-Accel-Buffering"} {
				if is, want := got.header.Values(name), recorded.header.Values(name); !cmp.Equal(is, want) {
					t.Errorf("%s is %q, not %q", name, is, want)
				}
			}
			if diff := cmp.Diff(shapes(t, recorded.answer), shapes(t, got.answer)); diff != "" {
				t.Errorf("recorded -, fake +:\n%s", diff)
			}
		})
	}
}

// A text over the window, whose recorded request is shortened.
func TestTooLongLikeTheRecording(t *testing.T) {
	all := recording(t)
	server := llmtest.New(t, llmtest.Options{})
	for title, stream := range map[string]bool{"completion, prompt over the window": false, "completion stream, error before the first token": true} {
		body, err := json.Marshal(map[string]any{"prompt": strings.Repeat("one ", 4000), "stream": stream})
		if err != nil {
			t.Fatal(err)
		}
		recorded := all[title]
		recorded.body = string(body)
		got := ask(t, server.URL, recorded)
		if diff := cmp.Diff(shapes(t, recorded.answer), shapes(t, got.answer)); diff != "" || got.status != recorded.status {
			t.Errorf("%s: the status is %d; recorded -, fake +:\n%s", title, got.status, diff)
		}
	}
}

// Pieces that are no UTF-8 are arrays, others strings, as recorded.
func TestPiecesLikeTheRecording(t *testing.T) {
	recorded := recording(t)["tokenize, add_special, with_pieces"]
	server := llmtest.New(t, llmtest.Options{Cut: func(string) []string { return []string{"\xe5\xa4", "\x9c", "の", "\xe6", "\xb8", "\xaf"} }})
	got := ask(t, server.URL, recorded)
	type answer struct{ Tokens []struct{ Piece any } }
	var want, is answer
	if err := json.Unmarshal([]byte(recorded.answer), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(got.answer), &is); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, is); diff != "" {
		t.Errorf("recorded -, fake +:\n%s", diff)
	}
}

// shapes gives the shape of an answer, or of each of its events.
func shapes(t *testing.T, body string) []map[string]any {
	t.Helper()
	if strings.HasPrefix(body, "[") {
		body = `{"list": ` + body + "}"
	}
	if !strings.HasPrefix(body, "data: ") {
		return []map[string]any{shape(t, []byte(body))}
	}
	var all []map[string]any
	for line := range strings.SplitSeq(body, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if ok {
			one := shape(t, []byte(data))
			delete(one, "generation_settings") // which the recording shortens in streams
			all = append(all, one)
		} else if line != "" {
			t.Errorf("a stream has the line %q", line)
		}
	}
	return all
}

// shape is a JSON object with its keys and the types of its values.
func shape(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %.200s", err, data)
	}
	for k, x := range v {
		v[k] = typed(x)
	}
	return v
}

func typed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = typed(x)
		}
		return v
	case []any:
		if len(v) == 0 {
			return "list"
		}
		return []any{typed(v[0])}
	default:
		return fmt.Sprintf("%T", v)
	}
}
