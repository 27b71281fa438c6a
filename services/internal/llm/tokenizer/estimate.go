package tokenizer

import "unicode/utf8"

// Estimated is the fingerprint of Estimate.
const Estimated = "estimate"

// What Estimate takes for a token: so many bytes of western text, and of five characters of any other each, and one more.
// In prose, the densest vocabularies of today have 1.16 tokens to a Japanese character and one to 4 western letters
// (field/wannabe.md 4), so an estimate is rather too high than too low.
const (
	estimatedWestern = 3
	estimatedRun     = 5
)

// Estimate counts without a vocabulary, for servers that do not count either. Texts of rare characters or of code may have
// more tokens than it says; prose has fewer.
func Estimate() *Tokenizer { return &Tokenizer{fingerprint: Estimated} }

// Estimates says that what it gives is no count.
func (t *Tokenizer) Estimates() bool { return t.vocab == nil }

// estimate gives tokens without a number of their own.
func (s *scratch) estimate(text string, o Options) []token {
	if o.Around {
		s.out = append(s.out, token{})
	}
	western, other := 0, 0
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
		if text[at-size] < utf8.RuneSelf && text[at-size] != '\n' {
			if western++; western == estimatedWestern || at == len(text) || text[at] >= utf8.RuneSelf || text[at] == '\n' {
				s.out = append(s.out, token{end: int32(at)})
				western = 0
			}
			continue
		}
		if other++; other%estimatedRun == 0 || size > 3 {
			s.out = append(s.out, token{end: int32(at)})
		}
		s.out = append(s.out, token{end: int32(at)})
	}
	return s.out
}
