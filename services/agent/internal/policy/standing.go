package policy

import (
	"errors"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// StandingLife is how long a standing rule lives at most.
const StandingLife = 24 * time.Hour

// Scope is how far a decision reaches. The zero value is the one call that was shown.
type Scope string

// The scopes.
const (
	Once            Scope = "ONCE"
	SessionExact    Scope = "SESSION_EXACT"
	SessionToolPath Scope = "SESSION_TOOL_PATH"
)

// Standing is what a person allowed for the rest of a session (field/review-agent.md S8). It turns ASK into ALLOW and nothing else:
// rules that deny, the rules of paths, the lists of extensions and the check of what stood there before hold all the same.
type Standing struct {
	ID string `json:"id"`
	// Namespace, Session and Approver are whom it belongs to: it ends with the session, and when the approver revokes it.
	Namespace string `json:"namespace"`
	Session   string `json:"session"`
	Approver  string `json:"approver"`
	Scope     Scope  `json:"scope"`
	// Tool and Definition are the tool as it was admitted: when that changes, nothing fits.
	Tool       string     `json:"tool"`
	Definition canon.Hash `json:"definition"`
	// Call is the hash of the one call that SESSION_EXACT is for.
	Call canon.Hash `json:"call_hash,omitempty"`
	// Root and Path are what SESSION_TOOL_PATH is for: the path and what lies below it.
	Root    string    `json:"root,omitempty"`
	Path    string    `json:"path,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// Why a decision cannot be for more than one call.
var (
	ErrNeverStands = errors.New("a call that deletes, moves, runs a program, reaches beyond the work folder, or has a risk that is high or not known is allowed one at a time")
	ErrNotShown    = errors.New("only what was shown in full can be allowed for the session")
	ErrByWords     = errors.New("words allow one call; to allow more, decide by the approval")
	ErrScope       = errors.New("the scope must be SESSION_EXACT, or SESSION_TOOL_PATH with a path that holds all paths of the call")
	ErrUnbound     = errors.New("a standing rule needs an id, a namespace, a session, an approver and the hashes of tool and call")
)

// Offer is what a person would allow.
type Offer struct {
	ID, Approver string
	Scope        Scope
	// Path is for SESSION_TOOL_PATH: cleaned, relative to the root; "." is all of it.
	Path string
	// ByWords says that the decision came as words in the conversation.
	ByWords bool
}

// Stand makes a standing rule of a call that is approved at a time. The error is one of those above: then the decision is for this call
// alone, and must not be taken for more.
func Stand(c Call, risk Assessment, o Offer, now time.Time) (Standing, error) {
	s := Standing{
		ID: o.ID, Namespace: c.Namespace, Session: c.Session, Approver: o.Approver, Scope: o.Scope, Tool: c.Tool.Full(), Definition: c.Definition,
		Created: now, Expires: now.Add(StandingLife),
	}
	switch {
	case !mayStand(c, risk):
		return Standing{}, ErrNeverStands
	case c.Facts.Unshown || len(c.Facts.Diff) > canon.PageBytes:
		return Standing{}, ErrNotShown
	case o.ByWords:
		return Standing{}, ErrByWords
	case o.Scope == SessionExact:
		s.Call = c.Hash
	case o.Scope == SessionToolPath && o.Path != "" && len(c.paths()) > 0:
		s.Root, s.Path = c.Root, o.Path
	default:
		return Standing{}, ErrScope
	}
	if o.ID == "" || o.Approver == "" || c.Namespace == "" || c.Session == "" || !c.Definition.Valid() || !c.Hash.Valid() {
		return Standing{}, ErrUnbound
	}
	if !s.Covers(c, risk, now) {
		return Standing{}, ErrScope
	}
	return s, nil
}

// mayStand says whether a call can be allowed together with others.
func mayStand(c Call, risk Assessment) bool {
	return !c.builtIn(tool.Delete, tool.Move, tool.Exec) && !c.openWorld() && (risk.Level == Low || risk.Level == Medium)
}

// Covers says whether the rule allows a call at a time. The risk is that of this call, not of the one that the rule was made for.
func (s Standing) Covers(c Call, risk Assessment, now time.Time) bool {
	if !mayStand(c, risk) || now.Before(s.Created) || !now.Before(s.Expires) || s.Expires.Sub(s.Created) > StandingLife || !s.Definition.Valid() ||
		s.Namespace != c.Namespace || s.Session != c.Session || s.Tool != c.Tool.Full() || s.Definition != c.Definition {
		return false
	}
	switch s.Scope {
	case SessionExact:
		return s.Call.Valid() && s.Call == c.Hash
	case SessionToolPath:
		return s.Root == c.Root && s.holds(c.paths())
	}
	return false
}

func (s Standing) holds(paths []string) bool {
	for _, p := range paths {
		if !below(p, s.Path) {
			return false
		}
	}
	return len(paths) > 0 && s.Path != ""
}

// below says whether a path is another, or lies below it: `src2` does not lie below `src`.
func below(path, folder string) bool {
	path, folder = norm.NFC.String(path), norm.NFC.String(folder)
	return folder == "." || path == folder || strings.HasPrefix(path, folder+"/")
}
