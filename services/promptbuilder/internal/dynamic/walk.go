package dynamic

import "slices"

// Walk takes every combination of options once, in the order of the text: the last group changes first. It is a Chooser
// for all texts of a request, one after the other, each time in the same order:
//
//	for w := (Walk{}); ; {
//		draw every text with &w
//		if !w.Next() { break }
//	}
//
// A group of several options takes each choice of them once, in the order of the options. Options of weight 0 are left out.
type Walk struct {
	// at is the next decision, taken what was decided in this round and of the number of choices there is.
	at      int
	choices []choice
}

type choice struct{ taken, of int }

// Choose takes what this round says.
func (w *Walk) Choose(_ int, weights []uint64, least, most int) []int {
	open := drawable(weights)
	if w.at == len(w.choices) {
		w.choices = append(w.choices, choice{of: ways(len(open), least, most)})
	}
	rank := w.choices[w.at].taken
	w.at++
	n := least
	for rank >= combinations(len(open), n) {
		rank -= combinations(len(open), n)
		n++
	}
	return unrank(open, n, rank)
}

// Next goes to the next combination, and says whether there is one.
func (w *Walk) Next() bool {
	w.choices, w.at = w.choices[:w.at], 0
	for i, c := range slices.Backward(w.choices) {
		if c.taken+1 < c.of {
			w.choices[i].taken++
			w.choices = w.choices[:i+1]
			return true
		}
	}
	return false
}

// maxWays bounds numbers that grow like faculties; no walk goes so far.
const maxWays = 1 << 30

// ways is how many choices of least to most of n things there are.
func ways(n, least, most int) int {
	sum := 0
	for k := least; k <= most; k++ {
		sum = min(sum+combinations(n, k), maxWays)
	}
	return sum
}

// combinations is how many choices of k of n things there are, at most maxWays.
func combinations(n, k int) int {
	if k < 0 || k > n {
		return 0
	}
	c := 1
	for i := 1; i <= min(k, n-k); i++ {
		if c = c * (n - i + 1) / i; c >= maxWays {
			return maxWays
		}
	}
	return c
}

// unrank gives the choice of n things that has a rank in the order of the things.
func unrank(things []int, n, rank int) []int {
	taken := make([]int, 0, n)
	for i, thing := range things {
		if len(taken) == n {
			break
		}
		with := combinations(len(things)-i-1, n-len(taken)-1)
		if rank < with {
			taken = append(taken, thing)
			continue
		}
		rank -= with
	}
	return taken
}
