package edge

import (
	"net/http"
	"time"
)

// answer counts what is written, and bounds each write instead of the whole: a stream may last for hours, a client that
// does not read may not.
type answer struct {
	http.ResponseWriter
	timeout time.Duration
	status  int // 0: nothing was written yet
	bytes   int64
}

func newAnswer(w http.ResponseWriter, timeout time.Duration) answer {
	a := answer{ResponseWriter: w, timeout: timeout}
	a.deadline(time.Time{}) // what the request before left on this connection
	return a
}

// Unwrap lets http.ResponseController flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader sends the status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	a.deadline(time.Now().Add(a.timeout))
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// deadline holds for all writing until the next one. It is not supported by the recorders of tests.
func (a *answer) deadline(t time.Time) {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(t)
}
