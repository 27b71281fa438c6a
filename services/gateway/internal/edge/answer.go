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

// maxWrite is how much is written within one time limit: a client on a slow line gets a long event in many writes.
const maxWrite = 32 << 10

// Write sends a part of the body.
func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	written := 0
	for {
		a.deadline(time.Now().Add(a.timeout))
		n, err := a.ResponseWriter.Write(b[written:min(len(b), written+maxWrite)])
		a.bytes += int64(n)
		if written += n; err != nil || written == len(b) {
			return written, err
		}
	}
}

// deadline holds for all writing until the next one. It is not supported by the recorders of tests.
func (a *answer) deadline(t time.Time) {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(t)
}
