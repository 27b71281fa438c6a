package fit

import "slices"

// probe is one prompt that was counted.
type probe struct {
	at    int
	place Place
	size  Size
	// begins are the bytes of the prompt at which its tokens begin; nil where the counter does not tell.
	begins Begins
	spans  []span
}

// span is where a part that may be cut lies: its text from and to which offset, and in the prompt that was counted its
// beginning, that of its text, and its end.
type span struct{ from, to, open, text, end int }

func newProbe(p Prompt, at int, place Place, size Size) *probe {
	r := &probe{at: at, place: place, size: size}
	if size.Pieces == nil {
		return r
	}
	r.begins = size.Begins()
	r.spans = spans(p, at)
	return r
}

func spans(p Prompt, at int) []span {
	var all []span
	offset, begin := 0, 0
	for _, part := range p.Parts {
		n := part.skip(&at)
		offset += n
		if n == len(part.Text) && !part.Fixed {
			continue
		}
		text := begin + len(part.Open)
		end := text + len(part.Text) - n + len(part.Close)
		if !part.Fixed {
			all = append(all, span{offset, offset + len(part.Text) - n, begin, text, end})
			offset += len(part.Text) - n
		}
		begin = end
	}
	return all
}

// expect is the size when the text is cut at a later offset: less the tokens that begin in what is cut. Token borders are
// known.
func (p *probe) expect(at int) int { return kept(p.size.Tokens, p.spans, at, p.begins.Between) }

// beginsToken says that a token begins where the text at an offset does.
func (p *probe) beginsToken(at int) bool {
	for _, s := range p.spans {
		if at >= s.from && at < s.to {
			_, begins := slices.BinarySearch(p.begins, s.text+at-s.from)
			return begins
		}
	}
	return false
}
