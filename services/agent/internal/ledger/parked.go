package ledger

import (
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// How long a parked session waits before it is tried again: as long as it was tried before, doubled each time.
const (
	retryFirst = time.Second
	retryMost  = time.Minute
)

// Parked is when a parked session is tried again. It is stored, so that a new start waits as long.
type Parked struct {
	// Times counts tries without progress.
	Times int       `json:"times"`
	Until time.Time `json:"until,omitzero"`
}

// after is what an event makes of it. All that is progress, or that a person does, begins anew.
func (p Parked) after(e session.Event, now time.Time) Parked {
	switch e.(type) {
	case session.ParkedFor:
		wait := min(retryFirst<<min(p.Times, 10), retryMost)
		return Parked{Times: p.Times + 1, Until: now.Add(wait)}
	case session.Resumed, session.PickedUp:
		return Parked{Times: p.Times}
	}
	return Parked{}
}
