package passage

// CutMark stands on a line of its own where a text was cut (seed 003).
const CutMark = "[... truncated ...]"

// LeastCut is the smallest size that a text can be cut to: the mark, an end of a line on either side, and a little of the text.
const LeastCut = 24

// HeadTail gives the beginning and the end of a text that is cut to n, CutMark between them among it: a quarter of what there
// is room for is of its end (field/systemprompt-rules.md 1.3). n is LeastCut at least.
func (u Unit) HeadTail(s string, n int) (head, tail string) {
	m := n - len(CutMark) - 2
	return u.Head(s, m-m/4), u.Tail(s, m/4)
}

// CutHead gives a text as it is, or its beginning with CutMark behind it, together n, and what of the text that holds.
func (u Unit) CutHead(s string, n int) (text, kept string) {
	if u.Size(s) <= n {
		return s, s
	}
	kept = u.Head(s, n-len(CutMark)-1)
	return kept + "\n" + CutMark, kept
}

// CutHeadTail gives a text as it is, or cut to n in its middle.
func (u Unit) CutHeadTail(s string, n int) string {
	if u.Size(s) <= n {
		return s
	}
	head, tail := u.HeadTail(s, n)
	return head + "\n" + CutMark + "\n" + tail
}

// Share shares a total among those that want some of it: nobody gets less than another that wants less, or more than it wants,
// and what cannot be shared evenly goes to the first ones, one each (field/systemprompt-rules.md 1.3). 900, 400 and 300 get
// 350, 350 and 300 of 1,000.
func Share(wants []int, total int) []int {
	sum := func(level int) (taken int) {
		for _, w := range wants {
			taken += min(w, level)
		}
		return taken
	}
	low, high := 0, 0
	for _, w := range wants {
		high = max(high, w)
	}
	for low < high { // the largest level that fits
		if mid := low + (high-low+1)/2; sum(mid) <= total {
			low = mid
		} else {
			high = mid - 1
		}
	}
	rest := total - sum(low)
	given := make([]int, len(wants))
	for i, w := range wants {
		given[i] = min(w, low)
		if w > low && rest > 0 {
			given[i]++
			rest--
		}
	}
	return given
}
