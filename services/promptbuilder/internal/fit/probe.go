package fit

import "sort"

// probe is one prompt that was counted.
type probe struct {
	at    int
	place Place
	size  Size
	// length is that of the prompt in bytes, text where in it the text begins.
	length, text int
	// begins are the bytes of the prompt at which its tokens begin; nil where the counter does not tell.
	begins []int
}

func newProbe(p Prompt, at int, place Place, size Size) *probe {
	r := &probe{at: at, place: place, size: size, text: len(p.Before) + len(p.Open), length: p.length(at)}
	if size.Pieces == nil {
		return r
	}
	r.begins = make([]int, len(size.Pieces))
	begin := 0
	for i, bytes := range size.Pieces {
		r.begins[i] = begin
		begin += bytes
	}
	return r
}

// expect is the size to expect when the text is cut at a later offset: less the tokens that begin between the two.
func (p *probe) expect(at int) int {
	if p.begins == nil {
		return p.size.Tokens - share(p.size.Tokens, at-p.at, p.length)
	}
	from := sort.SearchInts(p.begins, p.text)
	to := sort.SearchInts(p.begins, p.text+at-p.at)
	return p.size.Tokens - (to - from)
}
