package main

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// ledger is what was acknowledged in a folder.
type ledger struct {
	mu sync.Mutex
	// texts of all nodes by name; fresh are those since the last comparison.
	texts map[string]string
	fresh []string
	// loose are nodes that are in no flow.
	loose []string
	flows []*flowRecord
}

// flowRecord is what was acknowledged of a flow.
type flowRecord struct {
	name string
	// parents of each member; members in the order in which they were acknowledged.
	parents map[string][]string
	members []string
	// current is the acknowledged place; moving is the one that was asked for last, acknowledged or not. Only one writer
	// moves it.
	current, moving string
	// text is the acknowledged description, writing the one that was asked for last. Only one writer writes it.
	text, writing string
}

func newLedger() *ledger { return &ledger{texts: map[string]string{}} }

func (l *ledger) addFlow(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flows = append(l.flows, &flowRecord{name: name, parents: map[string][]string{}})
}

func (l *ledger) created(name, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.texts[name] = text
	l.fresh = append(l.fresh, name)
	l.loose = append(l.loose, name)
}

// added notes a node in a flow; text is nil for one that was stored before. Nobody else is told of a leaving one.
func (l *ledger) added(f *flowRecord, name string, text *string, parents []string, leaving bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text != nil {
		l.texts[name] = *text
		l.fresh = append(l.fresh, name)
	}
	f.parents[name] = parents
	if !leaving {
		f.members = append(f.members, name)
	}
}

// removed notes that a node left a flow. Nothing continued it.
func (l *ledger) removed(f *flowRecord, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(f.parents, name)
}

// joined notes an edge.
func (l *ledger) joined(f *flowRecord, parent, child string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	parents := append(slices.Clone(f.parents[child]), parent)
	slices.Sort(parents)
	f.parents[child] = slices.Compact(parents)
}

// parted notes the end of an edge.
func (l *ledger) parted(f *flowRecord, parent, child string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.parents[child] = slices.DeleteFunc(slices.Clone(f.parents[child]), func(p string) bool { return p == parent })
}

// parentsOf gives what a member continues.
func (l *ledger) parentsOf(f *flowRecord, child string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f.parents[child]
}

// earlier draws a member that was acknowledged before another one, so that an edge from it closes no cycle; empty where
// there is none.
func (l *ledger) earlier(f *flowRecord, than string, random *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := slices.Index(f.members, than); at > 0 {
		return f.members[random.IntN(at)]
	}
	return ""
}

func (l *ledger) move(f *flowRecord, to string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.moving = to
}

func (l *ledger) moved(f *flowRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.current = f.moving
}

func (l *ledger) write(f *flowRecord, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.writing = text
}

func (l *ledger) wrote(f *flowRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.text = f.writing
}

// takeLoose gives a node that is in no flow to one caller; empty where there is none.
func (l *ledger) takeLoose() (name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.loose); n > 0 {
		name, l.loose = l.loose[n-1], l.loose[:n-1]
	}
	return name
}

// someMembers draws up to n members of a flow, each once.
func (l *ledger) someMembers(f *flowRecord, n int, random *rand.Rand) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var drawn []string
	for range min(n, len(f.members)) {
		drawn = append(drawn, f.members[random.IntN(len(f.members))])
	}
	slices.Sort(drawn)
	return slices.Compact(drawn)
}

// takeFresh gives the nodes that were acknowledged since the last comparison.
func (l *ledger) takeFresh() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	names, l.fresh = l.fresh, nil
	return names
}
