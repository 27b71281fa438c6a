package fit

import (
	"math/bits"
	"slices"
	"sort"
	"strings"
)

// Costs are in thousandths of a token.
const token = 1000

// rates are what a byte of a line costs that was never counted.
type rates struct{ western, other int }

// seeming is near the truth for the vocabularies of today, in prose of both kinds (field/wannabe.md 4).
var seeming = rates{western: 235, other: 260}

// of is what bytes of both kinds cost.
func (r rates) of(western, other int) int { return r.western*western + r.other*other }

// line is what a line costs.
func (r rates) line(line string) int {
	other := beyondASCII(line)
	return r.of(len(line)-other, other)
}

// estimate is what the lines of a whole prompt are expected to cost.
type estimate struct {
	spans []span
	// ends are the bytes at which the lines of the prompt end, sums the cost of the prompt up to there.
	ends []int
	sums []int
	// guessed are the lines that memory does not know, ascending.
	guessed []int
	// strange says that memory does not know what bytes of some kind cost.
	strange bool
}

// newEstimate estimates a prompt of which nothing is cut.
func newEstimate(p Prompt, memory Memory) *estimate {
	e := &estimate{spans: spans(p, 0)}
	rates := recallRates(memory)
	e.strange = rates.western == seeming.western || rates.other == seeming.other
	sum, at := 0, 0
	for line := range strings.Lines(p.From(0)) {
		cost, known := recallLine(memory, line)
		if !known {
			cost, e.guessed = rates.line(line), append(e.guessed, len(e.ends))
		}
		sum, at = sum+cost, at+len(line)
		e.ends, e.sums = append(e.ends, at), append(e.sums, sum)
	}
	return e
}

// beyondASCII counts the bytes of characters other than ASCII, eight at a time.
func beyondASCII(text string) int {
	n, i := 0, 0
	for ; i+8 <= len(text); i += 8 {
		w := uint64(text[i]) | uint64(text[i+1])<<8 | uint64(text[i+2])<<16 | uint64(text[i+3])<<24 |
			uint64(text[i+4])<<32 | uint64(text[i+5])<<40 | uint64(text[i+6])<<48 | uint64(text[i+7])<<56
		n += bits.OnesCount64(w & 0x8080808080808080)
	}
	for ; i < len(text); i++ {
		n += int(text[i] >> 7)
	}
	return n
}

// scale is n times a ratio of two others, in whole numbers so that all machines agree.
func scale(n, numerator, denominator int) int {
	hi, lo := bits.Mul64(uint64(n), uint64(numerator))
	if hi >= uint64(max(denominator, 1)) {
		return n
	}
	q, _ := bits.Div64(hi, lo, uint64(max(denominator, 1)))
	return int(q)
}

// from is what the prompt costs with the text cut at an offset. It never grows with the offset.
func (e *estimate) from(at int) int {
	if len(e.sums) == 0 {
		return 0
	}
	return kept(e.sums[len(e.sums)-1], e.spans, at, e.between)
}

// between is what a stretch of the prompt costs.
func (e *estimate) between(from, to int) int { return e.upTo(to) - e.upTo(from) }

func (e *estimate) upTo(end int) int {
	i := sort.SearchInts(e.ends, end)
	if i == len(e.ends) {
		return e.sums[i-1]
	}
	begin, sum := 0, 0
	if i > 0 {
		begin, sum = e.ends[i-1], e.sums[i-1]
	}
	return sum + scale(e.sums[i]-sum, end-begin, e.ends[i]-begin)
}

// kept is what is left of a cost when the text is cut at an offset: less what lies in the parts that go.
func kept(cost int, spans []span, at int, between func(from, to int) int) int {
	for _, s := range spans {
		switch {
		case at >= s.to:
			cost -= between(s.open, s.end)
		case at > s.from:
			cost -= between(s.text, s.text+at-s.from)
		}
	}
	return cost
}

// place is where in the prompt the text at an offset stands.
func (e *estimate) place(at int) int {
	for _, s := range e.spans {
		if at < s.to {
			return s.text + max(0, at-s.from)
		}
	}
	return e.ends[len(e.ends)-1]
}

// known says that memory knows the line of the text that begins at an offset.
func (e *estimate) known(at int) bool {
	line := sort.SearchInts(e.ends, e.place(at)+1)
	_, guessed := slices.BinarySearch(e.guessed, line)
	return !guessed
}

// guesswork is what the lines cost that memory does not know, from an offset of the text on.
func (e *estimate) guesswork(at int) int {
	first := sort.SearchInts(e.guessed, sort.SearchInts(e.ends, e.place(at)+1))
	cost := 0
	for _, line := range e.guessed[first:] {
		cost += e.sums[line]
		if line > 0 {
			cost -= e.sums[line-1]
		}
	}
	return cost
}
