package gate

import (
	"cmp"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// Bounds are the ends of the classes by which times to a decision are counted; the last class has none.
var bounds = []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}

// Count is how often something was decided in one way.
type Count struct {
	Kind canon.Kind `json:"kind"`
	Tool string     `json:"tool,omitempty"`
	// How is APPROVE, DENY, EDIT, HAPPENED or NOT_HAPPENED; or EXPIRED, CANCELED or SUPERSEDED, where nobody decided.
	How   string `json:"how"`
	Count int    `json:"count"`
	// Late are denials that came after the end; they are counted as EXPIRED.
	Late int `json:"late_denials,omitempty"`
	// Mean and Longest are from the making to the end, Within how many took at most 10 s, 1, 5, 15, 60 minutes, and longer.
	Mean    time.Duration `json:"mean_ns"`
	Longest time.Duration `json:"longest_ns"`
	Within  [6]int        `json:"within"`
}

// Stats counts what became of approvals, by kind, tool and decision, in that order. What waits is not counted.
func Stats(all []Approval) []Count {
	counts := map[[3]string]*Count{}
	sums := map[*Count]time.Duration{}
	for _, a := range all {
		how, took := a.how()
		if how == "" {
			continue
		}
		k := [3]string{string(a.Kind), a.Subject.Tool, how}
		c := counts[k]
		if c == nil {
			c = &Count{Kind: a.Kind, Tool: a.Subject.Tool, How: how}
			counts[k] = c
		}
		c.Count++
		if a.LateDenial != nil {
			c.Late++
		}
		sums[c] += took
		c.Mean, c.Longest = sums[c]/time.Duration(c.Count), max(c.Longest, took)
		i, _ := slices.BinarySearch(bounds, took)
		c.Within[i]++
	}
	out := make([]Count, 0, len(counts))
	for _, c := range counts {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.How, b.How))
	})
	return out
}

// how says what ended the waiting, and how long that took.
func (a Approval) how() (string, time.Duration) {
	switch {
	case a.State == Pending:
		return "", 0
	case a.Decision != nil:
		return string(a.Decision.Decision), max(a.Decision.At.Sub(a.Created), 0)
	}
	return string(a.State), max(a.StateAt.Sub(a.Created), 0)
}

// Room is how many approvals of a session may be raised beside those that wait (S28).
func Room(all []Approval) int { return max(MaxPending-len(WaitingOn(all)), 0) }

// DeniedCalls are the hashes of the calls of a session that a person has denied since the record of the last utterance of a person: equal
// ones are refused unasked (S28). A late denial is one too; and where somebody changed the arguments and denied the change, the call as the
// model proposed it is denied with it.
func DeniedCalls(all []Approval, since int64) map[canon.Hash]bool {
	byID := map[string]Approval{}
	for _, a := range all {
		byID[a.ID] = a
	}
	out := map[canon.Hash]bool{}
	for _, a := range all {
		if a.Kind != canon.KindToolCall || !a.denied(since) {
			continue
		}
		at, ok := a, true
		for range all {
			if !ok {
				break
			}
			out[at.Subject.CallHash] = true
			at, ok = byID[at.EditedFrom]
		}
	}
	return out
}

func (a Approval) denied(since int64) bool {
	for _, d := range []*Decision{a.Decision, a.LateDenial} {
		if d != nil && d.Decision == session.Deny && d.Seq > since {
			return true
		}
	}
	return false
}
