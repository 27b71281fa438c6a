package koboldcpptest

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm/servertest"
)

// How a generation ended, as /api/extra/perf tells it.
const (
	outOfTokens = 0
	eosToken    = 1
	stopString  = 2
)

// ask is the part of a request that decides the answer.
type ask struct {
	Prompt string   `json:"prompt"`
	Most   *int     `json:"max_length"`
	Window int      `json:"max_context_length"`
	Stop   []string `json:"stop_sequence"`
	Seed   int      `json:"sampler_seed"`
	GenKey string   `json:"genkey"`
}

// defaultLength is the answer's length where the request names none, in 1.76.
const defaultLength = 180

func (s *Server) generate(c call, stream bool) {
	var a ask
	if json.Unmarshal(c.body, &a) != nil {
		c.json(500, map[string]any{"detail": map[string]any{"msg": "Error parsing input.", "type": "bad_input"}})
		return
	}
	if !s.admit(c) {
		c.json(503, map[string]any{"detail": map[string]any{"msg": "Server is busy; please try again later.", "type": "service_unavailable"}})
		return
	}
	defer s.leave()
	most := defaultLength
	if a.Most != nil {
		most = *a.Most
	}
	most = min(most, c.options.Window-16)
	prompt := a.Prompt
	if len(c.options.tokens(prompt))+most > c.options.Window {
		prompt = "what is left when the beginning was cut off" // and not a word about it
	}
	pieces, reason := decide(c.options.Reply(prompt), most, a.Stop)
	aborted := make(chan struct{})
	s.mu.Lock()
	s.key, s.abort = a.GenKey, aborted
	s.last.Tokens, s.last.Seed, s.last.Reason, s.last.Total = len(pieces), a.Seed, reason, s.last.Total+1
	s.mu.Unlock()
	finish := "length" // for a stop string, too
	if reason == eosToken && !c.faults.AlwaysLength {
		finish = "stop"
	}
	if stream {
		s.stream(c, pieces, reason, finish, aborted)
	} else {
		c.send(200, "application/json", fmt.Sprintf(`{"results": [{"text": %s, "finish_reason": %q}]}`, servertest.Quoted(strings.Join(pieces, "")), finish))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abort = nil
}

// decide gives the pieces of an answer: up to the limit, or to the piece in which a stop string becomes whole.
func decide(pieces []string, most int, stops []string) (kept []string, reason int) {
	whole := ""
	for i, p := range pieces {
		if i == most {
			return pieces[:i], outOfTokens
		}
		whole += p
		for _, stop := range stops {
			if strings.Contains(whole, stop) {
				return pieces[:i+1], stopString
			}
		}
	}
	if len(pieces) == most {
		return pieces, outOfTokens
	}
	return pieces, eosToken
}

func (s *Server) admit(c call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults.Busy > 0 {
		s.faults.Busy--
		return false
	}
	if s.waiting >= c.options.Queue {
		return false
	}
	s.waiting++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
}

// stream sends the answer in events, of which the last has no text where the model ended it.
func (s *Server) stream(c call, pieces []string, reason int, finish string, aborted <-chan struct{}) {
	c.head(200, "cache-control: no-cache\r\nconnection: keep-alive\r\n", "text/event-stream")
	events := burst(pieces, c.options.Burst)
	for i, text := range events {
		if !s.turn(c, aborted) {
			c.event("", "length") // as if it were done
			return
		}
		if c.breaks(s, i) {
			return
		}
		if i == len(events)-1 && reason != eosToken {
			c.event(text, finish)
			return
		}
		c.event(text, "null")
	}
	if s.turn(c, aborted) && !c.breaks(s, len(events)) {
		c.event("", finish)
	}
}

// burst joins the first n pieces.
func burst(pieces []string, n int) []string {
	if n = min(n, len(pieces)); n < 2 {
		return pieces
	}
	return append([]string{strings.Join(pieces[:n], "")}, pieces[n:]...)
}

// turn waits for the next event's turn and says whether the work goes on.
func (s *Server) turn(c call, aborted <-chan struct{}) bool {
	gone := c.gone
	if c.options.Deaf {
		gone = nil
	}
	select {
	case <-aborted:
		s.Leave("abort")
		return false
	case <-gone:
		s.Leave("disconnect")
		return false
	case <-s.Closed():
		return false
	case <-s.Turn(c.options.Stepped):
		return true
	}
}

// breaks lets the stream go wrong when it is time for that, and says whether it did.
func (c call) breaks(s *Server, sent int) bool {
	if c.faults.Break == "" || sent < c.faults.BreakAfter {
		return false
	}
	switch c.faults.Break {
	case servertest.BreakGarbage:
		_, _ = io.WriteString(c.conn, "event: message\ndata: {\"token\": \"a\n\n")
	case servertest.BreakSilent:
		select {
		case <-c.gone:
		case <-s.Closed():
		}
	default: // the connection is closed
	}
	return true
}

func (c call) event(text, finish string) {
	_, _ = fmt.Fprintf(c.conn, "event: message\ndata: {\"token\": %s, \"finish_reason\": %q}\n\n", servertest.Quoted(text), finish)
}
