package main

import (
	"context"
	"fmt"
	"slices"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// page is how much is read at once.
const page = 1000

// compare holds what Tsumugi says after a start to what was acknowledged, and asks once more for what was under way.
func (t *trial) compare(ctx context.Context, s *server) error {
	messages, decisions := t.ledger.takeUnderWay()
	if err := t.compareSessions(ctx, s); err != nil {
		return err
	}
	if err := t.compareApprovals(ctx, s); err != nil {
		return err
	}
	if err := t.compareMessages(ctx, s); err != nil {
		return err
	}
	for _, m := range messages {
		if on, err := t.send(ctx, s, m, false); err != nil || !on {
			return fmt.Errorf("a message that was under way, sent once more: %w, and the server is there: %v", err, on)
		}
	}
	for _, d := range decisions {
		_, err := s.client.DecideApproval(t.approver(ctx), d.request)
		if err := t.became(d, err); err != nil {
			return err
		}
	}
	return nil
}

// compareSessions asks for each session with the request that made it, and has its audit verified.
func (t *trial) compareSessions(ctx context.Context, s *server) error {
	for _, one := range t.sessions {
		got, err := s.client.CreateSession(ctx, &agentv1.CreateSessionRequest{RequestId: one.request, Session: &agentv1.Session{Root: root, Locale: "en"}})
		if err != nil {
			return fmt.Errorf("CreateSession: %w", err)
		}
		if one.name != "" && one.name != got.GetName() {
			t.Lose("%s: the request that made it made %s", one.name, got.GetName())
		}
		one.name = got.GetName()
		v, err := s.client.VerifyAudit(ctx, &agentv1.VerifyAuditRequest{Session: one.name, Replay: true})
		if err != nil {
			return fmt.Errorf("VerifyAudit: %w", err)
		}
		if !v.GetIntact() || !v.GetReplayed() {
			t.Lose("%s: its audit does not hold: row %d: %s; %s", one.name, v.GetBadSeq(), v.GetProblem(), v.GetReplayProblem())
		}
	}
	return nil
}

// compareMessages sends each message again that was acknowledged lately: it is known, and not taken twice.
func (t *trial) compareMessages(ctx context.Context, s *server) error {
	for _, m := range t.ledger.takeFresh() {
		id, replayed, err := s.ask(ctx, m, false)
		switch {
		case refused(err):
			t.Lose("%s: message %s is not known: %v", m.session.name, m.id, err)
		case err != nil:
			return fmt.Errorf("SendMessage, again: %w", err)
		case id != m.id || !replayed && !m.aside():
			t.Lose("%s: message %s was taken once more, as %s", m.session.name, m.id, id)
		}
	}
	return nil
}

// compareApprovals holds all approvals to what was seen of them, and decided.
func (t *trial) compareApprovals(ctx context.Context, s *server) error {
	all, err := t.listApprovals(ctx, s)
	if err != nil {
		return err
	}
	for name, k := range t.ledger.approvals {
		now := all[name]
		if now == nil {
			t.Lose("%s is not there", name)
			continue
		}
		for _, wrong := range k.wrong(now) {
			t.Lose("%s: %s", name, wrong)
		}
		k.seen = now
	}
	for name, a := range all {
		if t.ledger.approvals[name] != nil || a.GetState() != agentv1.ApprovalState_APPROVAL_STATE_PENDING {
			continue
		}
		whole, err := s.client.GetApproval(t.approver(ctx), &agentv1.GetApprovalRequest{Name: name})
		if err != nil {
			return fmt.Errorf("GetApproval: %w", err)
		}
		t.ledger.saw(whole)
	}
	return nil
}

func (t *trial) listApprovals(ctx context.Context, s *server) (map[string]*agentv1.Approval, error) {
	all := map[string]*agentv1.Approval{}
	q := &agentv1.ListApprovalsRequest{PageSize: page, AllStates: true}
	for {
		got, err := s.client.ListApprovals(t.approver(ctx), q)
		if err != nil {
			return nil, fmt.Errorf("ListApprovals: %w", err)
		}
		for _, a := range got.GetApprovals() {
			all[a.GetName()] = a
		}
		if q.PageToken = got.GetNextPageToken(); q.GetPageToken() == "" {
			return all, nil
		}
	}
}

// leads says to which states a decision leads.
var leads = map[agentv1.Decision][]agentv1.ApprovalState{
	agentv1.Decision_DECISION_APPROVE: {
		agentv1.ApprovalState_APPROVAL_STATE_APPROVED, agentv1.ApprovalState_APPROVAL_STATE_CONSUMED, agentv1.ApprovalState_APPROVAL_STATE_VOIDED,
	},
	agentv1.Decision_DECISION_DENY:         {agentv1.ApprovalState_APPROVAL_STATE_DENIED},
	agentv1.Decision_DECISION_EDIT:         {agentv1.ApprovalState_APPROVAL_STATE_EDITED},
	agentv1.Decision_DECISION_HAPPENED:     {agentv1.ApprovalState_APPROVAL_STATE_HAPPENED},
	agentv1.Decision_DECISION_NOT_HAPPENED: {agentv1.ApprovalState_APPROVAL_STATE_NOT_HAPPENED},
}

// wrong says what of an approval is not as it was seen, or decided.
func (k *known) wrong(now *agentv1.Approval) (wrong []string) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	was := k.seen
	if now.GetDigest() != was.GetDigest() || now.GetCall() != was.GetCall() || now.GetSession() != was.GetSession() || now.GetKind() != was.GetKind() {
		add("it is about something else than it was: %v, and was %v", now, was)
	}
	if from, to := was.GetState(), now.GetState(); from != to && !follows(from, to) {
		add("it was %s and is %s", from, to)
	}
	for decision, states := range leads {
		if slices.Contains(states, now.GetState()) && !k.said(decision) {
			add("it is %s, and nobody has decided that", now.GetState())
		}
	}
	for _, d := range k.sent {
		if d.acknowledged && !slices.Contains(leads[d.request.GetDecision()], now.GetState()) {
			add("%s was acknowledged, and it is %s", d.request.GetDecision(), now.GetState())
		}
	}
	return wrong
}

// follows says whether an approval may go from a state to another one.
func follows(from, to agentv1.ApprovalState) bool {
	switch from {
	case agentv1.ApprovalState_APPROVAL_STATE_PENDING:
		return true
	case agentv1.ApprovalState_APPROVAL_STATE_APPROVED:
		return to == agentv1.ApprovalState_APPROVAL_STATE_CONSUMED || to == agentv1.ApprovalState_APPROVAL_STATE_VOIDED
	default:
		return false
	}
}

// working says which session works or waits; empty: none does.
func (t *trial) working(ctx context.Context, s *server) (string, error) {
	for _, one := range t.sessions {
		now, err := s.client.GetSession(ctx, &agentv1.GetSessionRequest{Name: one.name})
		if err != nil {
			return "", fmt.Errorf("GetSession: %w", err)
		}
		if now.GetTurn() != nil || now.GetQueued() > 0 || len(now.GetWaitingOn()) > 0 {
			return fmt.Sprintf("%s does not come to rest: turn %v, %d queued, waits for %v", one.name, now.GetTurn(), now.GetQueued(), now.GetWaitingOn()), nil
		}
	}
	return "", nil
}
