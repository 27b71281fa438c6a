package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
)

// answers is a server over HTTP that answers a call as a test wants.
func answers(t testing.TB, call http.HandlerFunc) (Config, *httptest.Server) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.NewDecoder(q.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		text := map[string]string{"initialize": initialized, "tools/list": `"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`}[m.Method]
		w.Header().Set("X-Id", string(m.ID))
		switch {
		case m.Method == "tools/call":
			call(w, q)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case text == "":
			w.WriteHeader(http.StatusBadRequest)
		default:
			reply(w, text)
		}
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	return Config{Name: "s", URL: web.URL, Tools: []string{All}}, web
}

// reply answers with JSON.
func reply(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, w.Header().Get("X-Id"), text)
}

// What was sent over HTTP and not answered may have happened (C50).
func TestUnknownOverHTTP(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]http.HandlerFunc{
		"broken connection": func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = c.Close()
			}
		},
		"502": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"404": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"redirect": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jso`)
		},
		"a web page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `hello`)
		},
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, `"result":{"content":[{"type":"text","text":"`+strings.Repeat("a", maxMessage)+`"}]}`)
		},
		"an empty stream": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/event-stream") },
		"the answer to another": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":99999,\"result\":{\"content\":[]}}\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := answers(t, call)
			r := open(t, c)
			a := r.tool("a")
			out, err := r.start(t.Context(), a, `{}`)
			if err == nil || notStartedErr(err) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%+v, %v", out, err)
			}
		})
	}
}

// What has not left is proven not to have happened.
func TestNotStartedOverHTTP(t *testing.T) {
	t.Parallel()
	var called atomic.Int64
	c, web := answers(t, func(w http.ResponseWriter, _ *http.Request) { called.Add(1); reply(w, `"result":{"content":[]}`) })
	r := open(t, c)
	a := r.tool("a")
	if got := r.call("a", `{}`); got != "" || called.Load() != 1 {
		t.Fatalf("%q, called %d times", got, called.Load())
	}
	web.CloseClientConnections()
	web.Close()
	r.link(r.cfg[0], "ns").conn.free() // One that is kept open could take a request that never gets an answer.
	if _, err := r.Effect("ns", a.Definition).Start(t.Context(), intent(a), []byte(`{}`)); !notStartedErr(err) {
		t.Errorf("nobody listens, and it is %v", err)
	}
}

// TestHalfOpenHTTP: an address that tells no tools any more has no connection kept by a call that waits for it, which ends as unknown, and is called anew.
func TestHalfOpenHTTP(t *testing.T) {
	t.Parallel()
	for name, lists := range map[string]func(r *rig, c *conn, e router.Effect) error{
		"before a call": func(r *rig, _ *conn, e router.Effect) error { return e.Ready(r.Context()) },
		"at its word":   func(r *rig, c *conn, _ router.Effect) error { r.link(r.cfg[0], "ns").relist(c); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called := make(chan struct{})
			c, _ := answers(t, func(_ http.ResponseWriter, q *http.Request) { close(called); <-q.Context().Done() })
			var dead atomic.Bool
			inner := proxy(c.URL)
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				body, _ := io.ReadAll(q.Body)
				if bytes.Contains(body, []byte(`"tools/list"`)) && dead.CompareAndSwap(true, false) {
					<-q.Context().Done()
					return
				}
				q.Body = io.NopCloser(bytes.NewReader(body))
				inner.ServeHTTP(w, q)
			}))
			t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
			c.URL, c.Namespaces = web.URL, []string{"ns"} // It is called for no other one.
			r := open(t, c)
			a, done := r.tool("a"), make(chan error, 1)
			go func() {
				_, err := r.start(t.Context(), a, `{}`)
				done <- err
			}()
			<-called
			before := r.link(c, "ns").current()
			dead.Store(true)
			if err := lists(r, before, r.Effect("ns", a.Definition)); err != nil || dead.Load() {
				t.Errorf("it is not called anew: %v", err)
			}
			if before.alive() {
				t.Fatal("the dead connection is kept")
			}
			if err := <-done; err == nil || notStartedErr(err) {
				t.Errorf("the call that waited is %v, not unknown", err)
			}
			if err := r.Effect("ns", a.Definition).Ready(t.Context()); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestAnswersOverHTTP(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call   http.HandlerFunc
		text   string
		failed bool
	}{
		"a stream": {func(w http.ResponseWriter, _ *http.Request) {
			id := w.Header().Get("X-Id")
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprint(w, ": comment\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\r\n\r\n")
			fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"structuredContent\":{\"b\":1e1,\"a\":2}}}\n\n", id)
		}, "x\n{\"b\":1e1,\"a\":2}", false},
		"a refusal with its reason": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			reply(w, `"error":{"code":-32001,"message":"not for you"}`)
		}, "The server answered with an error: not for you (code -32001)", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := answers(t, tt.call)
			r := open(t, c)
			out, err := r.start(t.Context(), r.tool("a"), `{}`)
			if err != nil || string(out.Text) != tt.text || out.Failed != tt.failed {
				t.Errorf("%q, failed %v, %v", out.Text, out.Failed, err)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxMessage)
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"two":                {"data: a\n\ndata:b\n\n", []string{"a\n", "b\n"}},
		"lines":              {"data: a\ndata: b\r\n\r\n", []string{"a\nb\n"}},
		"others":             {"id: 1\nevent: x\n: data: c\nretry: 5\n\ndata: a\n\n", []string{"a\n"}},
		"no end":             {"data: a\n\ndata: b\n", []string{"a\n"}},
		"too long a line":    {"data: " + long + "\n\ndata: a\n\n", []string{"a\n"}},
		"too long an event":  {"data: " + long[:maxMessage-100] + "\ndata: " + long[:200] + "\n\ndata: a\n\n", []string{"a\n"}},
		"nothing but blanks": {"\n\r\n\n", nil},
	} {
		for _, size := range []int{1 << 20, 7} {
			if size == 7 && len(tt.text) > 1000 {
				continue
			}
			var got []string
			e := &events{give: func(b []byte) { got = append(got, string(b)) }}
			for piece := range slices.Chunk([]byte(tt.text), size) {
				e.add(piece)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s in pieces of %d: %d events", name, size, len(got))
			}
		}
	}
}

// Whatever a server answers with, reading it ends, and gives no more than a little over the limit.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"a"},{"type":"image","data":"AAAA"},{"type":"resource","resource":{"text":"b"}},null,1]}`, `{"structuredContent":{"a":1},"isError":true}`,
		`{"resultType":"input_required"}`, `{"content":null}`, ``, `[`, `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`,
		"data: {\"id\":1,\"result\":{}}\n\n",
	} {
		f.Add([]byte(s))
	}
	const limit = 256
	f.Fuzz(func(t *testing.T, text []byte) {
		if out, err := output(text, limit); err == nil && len(out.Text) > limit+1 {
			t.Fatalf("%d bytes", len(out.Text))
		}
		a := newAnswer()
		a.id = json.RawMessage(`1`)
		e := &events{give: a.see}
		e.add(text)
		if a.there() && !bytes.Contains(text, []byte("1")) {
			t.Fatal("an answer to nothing")
		}
		var list []json.RawMessage
		if json.Unmarshal(text, &list) != nil {
			list = []json.RawMessage{text}
		}
		tools, _ := admit(Config{Name: "s", URL: "http://x", Tools: []string{All}}, list)
		for _, one := range tools {
			if !one.Hash.Valid() {
				t.Fatalf("%+v is admitted without a hash", one.Definition)
			}
		}
	})
}
