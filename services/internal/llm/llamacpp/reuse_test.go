package llamacpp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm/wire"
)

// A server may close a kept connection at the moment at which the next request is on its way.
func TestARequestThatCrossesACloseIsSentAgain(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var connections, answered atomic.Int32
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go oneAnswer(conn, &answered)
		}
	}()
	c := New(Config{Endpoint: wire.Endpoint{Name: "b", Address: "http://" + l.Addr().String(), Timeouts: llm.DefaultTimeouts()}})
	defer c.Close()
	for range 5 {
		if n, err := c.Count(t.Context(), "夜"); err != nil || n != 2 {
			t.Fatalf("counted %d, %v", n, err)
		}
	}
	if connections.Load() != 5 || answered.Load() != 5 {
		t.Errorf("%d connections, %d answers; want 5 of each", connections.Load(), answered.Load())
	}
}

// oneAnswer answers one request, as if the connection were kept, reads the next one and closes without an answer.
func oneAnswer(conn net.Conn, answered *atomic.Int32) {
	defer conn.Close()
	requests := bufio.NewReader(conn)
	for i := range 2 {
		request, err := http.ReadRequest(requests)
		if err != nil {
			return
		}
		if _, sent := request.Header["Idempotency-Key"]; sent {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil || i > 0 {
			return
		}
		const body = `{"tokens":[1,2]}`
		answered.Add(1)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n"+body)
	}
}
