package edge

import (
	"net/http/httptest"
	"testing"
	"time"
)

// line notes how much is written within each time limit.
type line struct {
	*httptest.ResponseRecorder
	writes []int
}

func (l *line) SetWriteDeadline(time.Time) error {
	l.writes = append(l.writes, 0)
	return nil
}

func (l *line) Write(b []byte) (int, error) {
	l.writes[len(l.writes)-1] += len(b)
	return l.ResponseRecorder.Write(b)
}

// TestEachPartOfALongEventHasItsOwnTime: a client on a slow line that reads all the time gets an event however long it
// takes.
func TestEachPartOfALongEventHasItsOwnTime(t *testing.T) {
	t.Parallel()
	l := &line{ResponseRecorder: httptest.NewRecorder()}
	a := newAnswer(l, time.Minute)
	const size = 5*maxWrite + 1
	if n, err := a.Write(make([]byte, size)); n != size || err != nil || a.bytes != size || l.Body.Len() != size {
		t.Errorf("%d of %d bytes, %v", n, size, err)
	}
	if limits := l.writes[1:]; len(limits) != 6 { // the first belongs to the request before
		t.Errorf("written within the limits: %v", limits)
	}
	for _, n := range l.writes {
		if n > maxWrite {
			t.Errorf("%d bytes within one time limit", n)
		}
	}
	if n, err := a.Write(nil); n != 0 || err != nil {
		t.Errorf("nothing gave %d, %v", n, err)
	}
}
