package gate

import (
	"fmt"
	"math"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// NotShown says why there is no content to look at.
type NotShown string

// The reasons. The zero value says that all is shown.
const (
	Binary NotShown = "BINARY"
	Large  NotShown = "TOO_LARGE"
	// Redacted: whoever asks may not read the target (S21).
	Redacted NotShown = "REDACTED"
)

// Content is what is shown of an approval, kept apart from its record: approvers of the namespace alone read it, no log, trace or error
// has it, and it is deleted after a time (S22).
type Content struct {
	Approval string `json:"approval"`
	// Text is the whole diff, the arguments of a call without one, the plan, or the result. Characters that cannot be seen are
	// written out (S24). Empty where NotShown says why.
	Text     string   `json:"text"`
	NotShown NotShown `json:"not_shown,omitempty"`
	// Args are the canonical arguments of a tool call, byte for byte what the tool will get; of an outcome, those of its call.
	Args string `json:"args,omitempty"`
}

// Show gives what is shown, in pages of at most canon.PageBytes; the last one of several has the content digest (S23).
func (c Content) Show(a Approval) ([]canon.Page, error) {
	pages, err := canon.Pages(a.Digest, c.Text)
	if err != nil {
		return nil, fmt.Errorf("show approval %s: %w", a.ID, err)
	}
	return pages, nil
}

// shown gives a text as it is shown, or says that it is too large.
func shown(text string) (string, NotShown) {
	text, _ = tool.Plain(text, math.MaxInt)
	if len(text) > canon.MaxShown {
		return "", Large
	}
	return text, ""
}

// Verify says whether record and content are as they were made: every digest is computed again (S6, S29). The error says what is not;
// it stands for a store that was changed from outside, and nothing may be decided or run.
func (a Approval) Verify(c Content) error {
	if err := a.Known(); err != nil {
		return err
	}
	if c.Approval != a.ID || c.NotShown != a.NotShown {
		return &BrokenError{a.ID, "its content is that of another"}
	}
	subject, err := a.subject(c)
	if err != nil {
		return err
	}
	digest, err := canon.Digest(a.binding(), subject)
	if err != nil || digest != a.Digest {
		return &BrokenError{a.ID, "its fields do not give its digest"}
	}
	proof, err := canon.ContentDigest(a.Digest, c.Text)
	if err != nil || proof != a.ContentDigest {
		return &BrokenError{a.ID, "its content does not give its content digest"}
	}
	if pages, err := c.Show(a); err != nil || len(pages) != a.Pages {
		return &BrokenError{a.ID, "its content has another number of pages"}
	}
	return nil
}

// Known is nil where this program knows what the record means; else a *VersionError.
func (a Approval) Known() error {
	if a.V != version {
		return &VersionError{a.ID, a.V}
	}
	return nil
}

func (a Approval) binding() canon.Binding {
	return canon.Binding{Namespace: a.Namespace, Session: a.Session, Task: a.Task, Approval: a.ID, Salt: a.Salt}
}

// subject gives what the digest is over, from what is stored.
func (a Approval) subject(c Content) (canon.Subject, error) {
	s := a.Subject
	switch a.Kind {
	case canon.KindToolCall:
		call, err := canon.CallHash(canon.Call{Tool: s.Tool, Server: s.Server, Definition: s.Definition, Args: []byte(c.Args), Root: s.Root})
		if err != nil || call != s.CallHash || canon.Sum([]byte(c.Args)) != s.Args || len(c.Args) != s.ArgsBytes {
			return nil, &BrokenError{a.ID, "its arguments do not give the hash of its call"}
		}
		return canon.ToolCall{Call: call, Targets: s.Targets, Process: s.Process, Hidden: a.Hidden}, nil
	case canon.KindPlan:
		if s.Items == nil {
			return nil, &BrokenError{a.ID, "its five items are missing"}
		}
		return canon.Plan{Text: c.Text, Items: *s.Items}, nil
	case canon.KindResult:
		return canon.Result{Text: c.Text, Executed: s.Executed}, nil
	case canon.KindOutcome:
		var args canon.Hash // An outcome that was asked about before they were shown has none.
		if c.Args != "" {
			args = canon.Sum([]byte(c.Args))
		}
		if args != s.Args || len(c.Args) != s.ArgsBytes {
			return nil, &BrokenError{a.ID, "its arguments are not those of its call"}
		}
		return canon.Outcome{Call: s.CallHash, Targets: s.Targets, Intent: s.Intent, Attempt: s.Attempt}, nil
	}
	return nil, &BrokenError{a.ID, "it is of no kind"}
}

// BrokenError says that a stored approval is not as it was made.
type BrokenError struct{ Approval, Why string }

func (e *BrokenError) Error() string {
	return fmt.Sprintf("approval %q was changed after it was made: %s", e.Approval, e.Why)
}

// VersionError says that an approval was made by another version of this program.
type VersionError struct {
	Approval string
	Version  int
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("approval %q has version %d, and this program knows version %d: let it expire, and ask again", e.Approval, e.Version, version)
}
