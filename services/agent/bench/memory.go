package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// memory is a store that keeps what a turn without approvals writes, and nothing on a disk: what a turn costs beside its store. One
// function runs at a time, and its error takes nothing back.
type memory struct {
	mu       sync.Mutex
	sessions map[string]store.Session
	texts    map[string]store.Text
	records  map[string][]store.Record
	leases   map[string]store.Lease
	outgoing []store.Outgoing
}

func newMemory() *memory {
	return &memory{
		sessions: map[string]store.Session{}, texts: map[string]store.Text{}, records: map[string][]store.Record{}, leases: map[string]store.Lease{},
	}
}

var errUnused = errors.New("no turn that is measured uses this")

func (m *memory) Update(_ context.Context, _ string, fn func(store.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fn(held{m})
}

func (m *memory) Read(_ context.Context, _ string, fn func(store.View) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fn(held{m})
}

func (m *memory) Due(context.Context, string, time.Time, int) ([]store.Key, time.Time, error) {
	return nil, time.Time{}, nil
}

func (m *memory) Telling(context.Context, store.Key, int) ([]store.Key, error) { return nil, nil }
func (m *memory) Namespaces(context.Context, string, int) ([]string, error)    { return nil, nil }
func (m *memory) Close() error                                                 { return nil }

// held is the store while a function has it.
type held struct{ *memory }

func (h held) Session(id string) (store.Session, error) {
	s, ok := h.sessions[id]
	if !ok {
		return s, store.ErrNotFound
	}
	return s, nil
}

func (h held) Text(session, id string) (store.Text, error) {
	t, ok := h.texts[session+" "+id]
	if !ok {
		return t, store.ErrNotFound
	}
	return t, nil
}

func (h held) Lease(session string) (store.Lease, error) { return h.leases[session], nil }

func (h held) PutSession(s store.Session) error {
	s.Version++
	h.sessions[s.ID] = s
	return nil
}

func (h held) PutText(t store.Text) error {
	h.texts[t.Session+" "+t.ID] = t
	return nil
}

func (h held) AddRecord(session string, _ int64, r store.Record) error {
	h.records[session] = append(h.records[session], r)
	return nil
}

func (h held) PutOutgoing(o store.Outgoing) error {
	h.outgoing = append(h.outgoing, o)
	return nil
}

func (h held) Claim(session, owner string, _, until time.Time) (store.Lease, error) {
	l := store.Lease{Owner: owner, Until: until, Epoch: h.leases[session].Epoch + 1}
	h.leases[session] = l
	return l, nil
}

func (h held) Release(session string, epoch int64) error {
	h.leases[session] = store.Lease{Epoch: epoch}
	return nil
}

func (held) Fence(string, int64) error { return nil }

func (held) Sessions(store.SessionFilter, store.Place, int) ([]store.Session, error) {
	return nil, errUnused
}
func (held) Approval(string) (store.Approval, error) { return store.Approval{}, errUnused }
func (held) Approvals(store.ApprovalFilter, store.Place, int) ([]store.Approval, error) {
	return nil, errUnused
}
func (held) Records(string, int64, int) ([]store.Record, error)    { return nil, errUnused }
func (held) DeleteSession(string) error                            { return errUnused }
func (held) DeleteContents(string) error                           { return errUnused }
func (held) TextIDs(string, string, int) ([]string, error)         { return nil, errUnused }
func (held) Outgoing(string, int64, int) ([]store.Outgoing, error) { return nil, errUnused }
func (held) TakeOutgoing(string, int64) error                      { return errUnused }
func (held) PutApproval(store.Approval) error                      { return errUnused }
func (held) PruneRecords(string, int64) error                      { return errUnused }
func (held) PruneTexts(time.Time, int) (int, error)                { return 0, errUnused }
