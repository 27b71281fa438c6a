package words

// Pending is an approval that waits.
type Pending struct {
	ID string
	// Outcome says that it asks whether something happened: it is answered by HAPPENED or NOT_HAPPENED, for which there are no words.
	Outcome bool
	// High says that its risk is HIGH or not known.
	High bool
	// Partial says that it was not shown whole in one piece: cut, in pages, binary, or with hidden parts.
	Partial bool
}

// Sender is who wrote a message, and how it came.
type Sender struct {
	// Person says that it is a person, verified as such: not the model, a tool, an event, or a token of the session.
	Person bool
	// Approver says that this person may decide about the approvals of the session.
	Approver bool
}

// Situation is all that decides whether words count.
type Situation struct {
	Sender Sender
	// Pending are the approvals of the session that wait.
	Pending []Pending
	// Only says that the pending approval is the only one made since the sender's own last utterance: then the person cannot mean one that
	// is no longer there.
	Only bool
}

// Why says why a message with the form of a decision is ordinary text all the same. It is for a hint to the person.
type Why string

// The reasons. NotAForm is the only one for which no hint is due.
const (
	Counts      Why = ""
	NotAForm    Why = "NOT_A_FORM"
	NotPerson   Why = "NOT_A_PERSON"
	NotApprover Why = "NOT_AN_APPROVER"
	NotPending  Why = "NOT_PENDING"
	Several     Why = "SEVERAL_PENDING"
	NotOnly     Why = "NOT_THE_ONLY_ONE_MADE"
	IsOutcome   Why = "OUTCOME"
	IsHigh      Why = "HIGH_RISK"
	IsPartial   Why = "NOT_SHOWN_WHOLE"
)

// Judgement is what a message is. Its zero value decides nothing.
type Judgement struct {
	// Decision is None for ordinary text.
	Decision Decision
	// ID is the approval that is decided.
	ID  string
	Why Why
}

// Judge says what a message decides. It decides only where it has the form of a decision, comes at first hand from a person who may
// decide. Words are judged on arrival alone, since what is pending later is something else, and they are about one call: they have no scope (S8).
//
// A word with an id counts for the pending approval of that id: what stands under an id never changes (C58). A bare word counts
// only where exactly one approval is pending, it is the only one made since the sender's own last utterance, and its risk is
// neither HIGH nor unknown. An outcome is never answered by words. What was not shown whole is never approved by words; by its id it may
// be denied, which does no harm.
func Judge(message string, s Situation) Judgement {
	w, ok := Parse(message)
	if !ok {
		return Judgement{Why: NotAForm}
	}
	if why := s.Sender.may(); why != Counts {
		return Judgement{Why: why}
	}
	p, why := s.meant(w)
	if why == Counts {
		why = counts(w, p)
	}
	if why != Counts {
		return Judgement{Why: why}
	}
	return Judgement{Decision: w.Decision, ID: p.ID}
}

func (s Sender) may() Why {
	switch {
	case !s.Person:
		return NotPerson
	case !s.Approver:
		return NotApprover
	}
	return Counts
}

// meant gives the approval that a word is about.
func (s Situation) meant(w Word) (Pending, Why) {
	if w.ID != "" {
		for _, p := range s.Pending {
			if p.ID == w.ID {
				return p, Counts
			}
		}
		return Pending{}, NotPending
	}
	switch {
	case len(s.Pending) == 0:
		return Pending{}, NotPending
	case len(s.Pending) > 1:
		return Pending{}, Several
	case !s.Only:
		return Pending{}, NotOnly
	}
	return s.Pending[0], Counts
}

// counts says whether words can decide about an approval.
func counts(w Word, p Pending) Why {
	bare := w.ID == ""
	switch {
	case !isID(p.ID):
		return NotPending
	case p.Outcome:
		return IsOutcome
	case p.Partial && (bare || w.Decision == Approve):
		return IsPartial
	case p.High && bare:
		return IsHigh
	}
	return Counts
}
