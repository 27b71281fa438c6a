package servertest

import (
	"fmt"
	"net/http"
)

// Break is how a stream goes wrong.
type Break string

// The ways. How an error and garbage look is the business of each fake.
const (
	// BreakCut closes the connection, as a server does that is killed.
	BreakCut Break = "cut off"
	// BreakEnd ends the stream in good form but without what ends an answer.
	BreakEnd Break = "end"
	// BreakSilent sends nothing any more but keeps the connection open.
	BreakSilent Break = "silent"
	// BreakError sends an error instead of the next piece.
	BreakError Break = "error inside"
	// BreakErrorField sends an error in a field of its own, as llama.cpp of 2025 does.
	BreakErrorField Break = "error field"
	// BreakGarbage sends what is no JSON.
	BreakGarbage Break = "garbage"
)

// Stream is one answer on its way.
type Stream struct {
	*Server
	W http.ResponseWriter
	R *http.Request
	// Prompt is what Aborted tells of it.
	Prompt string
	// Stepped holds each event back until Step is called.
	Stepped bool
	// Break is how it goes wrong after After pieces; empty: it does not. Wrong is what it sends then.
	Break Break
	After int
	Wrong map[Break]string
}

// Next says, after so many pieces were sent, whether the next event goes: once it is its turn, unless the client has gone
// or the stream has just gone wrong.
func (s *Stream) Next(sent int) bool {
	select {
	case <-s.R.Context().Done():
		s.Leave(s.Prompt)
		return false
	case <-s.Closed():
		return false
	case <-s.Turn(s.Stepped):
	}
	if s.Break == "" || sent < s.After {
		return true
	}
	s.Send(s.Wrong[s.Break]) // also so that the headers are there before the end
	switch s.Break {
	case BreakCut:
		panic(http.ErrAbortHandler)
	case BreakSilent:
		s.Wait(s.R)
	case BreakEnd, BreakError, BreakErrorField, BreakGarbage:
	}
	return false
}

// Send writes and flushes; when the client has gone, Next notices.
func (s *Stream) Send(text string) {
	_, _ = s.W.Write([]byte(text))
	_ = http.NewResponseController(s.W).Flush() // as above
}

// Quoted is a JSON string that keeps bytes that are not UTF-8 as they are, as encoding/json would not.
func Quoted(s string) string {
	out := []byte{'"'}
	for _, b := range []byte(s) {
		if b < ' ' || b == '"' || b == '\\' {
			out = fmt.Appendf(out, `\u%04x`, b)
			continue
		}
		out = append(out, b)
	}
	return string(append(out, '"'))
}
