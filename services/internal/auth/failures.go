package auth

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// maxFailures is how many requests of one peer may fail within failureWindow before it is told to wait, and the log is spared.
	maxFailures   = 20
	failureWindow = time.Minute
	// maxPeers is how many peers are told apart. Those beyond share one count.
	maxPeers = 4096
)

// failures counts failed requests by peer.
type failures struct {
	now func() time.Time

	mu    sync.Mutex
	peers map[string]*tally
}

// tally is what failed since a moment.
type tally struct {
	since time.Time
	n     int
}

func newFailures() *failures { return &failures{now: time.Now, peers: map[string]*tally{}} }

// count adds a failure of a peer: how many there were within the window, and how long that lasts.
func (f *failures) count(peer string) (n int, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	t := f.peers[peer]
	if t == nil {
		t = f.place(peer, now)
	}
	if now.Sub(t.since) >= failureWindow {
		t.since, t.n = now, 0
	}
	t.n++
	return t.n, failureWindow - now.Sub(t.since)
}

// place finds room for a peer: a new one, or what all those share who find none.
func (f *failures) place(peer string, now time.Time) *tally {
	if len(f.peers) >= maxPeers {
		for p, t := range f.peers {
			if now.Sub(t.since) >= failureWindow {
				delete(f.peers, p)
			}
		}
	}
	if len(f.peers) >= maxPeers {
		peer = ""
	}
	if f.peers[peer] == nil {
		f.peers[peer] = &tally{since: now}
	}
	return f.peers[peer]
}

// host is the address without its port. Of IPv6 it is the network of one customer, /64: he has all addresses in it.
func host(peer string) string {
	if h, _, err := net.SplitHostPort(peer); err == nil {
		peer = h
	}
	ip, err := netip.ParseAddr(peer)
	if err != nil {
		return peer
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() && !ip.IsLoopback() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}
