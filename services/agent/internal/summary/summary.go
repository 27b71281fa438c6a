// Package summary has models write the summaries and tags of nodes (seed 004, 7.1.3 and 7.2; field/systemprompt-rules.md 5):
// what they are asked, how a reply is read, and the work on many nodes at once. Nothing of a bad reply is stored, and no
// summary of other texts than those that are there.
package summary

import (
	"strings"
	"unicode"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// Reason is why a reply cannot be used.
type Reason string

// The reasons.
const (
	NoSummary  Reason = "NO_SUMMARY"
	NoTags     Reason = "NO_TAGS"
	ExtraText  Reason = "EXTRA_TEXT"
	TooShort   Reason = "TOO_SHORT"
	TooLong    Reason = "TOO_LONG"
	TooFewTags Reason = "TOO_FEW_TAGS"
	TagTooLong Reason = "TAG_TOO_LONG"
	// OverTokens: the summary has more tokens than Numbers.TokenLimit.
	OverTokens Reason = "OVER_TOKENS"
	// Cut: the model did not end its reply.
	Cut Reason = "CUT"
)

// Numbers are what is asked of a reply. All but TokenLimit are positive, and no minimum is over its maximum.
type Numbers struct {
	// MinWords and MaxWords are what is asked for; a third of the one and twice the other are taken. MinCharacters and
	// MaxCharacters stand for them in a Japanese summary, without its white space.
	MinWords, MaxWords, MinCharacters, MaxCharacters int
	// MinTags tags are needed; those behind MaxTags are left out. None may have more than TagCharacters.
	MinTags, MaxTags, TagCharacters int
	// TokenLimit is the most tokens of a summary; 0 for any: the 50 of seed 004 are fewer than 50 words have.
	TokenLimit int
	// MaxTokens is the length of a reply.
	MaxTokens int
	// Again is how often a model is asked again.
	Again int
	// Grammar is a grammar in GBNF that replies follow, for small models that do not keep to a form by themselves; empty for none.
	// Not every kind of model server has it.
	Grammar string
}

// DefaultNumbers are those of field/systemprompt-rules.md 5.
func DefaultNumbers() Numbers {
	return Numbers{
		MinWords: 30, MaxWords: 50, MinCharacters: 60, MaxCharacters: 100,
		MinTags: 3, MaxTags: 7, TagCharacters: 40, MaxTokens: 300, Again: 2,
	}
}

// Reply is what a good reply says.
type Reply struct {
	Summary string
	Tags    []string
	// TagsCut are the tags over Numbers.MaxTags, which are left out.
	TagsCut int
}

// Read reads a reply strictly. reason is empty for a good one; of a bad one nothing is given. Cut and OverTokens are not found here.
func (n Numbers) Read(text string) (r Reply, reason Reason) {
	summary, tags, reason := parse(text)
	if reason != "" {
		return Reply{}, reason
	}
	r = Reply{Summary: summary, Tags: tags}
	if over := len(tags) - n.MaxTags; over > 0 {
		r.Tags, r.TagsCut = tags[:n.MaxTags], over
	}
	if reason = n.check(r); reason != "" {
		return Reply{}, reason
	}
	return r, ""
}

// check finds the first thing that is wrong with the sizes of a reply.
func (n Numbers) check(r Reply) Reason {
	size, least, most := len(strings.Fields(r.Summary)), n.MinWords, n.MaxWords
	if japanese(r.Summary) {
		size, least, most = characters(r.Summary), n.MinCharacters, n.MaxCharacters
	}
	switch {
	case 3*size < least:
		return TooShort
	case size > 2*most:
		return TooLong
	case len(r.Tags) < n.MinTags:
		return TooFewTags
	}
	for _, t := range r.Tags {
		if passage.Characters.Size(t) > n.TagCharacters {
			return TagTooLong
		}
	}
	return ""
}

// japanese says that at least three in ten of the letters are of the Japanese scripts.
func japanese(s string) bool {
	letters, own := 0, 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			letters++
		}
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) && unicode.IsLetter(r) {
			own++
		}
	}
	return own > 0 && 10*own >= 3*letters
}

// characters are the code points that are not white space.
func characters(s string) (n int) {
	for _, r := range s {
		if !unicode.IsSpace(r) {
			n++
		}
	}
	return n
}
