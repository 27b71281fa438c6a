package main

import (
	"strings"
	"sync"

	"github.com/google/uuid"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

func requestID() string { return uuid.NewString() }

// message is one that was sent.
type message struct {
	session *session
	request *agentv1.SendMessageRequest
	// id is what it was acknowledged as; empty: it was under way when the process was killed.
	id string
}

// aside says that it is answered beside the work.
func (m *message) aside() bool {
	return m.request.GetMode() == agentv1.MessageMode_MESSAGE_MODE_SIDE
}

// decision is one that was sent.
type decision struct {
	request *agentv1.DecideApprovalRequest
	// acknowledged: it stands. Else it was refused, or was under way when the process was killed.
	acknowledged bool
}

// known is an approval as it was seen last, with what was decided about it. Everybody may decide about the same one.
type known struct {
	seen      *agentv1.Approval
	arguments string
	sent      []*decision
}

// ledger is what was acknowledged, and what is under way. Safe for concurrent use.
type ledger struct {
	mu sync.Mutex
	// messages were acknowledged; fresh are those since they were compared last. underWay were not.
	messages, fresh, underWay []*message
	// decisions were under way.
	decisions []*decision
	approvals map[string]*known
	counts    map[string]int
}

func newLedger() *ledger {
	return &ledger{approvals: map[string]*known{}, counts: map[string]int{}}
}

// took notes what became of a message: it has an id, or it is under way.
func (l *ledger) took(m *message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.id == "" {
		l.underWay = append(l.underWay, m)
		return
	}
	l.messages, l.fresh = append(l.messages, m), append(l.fresh, m)
	l.counts["messages, "+strings.TrimPrefix(m.request.GetMode().String(), "MESSAGE_MODE_")]++
}

// saw notes what an approval shows, if it was not known.
func (l *ledger) saw(a *agentv1.Approval) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.approvals[a.GetName()] == nil {
		l.approvals[a.GetName()] = &known{seen: a, arguments: a.GetContent().GetArguments()}
		l.counts["approvals asked for"]++
	}
}

// send notes a decision before it is sent.
func (l *ledger) send(q *agentv1.DecideApprovalRequest) *decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &decision{request: q}
	k := l.approvals[q.GetName()]
	k.sent = append(k.sent, d)
	return d
}

// decided notes that a decision stands.
func (l *ledger) decided(d *decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d.acknowledged = true
	l.counts["decisions, "+strings.TrimPrefix(d.request.GetDecision().String(), "DECISION_")]++
}

// unsure notes that nobody knows whether a decision was taken.
func (l *ledger) unsure(d *decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decisions = append(l.decisions, d)
}

// takeUnderWay gives what was under way, and forgets it.
func (l *ledger) takeUnderWay() ([]*message, []*decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	messages, decisions := l.underWay, l.decisions
	l.underWay, l.decisions = nil, nil
	return messages, decisions
}

// takeFresh gives the messages that were acknowledged since it was called last.
func (l *ledger) takeFresh() []*message {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh := l.fresh
	l.fresh = nil
	return fresh
}

// argumentsOf are what an approval showed that a call would get.
func (l *ledger) argumentsOf(approval string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.approvals[approval]; k != nil {
		return k.arguments
	}
	return ""
}

// count adds what was acknowledged since it was counted last.
func (l *ledger) count(to map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for what, n := range l.counts {
		to[what] += n
	}
	clear(l.counts)
}

// argumentsOfCall are those with which a call was approved.
func (l *ledger) argumentsOfCall(id string) arguments {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.approvals {
		if k.seen.GetCall() == id && k.decided() == agentv1.Decision_DECISION_APPROVE {
			return parse(k.arguments)
		}
	}
	return nil
}

// decided is what was acknowledged as decided; nothing: nothing was.
func (k *known) decided() agentv1.Decision {
	for _, d := range k.sent {
		if d.acknowledged {
			return d.request.GetDecision()
		}
	}
	return agentv1.Decision_DECISION_UNSPECIFIED
}

// said says that somebody has sent a decision, whatever became of it.
func (k *known) said(what agentv1.Decision) bool {
	for _, d := range k.sent {
		if d.request.GetDecision() == what {
			return true
		}
	}
	return false
}
