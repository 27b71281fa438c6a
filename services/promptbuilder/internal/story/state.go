package story

import (
	"crypto/sha256"
	"encoding/base64"
)

// stateBytes is how much of a hash names a line.
const stateBytes = 9

// lineState names the line that a prompt's text begins with, so that the next prompt can begin with it too. What comes
// before that line may change meanwhile (field/wannabe.md 5, KV stability).
func (l layout) lineState(offset int) string {
	for i, start := range l.starts {
		if start == offset {
			return l.hash(i)
		}
	}
	return ""
}

// hash names a line by its text and that of the next, since a line such as 「はい」 stands in many places.
func (l layout) hash(i int) string {
	text := l.shown[i].text
	if i+1 < len(l.shown) {
		text += "\n" + l.shown[i+1].text
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:stateBytes])
}

// lineOf is the line of a state, of several the last; -1 where there is none.
func (l layout) lineOf(state string) int {
	for i := len(l.shown) - 1; i >= 0; i-- {
		if l.shown[i].content() && l.hash(i) == state {
			return i
		}
	}
	return -1
}

// anchor is where in the text that may be cut the line of a state begins; 0 where there is none.
func (l layout) anchor(state string) int {
	if state == "" {
		return 0
	}
	if i := l.lineOf(state); i >= 0 {
		return l.starts[i]
	}
	return 0
}

// isState says that a text may be what lineState gives.
func isState(text string) bool {
	sum, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && len(sum) == stateBytes
}
