// Package stream writes server streams as newline-delimited JSON or as Server-Sent Events.
package stream

import (
	"mime"
	"strconv"
	"strings"
)

// Media types of the two forms.
const (
	NDJSON = "application/x-ndjson"
	SSE    = "text/event-stream"
)

// preference is how much a client wants a media type: the weight (q) of the most specific range that covers it, and how
// specific that range is (3: the type itself, 2: `text/*`, 1: `*/*`, 0: none).
type preference struct {
	q        float64
	specific int
}

// over says that p is wanted more than o.
func (p preference) over(o preference) bool {
	return p.q > o.q || p.q == o.q && p.q > 0 && p.specific > o.specific
}

// Choose picks the form of a stream from the values of the header Accept (RFC 9110, 12.5.1): the type with the higher
// weight, and of two with the same weight the one that is named more exactly, so that `text/event-stream, */*` is SSE.
// It is NDJSON when nothing tells them apart, and also when neither is wanted: an answer is better than none.
func Choose(accept []string) string {
	var ndjson, sse preference
	for _, value := range accept {
		for r := range strings.SplitSeq(value, ",") {
			ndjson.consider(r, NDJSON)
			sse.consider(r, SSE)
		}
	}
	if sse.over(ndjson) {
		return SSE
	}
	return NDJSON
}

// consider takes the weight of a range that covers the type more exactly than those before. What cannot be read is skipped.
func (p *preference) consider(mediaRange, mediaType string) {
	name, params, err := mime.ParseMediaType(mediaRange)
	if err != nil {
		return
	}
	specific := specificity(name, mediaType)
	if specific <= p.specific {
		return
	}
	q := 1.0
	if text, ok := params["q"]; ok {
		if q, err = strconv.ParseFloat(text, 64); err != nil || !(q >= 0 && q <= 1) {
			return
		}
	}
	*p = preference{q: q, specific: specific}
}

func specificity(mediaRange, mediaType string) int {
	kind, _, _ := strings.Cut(mediaType, "/")
	switch mediaRange {
	case mediaType:
		return 3
	case kind + "/*":
		return 2
	case "*/*":
		return 1
	}
	return 0
}
