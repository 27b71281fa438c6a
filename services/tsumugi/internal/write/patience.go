package write

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/grpcclient"
	"github.com/tsumugi-dev/tsumugi/services/tsumugi/internal/client"
)

// What did not work is tried again after firstWait, then after twice the time before, which grows no further than lastWait
// (a service that says when may ask for more).
const (
	firstWait = time.Second
	lastWait  = 16 * time.Second
	// breaks is how often in a row a connection may break: half a minute of waits, in which a service that was started again
	// is there.
	breaks = 5
	// patience is how long all waits of one request together may last where nobody is asked: a model is loaded by then, and a
	// queue that is still full is better looked at by a person.
	patience = 10 * time.Minute
)

// patiently does something again for as long as waiting helps: after a connection that broke and, where nobody is there to
// say so, when the service says. Where nobody was ever reached, there is nothing to wait for. What it does must be the same thing each time, with the same request id. The error is that
// of the last time, or errStopped where the writer, or whoever ends the program, did not want to wait.
func (s *session) patiently(ctx context.Context, do func() error) error {
	p := retries{unasked: s.Yes}
	for {
		err := do()
		s.reached = s.reached || !broken(err)
		wait, ok := p.after(err)
		if !ok || !s.reached {
			return err
		}
		s.announce(wait, err)
		select {
		case <-s.after(wait):
		case <-s.Interrupts:
			return errStopped
		case <-ctx.Done():
			return errStopped
		}
	}
}

// retries are those of one request so far.
type retries struct {
	unasked      bool
	broken, busy int
	total        time.Duration
}

// after is how long to wait after an error; false where that does not help, or was done often enough.
func (w *retries) after(err error) (wait time.Duration, ok bool) {
	later, told := retryAfter(err)
	switch {
	case broken(err):
		w.broken++
		return grown(w.broken), w.broken <= breaks
	case !told || !w.unasked:
		return 0, false
	}
	w.broken = 0
	w.busy++
	wait = max(later, grown(w.busy))
	w.total += wait
	return wait, w.total <= patience
}

// grown is the wait before the n-th try again, from 1.
func grown(n int) time.Duration { return min(lastWait, firstWait<<min(n-1, 10)) }

// announce says why and how long to wait.
func (s *session) announce(wait time.Duration, err error) {
	seconds := int(math.Ceil(wait.Seconds()))
	why := "つながりが切れました the connection broke (" + grpcclient.Reason(err) + ")"
	if e, ok := apierr.FromStatus(err); ok {
		why = "今は受けられません not now: " + e.Message
	}
	fmt.Fprintf(s.Err, "── %s\n", client.Visible(fmt.Sprintf("%s; %d秒後に同じ依頼を続けます the same request goes on in %d s", why, seconds, seconds)))
}

// broken says that it was the connection that failed, and not what was asked: the services name their own errors.
func broken(err error) bool {
	_, named := apierr.FromStatus(err)
	return !named && status.Code(err) == codes.Unavailable
}

// retryAfter is when the same request may go better; false where it would not.
func retryAfter(err error) (time.Duration, bool) {
	e, ok := apierr.FromStatus(err)
	if !ok {
		return 0, false
	}
	return e.RetryAfter, e.RetryAfter > 0
}
