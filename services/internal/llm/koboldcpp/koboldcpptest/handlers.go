package koboldcpptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// uncountable is from how many tokens on a count is 0.
const uncountable = 50_000

// perf is what the server tells of its last generation, in its order.
type perf struct {
	Process   float64 `json:"last_process"`
	Eval      float64 `json:"last_eval"`
	Tokens    int     `json:"last_token_count"`
	Seed      int     `json:"last_seed"`
	Total     int     `json:"total_gens"`
	Reason    int     `json:"stop_reason"`
	Images    int     `json:"total_img_gens"`
	Queue     int     `json:"queue"`
	Idle      int     `json:"idle"`
	HordeExit int     `json:"hordeexitcounter"`
	Uptime    float64 `json:"uptime"`
	IdleTime  float64 `json:"idletime"`
	Quiet     bool    `json:"quiet"`
}

// reply is an answer. The server speaks HTTP/1.0 and closes the connection after each.
type reply struct {
	conn net.Conn
	gone <-chan struct{} // closed when the client closed the connection
}

// call is a request and what it finds.
type call struct {
	reply
	body    []byte
	options Options
	faults  Faults
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request, body []byte) {
	endpoints := map[string]func(call){
		"GET /api/extra/version":                 version,
		"GET /api/extra/true_max_context_length": window,
		"GET /api/v1/config/max_context_length":  window,
		"GET /api/v1/model":                      func(c call) { c.json(200, map[string]any{"result": c.options.Model}) },
		"GET /api/extra/perf":                    s.perf,
		"POST /api/extra/tokencount":             s.tokencount,
		"POST /api/v1/generate":                  func(c call) { s.generate(c, false) },
		"POST /api/extra/generate/stream":        func(c call) { s.generate(c, true) },
		"POST /api/extra/abort":                  s.stop,
	}
	o, f := s.state()
	c := call{reply: take(w), body: body, options: o, faults: f}
	defer c.conn.Close()
	handle, ok := endpoints[r.Method+" "+r.URL.Path]
	switch {
	case !ok:
		c.send(404, "text/html", "Error: HTTP Server is running, but this endpoint does not exist. Please check the URL.")
	case r.Method == http.MethodPost && o.Password != "" && r.Header.Get("Authorization") != "Bearer "+o.Password:
		c.json(401, map[string]any{"detail": map[string]any{
			"error": "Unauthorized", "msg": "Authentication key is missing or invalid.", "type": "unauthorized",
		}})
	default:
		handle(c)
	}
}

// take takes the connection out of the hands of net/http, which speaks HTTP/1.1.
func take(w http.ResponseWriter) reply {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(fmt.Sprintf("koboldcpptest: %v", err)) // a fault of this package
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, conn) // until one side closes it
	}()
	return reply{conn, gone}
}

// send writes an answer; when the client has gone, nobody needs it.
func (r reply) send(status int, kind, body string) {
	r.head(status, fmt.Sprintf("content-length: %d\r\n", len(body)), kind)
	_, _ = io.WriteString(r.conn, body)
}

func (r reply) head(status int, more, kind string) {
	_, _ = fmt.Fprintf(r.conn, "HTTP/1.0 %d %s\r\n%scache-control: no-store\r\ncontent-type: %s\r\n\r\n", status, http.StatusText(status), more, kind)
}

func (r reply) json(status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("koboldcpptest: an answer cannot be written: %v", err)) // a fault of this package
	}
	r.send(status, "application/json", string(data))
}

func version(c call) {
	c.json(200, map[string]any{
		"result": "KoboldCpp", "version": "1.76", "protected": c.options.Password != "", "txt2img": false, "vision": false, "transcribe": false,
	})
}

func window(c call) { c.json(200, map[string]any{"value": c.options.Window}) }

func (s *Server) perf(c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.last
	p.Queue, p.HordeExit, p.Quiet = max(s.waiting-1, 0), -1, true
	p.Process, p.Eval, p.Uptime, p.IdleTime = 2.6363637447357178, 21.75, 70.82, 8.76
	if s.waiting == 0 {
		p.Idle = 1
	}
	if c.faults.OthersPerf {
		p.Seed, p.Tokens, p.Reason = p.Seed+1, 3, 1
	}
	c.json(200, p)
}

// tokencount: a missing prompt is an empty one, and two counts at once share a buffer: both give the other's number.
func (s *Server) tokencount(c call) {
	var ask struct {
		Prompt string `json:"prompt"`
	}
	if json.Unmarshal(c.body, &ask) != nil {
		c.json(400, map[string]any{"value": -1})
		return
	}
	shared := s.count(1) > 1
	time.Sleep(time.Millisecond) // so that counts that are not one after the other meet
	shared = s.count(-1) > 0 || shared
	ids := c.options.tokens(ask.Prompt)
	if len(ids) >= uncountable {
		ids = []int{}
	}
	n := len(ids)
	if shared {
		n += 7
	}
	if c.faults.Count != nil {
		n, ids = *c.faults.Count, []int{}
	}
	var list bytes.Buffer // the server's JSON has blanks
	for i, id := range ids {
		if i > 0 {
			list.WriteString(", ")
		}
		fmt.Fprint(&list, id)
	}
	c.send(200, "application/json", fmt.Sprintf(`{"value": %d, "ids": [%s]}`, n, list.String()))
}

// count notes that a count begins or ends, and gives how many there are.
func (s *Server) count(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counting += n
	s.together = max(s.together, s.counting)
	return s.counting
}

// stop is /api/extra/abort. It needs the key of the running generation; success and done are words, not booleans.
func (s *Server) stop(c call) {
	var ask struct {
		GenKey string `json:"genkey"`
	}
	_ = json.Unmarshal(c.body, &ask) // what is no JSON has no key
	s.mu.Lock()
	defer s.mu.Unlock()
	done := "false"
	if s.abort != nil && s.key == ask.GenKey {
		close(s.abort)
		s.abort, done = nil, "true"
	}
	c.json(200, map[string]any{"success": done, "done": done})
}
