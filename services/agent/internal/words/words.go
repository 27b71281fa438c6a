// Package words knows the words by which a person decides about an approval in the conversation (field/agent.md 6;
// field/review-agent.md S20; cases/agent.md c1).
//
// A message decides only where the whole of it is one of a few forms. There is no search for words in a text, no model that judges
// what somebody meant, and no list of synonyms: "not ok" holds "ok", and 承認しない begins with 承認. Everything else is ordinary
// text.
//
// The sentence that tells a person what to write is made of the same table by which a message is read, so what is printed is
// what is understood.
package words

import (
	"strings"
	"unicode/utf8"
)

// Decision is what a message says. The zero value is nothing.
type Decision string

// The decisions.
const (
	None    Decision = ""
	Approve Decision = "APPROVE"
	Deny    Decision = "DENY"
)

// MaxID is the length of the id of an approval, in bytes.
const MaxID = 64

// form is a word that decides.
type form struct {
	word     string
	decision Decision
}

// forms are all words that decide, by locale. There are no others.
var forms = map[string][2]form{
	"en": {{"approve", Approve}, {"deny", Deny}},
	"ja": {{"承認", Approve}, {"拒否", Deny}},
}

const (
	// around may stand at both ends of a message, since keyboards leave it there. The last is the full-width space that Japanese
	// keyboards write.
	around = " \t\r\n\u3000"
	// between are the characters one of which stands between word and id.
	between = " \u3000"
)

// Word is a message that has the form of a decision.
type Word struct {
	Decision Decision
	// ID is the approval that it names; empty for a bare word.
	ID string
}

// Parse reads a message. ok says that the whole of it has the form of a decision, which does not say that it counts: Judge does.
//
// What is read, and what is not: blanks, tabs, ends of lines and full-width spaces (U+3000) around the message are left out. The word
// may be in any case (phones begin a message with a capital), in the letters of ASCII: full-width letters are ordinary text. One
// space, or one full-width space, stands between word and id, and the id is as it was printed, in lower case. A full stop, 。, quotes,
// another word, a second line or a character that cannot be seen make all of it ordinary text.
func Parse(message string) (w Word, ok bool) {
	message = strings.Trim(message, around)
	if len(message) > MaxID*2 { // No form is as long.
		return Word{}, false
	}
	word, id := message, ""
	if i := strings.IndexAny(message, between); i >= 0 {
		_, size := utf8.DecodeRuneInString(message[i:])
		if word, id = message[:i], message[i+size:]; !isID(id) {
			return Word{}, false
		}
	}
	word = lower(word)
	for _, both := range forms {
		for _, f := range both {
			if f.word == word {
				return Word{f.decision, id}, true
			}
		}
	}
	return Word{}, false
}

func isID(s string) bool {
	return s != "" && len(s) <= MaxID && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// lower is a text with the capitals of ASCII in lower case, and nothing else: the sign for kelvin is no k.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
