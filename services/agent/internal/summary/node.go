package summary

import (
	"context"
	"strings"

	"github.com/google/uuid"
)

// maxFailed is how many nodes that failed are known. Beyond, one of them is forgotten, and tried again.
const maxFailed = 10_000

// node works on one node. An error is one for which no other could go on either.
func (j *job) node(ctx context.Context, id uuid.UUID) (Event, error) {
	k := key{j.ns, id}
	if !j.begin(k) {
		return Skipped{ID: id, Why: InWork}, nil
	}
	defer j.end(k)
	n, err := j.Store.Node(ctx, j.ns, id)
	if wrong := nodeError(err); wrong != nil {
		return Failed{ID: id, Reason: wrong.Reason, Message: wrong.Message}, nil
	}
	switch {
	case err != nil:
		return nil, err
	case !n.Stale:
		return Skipped{ID: id, Why: Fresh}, nil
	case strings.TrimSpace(n.Prompt+n.Answer) == "":
		return Skipped{ID: id, Why: Empty}, nil
	case j.Background && j.failedWith(k, n.Source):
		return Skipped{ID: id, Why: FailedBefore}, nil
	}
	e, use, err := j.summarise(ctx, n)
	if wrong := nodeError(err); wrong != nil {
		e, err = Failed{ID: id, Reason: wrong.Reason, Message: wrong.Message, Use: use}, nil
	}
	if err != nil {
		return nil, err
	}
	_, failed := e.(Failed)
	j.remember(k, n.Source, failed)
	return e, nil
}

// begin takes a node that nobody works on.
func (s *Service) begin(k key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[k] != nil {
		return false
	}
	s.busy[k] = make(chan struct{})
	return true
}

func (s *Service) end(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.busy[k])
	delete(s.busy, k)
}

// awaitFree waits until nobody works on a node.
func (s *Service) awaitFree(ctx context.Context, k key) error {
	s.mu.Lock()
	busy := s.busy[k]
	s.mu.Unlock()
	if busy == nil {
		return ctx.Err()
	}
	select {
	case <-busy:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Service) failedWith(k key, source string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, known := s.failed[k]
	return known && was == source
}

// remember keeps in mind that a node failed, with which texts, or that it did not.
func (s *Service) remember(k key, source string, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failed, k)
	if !failed {
		return
	}
	for old := range s.failed {
		if len(s.failed) < maxFailed {
			break
		}
		delete(s.failed, old)
	}
	s.failed[k] = source
}
