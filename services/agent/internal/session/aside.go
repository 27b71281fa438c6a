package session

// AnsweredAside is a message of a person for which the model was asked from a snapshot, beside the work (C79). It moves nothing: its call of the model
// is charged to the turn that was open then, if that still is, and the last call of a budget stays with the turn itself.
type AnsweredAside struct{ Turn string }

func (e AnsweredAside) apply(c *change) error {
	if c.Lifecycle == Failed {
		return refuse(RefusedState, "the session's record is broken (%s); it can be read and not continued: begin another one", c.LastError)
	}
	if e.Turn != "" && c.Turn.ID == e.Turn && c.Turn.ModelCalls > 1 {
		c.Turn.ModelCalls--
		c.Spent++
	}
	return nil
}

// Discarded is an answer of the model that is not taken, since the session is no longer what the model was told of, or its work was stopped. It moves
// nothing: the call is charged to the turn in which the model was asked, if that is still open, its last one too, so that the budget ends a turn that
// never gets on (C42).
type Discarded struct{ Turn string }

func (e Discarded) apply(c *change) error {
	if e.Turn != "" && c.Turn.ID == e.Turn && c.Turn.ModelCalls > 0 {
		c.Turn.ModelCalls--
		c.Turn.Discarded++
		c.Spent++
	}
	return nil
}
