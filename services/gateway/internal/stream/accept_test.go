package stream

import (
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{
		"":                                      NDJSON,
		"*/*":                                   NDJSON,
		"application/json":                      NDJSON,
		"application/*":                         NDJSON,
		"text/html":                             NDJSON,
		"text/event-stream":                     SSE,
		"Text/Event-Stream":                     SSE,
		"text/event-stream, */*":                SSE,
		"*/*,text/event-stream":                 SSE,
		"text/event-stream; charset=utf-8, */*": SSE,
		"application/json, text/event-stream":   SSE, // JSON is no form of a stream here
		"text/event-stream, */*;q=0.8":          SSE,
		"application/x-ndjson;q=0.9, text/event-stream": SSE,
		"text/*":                                             SSE,
		"text/*, */*":                                        SSE,
		"text/event-stream;q=0.5, */*":                       NDJSON,
		"text/event-stream;q=0":                              NDJSON,
		"text/event-stream;q=0, text/*":                      NDJSON,
		"text/event-stream, application/x-ndjson":            NDJSON, // nothing tells them apart
		"text/event-stream;q=0.9, application/x-ndjson":      NDJSON,
		"text/event-stream;q=2":                              NDJSON, // no weight that there is
		"text/event-stream;q=NaN":                            NDJSON,
		"text/event-stream;q=x, */*":                         NDJSON,
		`text/event-stream;v="a,b"`:                          NDJSON, // a comma in quotes is not understood, and not mistaken
		",, ;q=1, /, text/event-stream ,":                    SSE,
		"application/x-ndjson;q=0.1, text/event-stream;q=.2": SSE,
	} {
		if got := Choose([]string{accept}); got != want {
			t.Errorf("Accept: %s: %s, want %s", accept, got, want)
		}
	}
	if got := Choose(nil); got != NDJSON {
		t.Errorf("without Accept: %s", got)
	}
	if got := Choose([]string{"application/json", "text/event-stream"}); got != SSE {
		t.Errorf("two headers: %s", got)
	}
}

// What a client named alone and with a weight over 0 is what it gets, whatever stands around it.
func FuzzChoose(f *testing.F) {
	for _, seed := range []string{"*/*", "text/*;q=0.3", "application/x-ndjson;q=1", `a/b;c="`, "text/event-stream;q=0.000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, noise string) {
		got := Choose([]string{noise})
		if got != NDJSON && got != SSE {
			t.Fatalf("chose %q", got)
		}
		if got == SSE && !strings.Contains(strings.ToLower(noise), "text/") {
			t.Fatalf("%q asked for no events", noise)
		}
		lower := strings.ToLower(noise)
		if strings.Contains(lower, "event-stream") || strings.Contains(lower, "ndjson") || strings.Contains(lower, "*") {
			return
		}
		if got := Choose([]string{noise, "text/event-stream"}); got != SSE {
			t.Fatalf("%q hid text/event-stream", noise)
		}
	})
}
