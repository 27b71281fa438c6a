package dynamic

import "slices"

// Random draws by the weights. A group of several options draws them one after the other, each from those that are left.
func Random(seed uint32, field string) Chooser { return random{newSource(seed, field)} }

type random struct{ source }

// Choose draws.
func (r random) Choose(group int, weights []uint64, least, most int) []int {
	s := r.of(group)
	n := least
	if most > least {
		n += int(s.below(uint64(most - least + 1)))
	}
	left := slices.Clone(weights)
	taken := make([]int, 0, n)
	for range n {
		taken = append(taken, s.weighted(left))
		left[taken[len(taken)-1]] = 0
	}
	return taken
}

// weighted draws an option by its weight; one of them has some.
func (s *source) weighted(weights []uint64) int {
	total := uint64(0)
	for _, w := range weights {
		total += w
	}
	at := s.below(total)
	for i, w := range weights {
		if at < w {
			return i
		}
		at -= w
	}
	return len(weights) - 1
}

// Cyclic takes the options in turn: with seed n, the n-th of each group, and begins again behind the last. Weights do not
// matter, but options of weight 0 are left out. A group of several options takes those that follow each other; of a range of
// counts each in its turn.
func Cyclic(seed uint32) Chooser { return cyclic(seed) }

type cyclic uint32

// Choose takes what the seed says.
func (c cyclic) Choose(_ int, weights []uint64, least, most int) []int {
	open := drawable(weights)
	n := least + int(uint64(c)%uint64(most-least+1))
	taken := make([]int, 0, n)
	for i := range n {
		taken = append(taken, open[(uint64(c)+uint64(i))%uint64(len(open))])
	}
	return taken
}

// drawable are the options that have a weight.
func drawable(weights []uint64) []int {
	open := make([]int, 0, len(weights))
	for i, weight := range weights {
		if weight > 0 {
			open = append(open, i)
		}
	}
	return open
}

// Fixed takes what was taken before, by the number of the group, and asks another chooser for the rest. What cannot be
// taken of a group, since it is another one now, is not: Missed tells.
type Fixed struct {
	// Picks are the options of a group; with a Text only where they still come to it, which a group put before it changes.
	Picks map[int]Pick
	Else  Chooser
	// Missed are the groups whose picks could not be taken, in the order in which they were asked for.
	Missed []int
}

// Choose takes what was fixed.
func (f *Fixed) Choose(group int, weights []uint64, least, most int) []int {
	pick, ok := f.Picks[group]
	if !ok || slices.Contains(f.Missed, group) {
		return f.Else.Choose(group, weights, least, most)
	}
	taken := pick.Options
	seen := map[int]bool{}
	for _, o := range taken {
		if o < 0 || o >= len(weights) || weights[o] == 0 || seen[o] {
			ok = false
		}
		seen[o] = true
	}
	if !ok || len(taken) < least || len(taken) > most {
		f.Missed = append(f.Missed, group)
		return f.Else.Choose(group, weights, least, most)
	}
	return taken
}

func (f *Fixed) keeps(group int, text string) bool {
	pick, ok := f.Picks[group]
	if !ok || pick.Text == "" || pick.Text == text || slices.Contains(f.Missed, group) {
		return true
	}
	f.Missed = append(f.Missed, group)
	return false
}
