package gate

import (
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/words"
)

// Message is a text of the conversation as it arrives, before it is anything else.
type Message struct {
	Text string
	Who  Who
	// Since is the number of the record of the sender's own last utterance; 0 for none.
	Since int64
	Now   time.Time
	Seq   int64
}

// ByWords says what a message decides about the approvals of its session, closed ones among them: the request for Decide, of the approval
// with Judgement.ID; or nothing, and then the message is ordinary text, whatever stands in it (S20; cases/agent.md c1, c28).
func ByWords(all []Approval, m Message) (Request, words.Judgement) {
	j := words.Judge(m.Text, Situation(all, m))
	i := slices.IndexFunc(all, func(a Approval) bool { return a.ID == j.ID })
	decision := map[words.Decision]session.Decision{words.Approve: session.Approve, words.Deny: session.Deny}[j.Decision]
	if decision == "" || i < 0 {
		return Request{}, j
	}
	// What an id means never changes (C58), so the words name the digest.
	return Request{Who: m.Who, Decision: decision, Digest: all[i].Digest, Words: true, Now: m.Now, Seq: m.Seq}, j
}

// Situation is what decides whether words of a message count.
func Situation(all []Approval, m Message) words.Situation {
	s := words.Situation{Sender: words.Sender{
		Person: m.Who.Name != "" && m.Who.Session == "", Approver: slices.Contains(m.Who.Roles, policy.RoleApprover),
	}}
	made, since := 0, false
	for _, a := range all {
		if a.Namespace != m.Who.Namespace {
			continue
		}
		if a.Seq > m.Since {
			made++
		}
		if a.State == Pending {
			s.Pending = append(s.Pending, words.Pending{ID: a.ID, Outcome: a.Kind == canon.KindOutcome, High: a.HighRisk(), Partial: a.Partial()})
			since = a.Seq > m.Since
		}
	}
	s.Only = made == 1 && len(s.Pending) == 1 && since
	return s
}

// Sentence tells a person the very words by which an approval can be decided, if that person sends them now.
func Sentence(a Approval, all []Approval, m Message, locale string) string {
	return words.Sentence(a.ID, Situation(all, m), locale)
}
