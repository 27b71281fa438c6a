package node

import (
	"slices"
	"strconv"
)

// Decimals that are kept of what was measured: seconds to the microsecond, tokens per second to the thousandth. Finer than
// that a server does not measure; what it sends behind is what is left of a division, and a node is a file for people. Of a
// score, six decimals tell a million answers apart.
const (
	secondDecimals = 6
	rateDecimals   = 3
	scoreDecimals  = 6
)

// Rounded gives the node with its seconds, rates, sampling and score as they are kept: none of them is -0. Texts, Generation and Score are copied, not
// changed.
func (n Node) Rounded() Node {
	n.Texts = slices.Clone(n.Texts)
	for i := range n.Texts {
		t := &n.Texts[i]
		t.Duration, t.Rate = rounded(t.Duration, secondDecimals), rounded(t.Rate, rateDecimals)
	}
	if n.Generation != nil {
		g := *n.Generation
		g.PromptSeconds, g.AnswerSeconds = rounded(g.PromptSeconds, secondDecimals), rounded(g.AnswerSeconds, secondDecimals)
		if g.Sampling != nil {
			plus := g.Sampling.PlusZero()
			g.Sampling = &plus
		}
		n.Generation = &g
	}
	if n.Score != nil {
		score := rounded(*n.Score, scoreDecimals)
		n.Score = &score
	}
	return n
}

// rounded goes by way of the text: a product may overflow, and the nearest number to a decimal is the one that prints as it.
func rounded(f float64, decimals int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', decimals, 64), 64)
	if err != nil {
		return f
	}
	return r + 0 // no -0
}
