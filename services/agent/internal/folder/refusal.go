package folder

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// Code is why something was refused.
type Code string

// The codes.
const (
	// BadPath is a path that no rule takes, by its letters.
	BadPath Code = "BAD_PATH"
	// Protected is a protected name, in the path or where a link leads.
	Protected Code = "PROTECTED"
	// Reserved is a name of ours.
	Reserved Code = "RESERVED"
	// Outside is a link that leads out of the folder, or a folder that another disk is mounted at.
	Outside Code = "OUTSIDE"
	// ReadOnly is a change in a folder that may only be read.
	ReadOnly Code = "READ_ONLY"
	// WrongType is a link, folder, pipe, device or socket where a file must be, or the reverse.
	WrongType Code = "WRONG_TYPE"
	// HardLink is a file with more than one name: the others may be outside (field/review-agent.md S4).
	HardLink Code = "HARD_LINK"
	// Missing is nothing there.
	Missing Code = "MISSING"
	// Exists is something there where nothing may be.
	Exists Code = "EXISTS"
	// TooLarge is more than a bound.
	TooLarge Code = "TOO_LARGE"
	// NotText is content that is not UTF-8, or has a NUL.
	NotText Code = "NOT_TEXT"
	// Forbidden is what the operating system refuses, or an owner or mode that could not be kept.
	Forbidden Code = "FORBIDDEN"
	// Unsettled is a sweep while an effect may still have to be proved.
	Unsettled Code = "UNSETTLED"
)

// Refusal says that nothing was done, and why. Its sentence is for the model and the person alike, and never says whether something
// exists that may not be named.
type Refusal struct {
	Code Code `json:"code"`
	// Path is the path as it may be shown.
	Path string `json:"path,omitempty"`
	// Reason is a sentence.
	Reason string `json:"reason"`
	// Ask says that a person may allow it.
	Ask bool `json:"ask,omitempty"`
}

func (r *Refusal) Error() string {
	if r.Path == "" {
		return r.Reason
	}
	return r.Path + ": " + r.Reason
}

// Refuse makes a refusal of a path.
func Refuse(code Code, name, reason string) error { return refuse(code, name, reason) }

func refuse(code Code, name, reason string) *Refusal {
	return &Refusal{Code: code, Path: Show(name), Reason: reason}
}

// StaleError says that a target is not what was approved (cases/agent.md 31).
type StaleError struct {
	Path string
	// Now is what is there: a hash, Absent, or empty where that cannot be told.
	Now Hash
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%s has changed since it was shown; nothing was written. Read it again and propose the change anew", Show(e.Path))
}

// BusyError says that another session or process is working in the folder. Nothing was done.
type BusyError struct{ Folder string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another session is changing the work folder %s; this call waits", e.Folder)
}

// maxShown is how much of a path is shown, in bytes.
const maxShown = 300

// Show gives a path in quotes, bounded, with what cannot be seen escaped (field/review-agent.md S24).
func Show(name string) string {
	more := ""
	if len(name) > maxShown {
		cut := maxShown
		for cut > 0 && !utf8.RuneStart(name[cut]) {
			cut--
		}
		name, more = name[:cut], "…"
	}
	var b strings.Builder
	for _, r := range strconv.QuoteToGraphic(name) {
		if passage.Invisible(r) { // Fillers and selectors are letters and marks to the quoting.
			fmt.Fprintf(&b, "\\U%08x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String() + more
}
