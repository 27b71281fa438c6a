package wire

import "strings"

// Stops takes the stop strings of a request off a text that comes in pieces. What may be the beginning of one is held back.
// The zero value knows none. How the text is cut into pieces changes nothing: the stop string that is whole first ends it.
type Stops struct {
	stops []string
	held  string
	found string
}

// NewStops knows stop strings; none of them is empty.
func NewStops(stops []string) Stops { return Stops{stops: stops} }

// Add takes the next piece and gives what certainly belongs to the answer. After a stop string it gives nothing.
func (s *Stops) Add(piece string) string {
	if s.found != "" {
		return ""
	}
	text := s.held + piece
	start, end := len(text), len(text)+1
	for _, stop := range s.stops {
		i := strings.Index(text, stop)
		if e := i + len(stop); i >= 0 && (e < end || e == end && i < start) {
			start, end, s.found = i, e, stop
		}
	}
	if s.found != "" {
		s.held = ""
		return text[:start]
	}
	keep := s.maybe(text)
	s.held = text[len(text)-keep:]
	return text[:len(text)-keep]
}

// maybe gives how many bytes at the end of text may be the beginning of a stop string.
func (s *Stops) maybe(text string) int {
	most := 0
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, stop[:n]) {
				most = n
			}
		}
	}
	return most
}

// Found is the stop string that ended the text; empty while none did.
func (s *Stops) Found() string { return s.found }

// Rest gives what was held back, once it is certain that nothing follows.
func (s *Stops) Rest() string {
	rest := s.held
	s.held = ""
	return rest
}
