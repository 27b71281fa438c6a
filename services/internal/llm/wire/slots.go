package wire

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// slots are places for calls that are under way at once. Who waits for one gets it in the order of coming.
type slots struct {
	mu sync.Mutex
	// most is how many there are, busy how many of them are taken.
	most, busy int
	waiting    []chan struct{}
}

// take waits for a free slot, as long as the caller does. Whatever is under way has time limits of its own, so the wait
// ends. A slot that was taken must be given back.
func (s *Server) take(ctx context.Context, from *slots) error {
	turn := from.queue()
	select {
	case <-turn:
		return nil
	default:
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		most := from.leave(turn)
		ended := llm.Ended(ctx)
		return s.Fault(ended.Fault, ended.Err, "%s while it waited for one of %d calls at once (concurrency) to end", ended.Message, most)
	}
}

// AnswersAtOnce is what the server tells of how many answers it makes at once (0 or less: nothing). No more are under way
// from then on, so that whoever waits does it here, where no limit on the server's silence runs.
func (s *Server) AnswersAtOnce(told int) {
	most := cmp.Or(s.Concurrency, DefaultConcurrency)
	if told > 0 {
		most = min(most, told)
	}
	s.answering.resize(most)
}

// queue gives what is closed once the slot is the caller's.
func (s *slots) queue() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := make(chan struct{})
	s.waiting = append(s.waiting, turn)
	s.next()
	return turn
}

// leave gives up waiting, or the slot where it came at that moment, and says how many there are.
func (s *slots) leave(turn <-chan struct{}) (most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.waiting, func(w chan struct{}) bool { return w == turn }); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	} else {
		s.busy--
		s.next()
	}
	return s.most
}

func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.next()
}

// resize changes how many there are; those that are taken stay so.
func (s *slots) resize(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most = most
	s.next()
}

// next lets in who is next. The caller holds mu.
func (s *slots) next() {
	for s.busy < s.most && len(s.waiting) > 0 {
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
		s.busy++
	}
}
