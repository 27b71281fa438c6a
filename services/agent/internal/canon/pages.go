package canon

import "unicode/utf8"

// Sizes of what is shown of an approval (field/review-agent.md S23), in bytes.
const (
	// PageBytes is the largest page. What is longer is shown in pages.
	PageBytes = 256 << 10
	// MaxShown is the largest text that is shown at all; of a larger one hashes and sizes are.
	MaxShown = 4 << 20
)

// Page is a piece of what is shown of an approval.
type Page struct {
	// Number is which, from 1 to Of.
	Number int `json:"number"`
	Of     int `json:"of"`
	// Content is a piece of the text, cut between two characters: all pages one after another are the text, byte for byte.
	Content string `json:"content"`
	// ContentDigest stands on the last page of several: whoever decides sends it back as proof of having read so far.
	ContentDigest Hash `json:"content_digest,omitempty"`
}

// ContentDigest binds a text that is shown to the approval with that digest.
func ContentDigest(digest Hash, content string) (Hash, error) {
	b := builder{}
	return b.hash(b.string("of", "content"), b.number("v", version), b.sum("digest", digest), b.string("content", content))
}

// Pages cuts what is shown of an approval into pages. A text of one page has no content digest: the digest of the approval
// is the proof. The error is a *HashError: the text is not UTF-8 or over MaxShown, and must not be shown as if it were whole.
func Pages(digest Hash, content string) ([]Page, error) {
	if len(content) > MaxShown {
		return nil, &HashError{"content", "is larger than what can be shown"}
	}
	proof, err := ContentDigest(digest, content)
	if err != nil {
		return nil, err
	}
	var out []Page
	for rest := content; len(out) == 0 || rest != ""; {
		n := pageEnd(rest)
		out = append(out, Page{Number: len(out) + 1, Content: rest[:n]})
		rest = rest[n:]
	}
	for i := range out {
		out[i].Of = len(out)
	}
	if len(out) > 1 {
		out[len(out)-1].ContentDigest = proof
	}
	return out, nil
}

func pageEnd(rest string) int {
	if len(rest) <= PageBytes {
		return len(rest)
	}
	n := PageBytes
	for !utf8.RuneStart(rest[n]) {
		n--
	}
	return n
}
