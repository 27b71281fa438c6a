package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
)

// approvers is how many decide at once, often about the same approval and not alike.
const approvers = 4

// The moments.
const (
	underLoad kill.Moment = "under load"
	inQuiet   kill.Moment = "in the quiet"
	// atEffect is when a folder of a session has just changed, atCommit when the store of sessions has just been written.
	atEffect      kill.Moment = "when a file has just changed"
	atCommit      kill.Moment = "when the store has just been written"
	whileStarting kill.Moment = "while it starts"
)

// How long a moment takes at most. Some loads are longer than the lease of a session, which the process that was killed holds on to.
const (
	maxLoad  = 700 * time.Millisecond
	longLoad = 1800 * time.Millisecond
	maxQuiet = 100 * time.Millisecond
	maxStart = 200 * time.Millisecond
)

// trial is a folder in which Tsumugi is killed again and again.
type trial struct {
	*kill.Report
	binary, dir string
	ledger      *ledger
	sessions    []*session
	// secret is what approvers show.
	secret string
}

func newTrial(o options, dir string, r *kill.Report) (*trial, error) {
	t := &trial{Report: r, binary: o.binary, dir: dir, ledger: newLedger()}
	for n := range o.writers {
		s := newSession(n, rand.New(rand.NewPCG(r.Random.Uint64(), 2)))
		t.sessions = append(t.sessions, s)
		if err := os.MkdirAll(filepath.Join(t.work(), s.folder()), 0o750); err != nil {
			return nil, err
		}
	}
	err := t.settings()
	return t, err
}

// work is the work folder of all sessions, each of which has a folder in it.
func (t *trial) work() string { return filepath.Join(t.dir, "work") }

// run kills so many times, and then compares everything. It ends early when a start fails or something is lost.
func (t *trial) run(ctx context.Context, kills int) error {
	s, err := t.start(ctx)
	for i := 0; err == nil && s != nil && t.Lost == 0 && i < kills; i++ {
		if err = t.killOnce(ctx, s); err == nil {
			t.Kills++
			s, err = t.start(ctx)
		}
	}
	if err != nil || s == nil {
		return err
	}
	err = t.finish(ctx, s)
	t.Progress()
	return errors.Join(err, s.kill())
}

// start starts Tsumugi, sometimes with a kill in the middle of a start first, and compares. It gives nil when it did not start.
func (t *trial) start(ctx context.Context) (*server, error) {
	if err := t.script(); err != nil {
		return nil, err
	}
	if t.Random.IntN(4) == 0 {
		if err := t.killEarly(ctx); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	s, err := t.launch(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.connect(s); err != nil {
		t.FailStart(err)
		return nil, nil //nolint:nilnil // it is counted
	}
	t.Started(began)
	return s, t.compare(ctx, s)
}

// killEarly starts Tsumugi and kills it before it has come far.
func (t *trial) killEarly(ctx context.Context) error {
	s, err := t.launch(ctx)
	if err != nil {
		return err
	}
	time.Sleep(kill.UpTo(t.Random, maxStart))
	t.Moments[whileStarting]++
	return s.kill()
}

// killOnce lets everybody work and kills Tsumugi.
func (t *trial) killOnce(ctx context.Context, s *server) error {
	at := []kill.Moment{underLoad, underLoad, inQuiet, atEffect, atEffect, atEffect, atCommit, atCommit}[t.Random.IntN(8)]
	load := kill.UpTo(t.Random, maxLoad)
	if t.Random.IntN(4) == 0 {
		load = kill.UpTo(t.Random, longLoad)
	}
	stop := make(chan struct{})
	crowd := t.crowd(ctx, s, stop)
	time.Sleep(load)
	at = t.await(at, crowd, stop)
	t.Moments[at]++
	err := s.program.Kill()
	crowd.all.Wait()
	t.ledger.count(t.Acknowledged)
	return errors.Join(append(crowd.errs, err, s.conn.Close())...)
}

// crowd is everybody who works with a server.
type crowd struct {
	all  sync.WaitGroup
	errs []error
}

// crowd has writers write and approvers decide until stop is closed or the server is gone.
func (t *trial) crowd(ctx context.Context, s *server, stop <-chan struct{}) *crowd {
	c := &crowd{errs: make([]error, len(t.sessions)+approvers)}
	for i, one := range t.sessions {
		c.all.Go(func() { c.errs[i] = t.write(ctx, s, one, stop) })
	}
	for i := range approvers {
		random := rand.New(rand.NewPCG(t.Random.Uint64(), 3))
		c.all.Go(func() { c.errs[len(t.sessions)+i] = t.approve(ctx, s, random, stop) })
	}
	return c
}

// await waits for a moment, and says which it turned out to be.
func (t *trial) await(at kill.Moment, c *crowd, stop chan<- struct{}) kill.Moment {
	switch {
	case at == inQuiet:
		close(stop)
		c.all.Wait()
		time.Sleep(kill.UpTo(t.Random, maxQuiet))
		return at
	case at == atEffect && kill.Watch(t.Random, t.fileChanged), at == atCommit && kill.Watch(t.Random, t.storeWritten):
		return at
	}
	return underLoad
}

// fileChanged is when a name in a folder of a session was last made or taken away.
func (t *trial) fileChanged() time.Time { return kill.Newest(filepath.Join(t.work(), "s*")) }

// storeWritten is when the store of sessions was last written.
func (t *trial) storeWritten() time.Time {
	return kill.Newest(filepath.Join(t.dir, "agent", "sessions.db-wal"))
}

// settleLimit is how long the work that is left may take, and settleLook how often it is looked at.
const (
	settleLimit = 60 * time.Second
	settleLook  = 50 * time.Millisecond
)

// finish has everything decided that waits, and when nothing works any more compares all.
func (t *trial) finish(ctx context.Context, s *server) error {
	stop := make(chan struct{})
	errs := make(chan error, 1)
	go func() { errs <- t.approve(ctx, s, t.Random, stop) }()
	settled, err := t.settled(ctx, s)
	close(stop)
	if err := errors.Join(err, <-errs); err != nil {
		return err
	}
	t.ledger.count(t.Acknowledged)
	if !settled {
		return nil
	}
	if err := t.compare(ctx, s); err != nil {
		return err
	}
	for _, one := range t.sessions {
		if err := t.compareSession(ctx, s, one); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}

// settled waits until no session works or waits, and nothing that a kill left is in the work folder; what stays for ever is lost.
func (t *trial) settled(ctx context.Context, s *server) (bool, error) {
	for end := time.Now().Add(settleLimit); ; time.Sleep(settleLook) {
		works, err := t.working(ctx, s)
		if err == nil && works == "" {
			works, err = t.littered()
		}
		if err != nil || works == "" {
			return err == nil, err
		}
		if time.Now().After(end) {
			t.Lose("%s after %s", works, settleLimit)
			return false, nil
		}
	}
}
