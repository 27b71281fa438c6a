package mcpserver

import (
	"errors"
	"time"
)

// attend looks after a connection: it lists the tools again when the server says that they have changed, and ends what nobody uses.
func (l *link) attend(c *conn) {
	defer c.close()
	t := time.NewTimer(idle)
	defer t.Stop()
	for {
		select {
		case <-c.over:
			l.lost(c, errors.New("the server has ended the connection"))
			return
		case <-c.life.Done():
			return
		case <-l.all.life.Done():
			return
		case <-c.changed:
			l.relist(c)
			l.rest(c)
		case <-t.C:
			if l.unused(c) {
				return
			}
			t.Reset(idle)
		}
	}
}

// relist lists the tools of a connection again, if it is still the one that is used. What is wrong is in the log; calls are refused while the list is
// stale. Another connection whoever wants one makes: it waits for the end of this one.
func (l *link) relist(c *conn) {
	select {
	case l.one <- struct{}{}:
		defer func() { <-l.one }()
	case <-c.over:
		return
	case <-c.life.Done():
		return
	case <-l.all.life.Done():
		return
	}
	if l.current() != c {
		return
	}
	if err := l.list(l.all.life, c, listWait); err != nil && !c.occupied() {
		l.lost(c, err)
	}
}

// rest waits before the next list that the server asks for.
func (l *link) rest(c *conn) {
	t := time.NewTimer(listPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.over:
	case <-c.life.Done():
	case <-l.all.life.Done():
	}
}

// unused gives a connection up that nobody has used for long.
func (l *link) unused(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != c || l.busy > 0 || time.Since(l.used) < idle {
		return false
	}
	l.conn, l.failures = nil, 0
	return true
}
