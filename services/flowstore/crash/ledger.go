package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// key names one thing that can be read back: a part of a node or flow.
type key struct {
	// Thing is `nodes/{uuid}` or `flows/{uuid}`.
	Thing string
	// Part is one of those below, or the name behind one of the prefixes.
	Part string
}

// The parts of a thing. A part that is not there has the value "".
const (
	partText        = "text"        // of a node: all that it says
	partIs          = "is"          // of a flow: that it is there
	partDescription = "description" // of a flow
	partCurrent     = "current"     // of a flow: the node
	partTrash       = "trash"       // that it is in the trash: then it has no other part
	partPurged      = "purged"      // that it was purged, and why
	prefixMember    = "node "       // and a node: what it continues in the flow
	prefixHead      = "head "       // and a name: the node at which the head stands
	prefixLink      = "link "       // and node and flow
)

// isThere is the value of a part that says no more.
const isThere = "there"

func member(flow, node string) key { return key{flow, prefixMember + node} }
func head(flow, name string) key   { return key{flow, prefixHead + name} }

// ledger is what a folder has to hold: for each key what was acknowledged. What is under way stands in the operations.
type ledger struct {
	mu sync.Mutex
	// is holds the values of things by part.
	is map[string]map[string]string
	// flows and nodes are all things, members those of a flow, each in the order in which they were acknowledged.
	flows, nodes []string
	members      map[string][]string
	// born is the place of a node in nodes: edges lead from earlier to later ones only, so that none closes a cycle.
	born map[string]int
	// previous is what a node said before it was changed last.
	previous map[string]string
	// locks says how many operations under way need a key to stay as it is; -1: one of them writes it.
	locks map[key]int
	// fresh are the nodes, and flows in the trash or purged, that changed since they were compared last.
	fresh map[string]bool
	// trash are the things in it, and kept the parts that each of them comes back with.
	trash []string
	kept  map[string]map[string]string
	// turns counts the operations on each flow, and steps are what can be undone of it, as far as their order is known.
	turns map[string]int
	steps map[string]*steps
	// erased are the markers of texts that were purged; copied those that SplitNode gave to another node.
	erased map[string]string
	copied map[string]bool
}

func newLedger() *ledger {
	return &ledger{
		is: map[string]map[string]string{}, members: map[string][]string{}, born: map[string]int{},
		previous: map[string]string{}, locks: map[key]int{}, fresh: map[string]bool{}, kept: map[string]map[string]string{},
		turns: map[string]int{}, steps: map[string]*steps{}, erased: map[string]string{}, copied: map[string]bool{},
	}
}

// operation is something that was drawn: what to ask for, and what is true once it is acknowledged.
type operation struct {
	rpc string
	// writes are the values of keys afterwards. Two operations under way never write one key, so that after a kill each is
	// as it was before or as it is here, and those of one operation are all the one or all the other.
	writes map[key]string
	// shares must stay as they are meanwhile; owns are kept from everybody else besides what is written.
	shares, owns []key
	// token stands in keys for a name that the server chooses.
	token string
	// ask asks, and gives the name that the server chose. It can be asked again.
	ask request
	// turns are the numbers that it has among the operations on each flow, where none was under way when it began.
	turns map[string]int
	// moves a step of the flow: -1 undoes it, 1 does it again.
	moves int
}

// take keeps what an operation needs from the others; false where one of them has it.
func (l *ledger) take(o *operation) bool {
	for k := range o.exclusive {
		if l.locks[k] != 0 {
			return false
		}
	}
	for _, k := range o.shares {
		if l.locks[k] < 0 {
			return false
		}
	}
	l.takeTurns(o)
	for k := range o.exclusive {
		l.locks[k] = -1
	}
	for _, k := range o.shares {
		if l.locks[k] >= 0 {
			l.locks[k]++
		}
	}
	return true
}

// exclusive visits what an operation keeps from all others.
func (o *operation) exclusive(yield func(key) bool) {
	for k := range o.writes {
		if !yield(k) {
			return
		}
	}
	for _, k := range o.owns {
		if _, written := o.writes[k]; !written && !yield(k) {
			return
		}
	}
}

// acknowledge notes that an operation was done; made is the name that the server chose.
func (l *ledger) acknowledge(o *operation, made string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	writes := o.named(made)
	l.noteSteps(o, writes)
	l.noteTrash(writes)
	// In the order of their names, since the nodes of an import are born in it.
	for _, k := range slices.SortedFunc(maps.Keys(writes), func(a, b key) int {
		return cmp.Or(strings.Compare(a.Thing, b.Thing), strings.Compare(a.Part, b.Part))
	}) {
		l.set(k, writes[k])
	}
	for k := range o.exclusive {
		delete(l.locks, k)
	}
	for _, k := range o.shares {
		switch n := l.locks[k]; {
		case n == 1:
			delete(l.locks, k)
		case n > 1:
			l.locks[k] = n - 1
		}
	}
}

// named gives what an operation writes, with the name that the server chose.
func (o *operation) named(made string) map[key]string {
	if o.token == "" {
		return o.writes
	}
	writes := map[key]string{}
	for k, value := range o.writes {
		k = key{strings.ReplaceAll(k.Thing, o.token, made), strings.ReplaceAll(k.Part, o.token, made)}
		writes[k] = strings.ReplaceAll(value, o.token, made)
	}
	return writes
}

func (l *ledger) set(k key, value string) {
	parts, known := l.is[k.Thing]
	if !known {
		parts = map[string]string{}
		l.is[k.Thing] = parts
	}
	before := parts[k.Part]
	if parts[k.Part] = value; value == "" {
		delete(parts, k.Part)
	}
	node, isMember := strings.CutPrefix(k.Part, prefixMember)
	switch {
	case k.Part == partText:
		l.fresh[k.Thing] = true
		if before != "" && value != "" {
			l.previous[k.Thing] = before
		}
		if _, known := l.born[k.Thing]; !known {
			l.born[k.Thing] = len(l.born)
		}
		l.nodes = listed(l.nodes, k.Thing, before, value)
	case k.Part == partTrash:
		l.fresh[k.Thing] = true
		l.trash = listed(l.trash, k.Thing, before, value)
	case k.Part == partPurged:
		l.fresh[k.Thing] = true
	case k.Part == partIs:
		l.flows = listed(l.flows, k.Thing, before, value)
	case isMember:
		l.members[k.Thing] = listed(l.members[k.Thing], node, before, value)
	}
}

// listed gives a list in which a name stands exactly when it has a value.
func listed(list []string, name, before, value string) []string {
	switch {
	case before == "" && value != "":
		return append(list, name)
	case before != "" && value == "":
		at := slices.Index(list, name)
		return slices.Delete(list, at, at+1)
	}
	return list
}

// takeFresh gives what is in fresh: what changed since the last comparison.
func (l *ledger) takeFresh() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := slices.Sorted(maps.Keys(l.fresh))
	clear(l.fresh)
	return names
}

// continues writes what a member continues: for each parent a line with the name of the edge.
func continues(parents map[string]string) string {
	lines := []string{"continues"}
	for _, parent := range slices.Sorted(maps.Keys(parents)) {
		lines = append(lines, parent+" "+parents[parent])
	}
	return strings.Join(lines, "\n")
}

// parents reads what continues wrote.
func (l *ledger) parents(flow, node string) map[string]string {
	parents := map[string]string{}
	for _, line := range strings.Split(l.is[flow][prefixMember+node], "\n")[1:] {
		parent, name, _ := strings.Cut(line, " ")
		parents[parent] = name
	}
	return parents
}
