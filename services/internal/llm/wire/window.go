package wire

import (
	"fmt"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// unasked stands for a window that the server was not asked for yet.
const unasked = -1

// Window is what prompt and answer may have together, of what the server itself tells (0: nothing): the smaller one of that
// and what the backends file says, less the margin.
func (s *Server) Window(told int) (int, error) {
	s.told.Store(int64(max(told, 0)))
	window := s.smaller(told)
	switch {
	case window <= 0:
		return 0, s.Fault(llm.FaultProtocol, nil, "the server does not tell its window; set `window` in the backends file to the tokens that prompt and answer may have together")
	case window <= s.Margin:
		return 0, s.Fault(llm.FaultRefused, nil, "the window is %d tokens, and a margin of %d leaves nothing of it; lower `margin` in the backends file", window, s.Margin)
	}
	return window - s.Margin, nil
}

// smaller is the smaller one of what the server tells and what the backends file says, of those that are known.
func (s *Server) smaller(told int) int {
	if own := s.Endpoint.Window; own > 0 && (told <= 0 || own < told) {
		return own
	}
	return told
}

// Warnings says where the window is what a person wrote down, as of the last time that the server was asked for it.
func (s *Server) Warnings() []string {
	own, told := s.Endpoint.Window, int(s.told.Load())
	if own == 0 {
		return nil
	}
	switch {
	case told == 0:
		return []string{fmt.Sprintf("the window of %d tokens is what the backends file says (window): the server does not tell its own", own)}
	case own < told:
		return []string{fmt.Sprintf("the window of %d tokens is what the backends file says (window): the server tells %d", own, told)}
	case told > 0 && own > told:
		return []string{fmt.Sprintf("the backends file says a window of %d tokens (window), and the server tells %d: the smaller one holds", own, told)}
	}
	return nil
}
