package gate

import (
	"cmp"
	"slices"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
)

// Count is how often something was decided in one way.
type Count struct {
	Kind canon.Kind `json:"kind"`
	Tool string     `json:"tool,omitempty"`
	// How is APPROVE, DENY, EDIT, HAPPENED or NOT_HAPPENED; or EXPIRED, CANCELED or SUPERSEDED, where nobody decided.
	How   string `json:"how"`
	Count int    `json:"count"`
	// Late are denials that came after the end; they are counted as EXPIRED.
	Late int `json:"late_denials,omitempty"`
	// Mean and Longest are from the making to the end.
	Mean    time.Duration `json:"mean_ns"`
	Longest time.Duration `json:"longest_ns"`
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
