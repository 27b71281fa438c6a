package fit

import (
	"slices"
	"sort"
	"strings"
)

// Memory keeps what lines were found to cost, so that the next prompt of a text that grew is right at the first try. It
// only chooses what is counted: a prompt is never returned for what memory says. Safe for concurrent use.
type Memory interface {
	// Cost is what a line costs, its end of line with it, in thousandths of a token; known is false where it is not known.
	Cost(line string) (cost int, known bool)
	// Learn keeps what a line costs.
	Learn(line string, cost int)
}

// recallLine is what a line is known to cost.
func recallLine(memory Memory, line string) (cost int, known bool) {
	if memory == nil {
		return 0, false
	}
	return memory.Cost(line)
}

// The rates of a model are remembered like lines that cannot be: no line of a prompt begins so and has no end.
const (
	westernRate = "\x00western"
	otherRate   = "\x00other"
)

func recallRates(memory Memory) rates {
	r := seeming
	if western, known := recallLine(memory, westernRate); known {
		r.western = western
	}
	if other, known := recallLine(memory, otherRate); known {
		r.other = other
	}
	return r
}

// learn keeps what the lines of counted prompts cost, which are given from the longest to the shortest.
func learn(memory Memory, p Prompt, probes []*probe) {
	if memory == nil || len(probes) == 0 {
		return
	}
	for _, counted := range probes {
		if counted.begins != nil {
			learnLines(memory, p.From(counted.at), counted)
		}
	}
	shortest := probes[len(probes)-1]
	if shortest.begins != nil {
		return
	}
	rates := learnRates(memory, p, probes)
	for _, counted := range slices.Backward(probes) {
		learnShares(memory, counted.size.Tokens*token, p.From(counted.at), rates)
	}
}

// learnLines keeps the tokens that begin in each line.
func learnLines(memory Memory, prompt string, counted *probe) {
	at, tokens := 0, 0
	for line := range strings.Lines(prompt) {
		at += len(line)
		upTo := sort.SearchInts(counted.begins, at)
		memory.Learn(line, token*(upTo-tokens))
		tokens = upTo
	}
}

// leastBytes are too few to tell a rate by.
const leastBytes = 600

// learnRates sets right what bytes cost: by what the two shortest prompts differ in, and by the shortest itself.
func learnRates(memory Memory, p Prompt, probes []*probe) rates {
	r := recallRates(memory)
	shortest := probes[len(probes)-1]
	western, other := kinds(p.From(shortest.at))
	if len(probes) > 1 {
		longer := probes[len(probes)-2]
		w, o := kinds(p.From(longer.at))
		r.learn((longer.size.Tokens-shortest.size.Tokens)*token, w-western, o-other, false)
		// What that says of one kind says of the whole how the other is.
		r.learn(shortest.size.Tokens*token, western, other, w-western > o-other)
	} else {
		r.learn(shortest.size.Tokens*token, western, other, other > western)
	}
	memory.Learn(westernRate, r.western)
	memory.Learn(otherRate, r.other)
	return r
}

// learn sets the rate of one kind right by a stretch that costs so much.
func (r *rates) learn(cost, western, other int, asOther bool) {
	switch {
	case other >= leastBytes && (asOther || other > 4*western):
		r.other = min(max((cost-r.western*western)/other, seeming.other/4), seeming.other*4)
	case western >= leastBytes && (!asOther || western > 4*other):
		r.western = min(max((cost-r.other*other)/western, seeming.western/4), seeming.western*4)
	}
}

// kinds are how many bytes of a text are western, and how many are not.
func kinds(text string) (western, other int) {
	other = beyondASCII(text)
	return len(text) - other, other
}

// learnShares leaves lines that are known what they cost, and shares the rest among the others; where there are no others,
// or the rest is far from what they should cost, all are set right.
func learnShares(memory Memory, tokens int, prompt string, rates rates) {
	var lines []string
	var costs []int
	var fresh []bool
	known, guessed := 0, 0
	for line := range strings.Lines(prompt) {
		cost, ok := memory.Cost(line)
		if ok {
			known += cost
		} else {
			cost = rates.line(line)
			guessed += cost
		}
		lines, costs, fresh = append(lines, line), append(costs, cost), append(fresh, !ok)
	}
	rest := tokens - known
	shares := guessed > 0 && rest > guessed/2 && rest < 2*guessed
	for i, line := range lines {
		switch {
		case shares && fresh[i]:
			memory.Learn(line, scale(costs[i], rest, guessed))
		case !shares:
			memory.Learn(line, scale(costs[i], tokens, known+guessed))
		}
	}
}
