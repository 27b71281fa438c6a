package folder

import (
	"fmt"
	"path"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// Op is what a change does.
type Op string

// The changes. The zero value is none, and is refused.
const (
	// Write replaces a file, or makes it where it is not there.
	Write Op = "write"
	// Create makes a file that is not there.
	Create Op = "create"
	// Delete takes a file away, or a link, but not what the link leads to.
	Delete Op = "delete"
	// Move gives a file another path, where nothing is. The folder of that path must be there: Write and Create make folders on the way.
	Move Op = "move"
)

// FileMode are the permissions of a new file, FolderMode those of a new folder (field/review-agent.md S25).
const (
	FileMode   = 0o644
	FolderMode = 0o755
)

// Change is one effect as it is asked for.
type Change struct {
	Op   Op     `json:"op"`
	Path string `json:"path"`
	// To is the destination of a Move.
	To string `json:"to,omitempty"`
	// Content is of Write and Create: text of at most MaxContent bytes. It is in the arguments of the call, so it is not kept again.
	Content []byte `json:"-"`
	// Before is the hash of what the change was shown for; Absent where nothing was there. Stage refuses a change without it.
	Before Hash `json:"before,omitempty"`
}

// Clean gives the change with its paths cleaned. The error is a *Refusal; nothing is looked at.
func (c Change) Clean(rules Rules) (Change, error) {
	var err error
	if c.Path, err = rules.Clean(c.Path, c.use()); err != nil {
		return Change{}, err
	}
	switch c.Op {
	case Write, Create:
		if err := CheckText(c.Path, c.Content); err != nil {
			return Change{}, err
		}
	case Move:
		if c.To, err = rules.Clean(c.To, New); err != nil {
			return Change{}, err
		}
	case Delete:
	default:
		return Change{}, refuse(WrongType, c.Path, fmt.Sprintf("there is no change called %q", string(c.Op)))
	}
	return c, nil
}

// use is what the path of an operation is named for. A Write of what is there takes its name as it is; Stage looks again at one that
// comes to be.
func (c Change) use() Use {
	if c.Op == Create {
		return New
	}
	return Alter
}

// Kind is what a name is.
type Kind string

// The kinds. The zero value is nothing there.
const (
	Nothing    Kind = ""
	KindFile   Kind = "file"
	KindFolder Kind = "folder"
	KindLink   Kind = "link"
	// KindOther is a pipe, a device or a socket.
	KindOther Kind = "other"
)

// State is what is found under a path.
type State struct {
	// Path is where it is, after links on the way were followed.
	Path string
	// Kind is empty where nothing is there; then Hash is Absent.
	Kind Kind
	Hash Hash
	// Size is in bytes, Mode are the permissions.
	Size int64
	Mode uint32
	// SetID: a set-user-id, set-group-id or sticky bit is set.
	SetID bool
	// Content is nil where it is longer than MaxDiff.
	Content []byte
	// Target is where a link leads, as it is written in it.
	Target string
	// NewFolders are those on the way that are not there, from above.
	NewFolders []string
}

// NotShown says why a plan shows hashes and sizes only.
type NotShown string

// The reasons. The zero value says that all is shown.
const (
	Binary NotShown = "BINARY"
	Large  NotShown = "TOO_LARGE"
)

// Plan is what a change does, before it is made: what an approval shows and digests. It is stable JSON.
type Plan struct {
	Op   Op     `json:"op"`
	Path string `json:"path"`
	To   string `json:"to,omitempty"`
	// Target and TargetTo are the paths after links on the way were followed. Target is a link only for Delete.
	Target   string `json:"target"`
	TargetTo string `json:"target_to,omitempty"`
	Kind     Kind   `json:"kind"`
	// Leads is where a link leads, as it is written in it; the diff shows it.
	Leads  string `json:"-"`
	Before Hash   `json:"before"`
	After  Hash   `json:"after"`
	// BeforeSize and AfterSize are in bytes, Mode are the permissions afterwards (0 after Delete).
	BeforeSize int64  `json:"before_size"`
	AfterSize  int64  `json:"after_size"`
	Mode       uint32 `json:"mode"`
	// NewFolders are made, too.
	NewFolders []string `json:"new_folders,omitempty"`
	// Diff is the whole unified diff; empty where NotShown says why, and where nothing changes.
	Diff     string   `json:"diff,omitempty"`
	NotShown NotShown `json:"not_shown,omitempty"`
	// Invisible is how many characters of the diff cannot be seen (field/review-agent.md S24); tabs and ends of lines do not count.
	Invisible int `json:"invisible,omitempty"`
	// Redacted: the diff and the hashes were taken out for one who may not read the target.
	Redacted bool `json:"redacted,omitempty"`
}

// Unchanged says that the change leaves the content as it is.
func (p Plan) Unchanged() bool { return p.Op == Write && p.Before == p.After }

// Redact takes out what tells of the content: the diff, where a link leads, and the hashes, from which a short secret can be guessed (S21). Sizes stay.
func (p Plan) Redact() Plan {
	p.Diff, p.Leads, p.Before, p.After, p.Redacted = "", "", "", "", true
	return p
}

// Scene plans changes of one batch, each upon what the earlier ones leave (field/review-agent.md C70).
type Scene struct {
	look func(path string) (State, error)
	now  map[string]State
}

// NewScene plans upon what look finds. It gives errors as they are to be told.
func NewScene(look func(path string) (State, error)) *Scene {
	return &Scene{look, map[string]State{}}
}

func (s *Scene) at(name string) (State, error) {
	st, err := s.look(name)
	if err != nil {
		return State{}, err
	}
	if now, ok := s.now[st.Path]; ok {
		return now, nil
	}
	return st, nil
}

// Plan plans a cleaned change. The error is a *Refusal or what look gave; then the change leaves nothing.
func (s *Scene) Plan(c Change) (Plan, error) {
	was, err := s.at(c.Path)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Op: c.Op, Path: c.Path, To: c.To, Target: was.Path, Kind: was.Kind,
		Before: was.Hash, BeforeSize: was.Size, Mode: was.Mode, NewFolders: was.NewFolders,
	}
	if c.Op == Move {
		return s.planMove(p, was)
	}
	after, err := After(c, was)
	if err != nil {
		return Plan{}, err
	}
	p.After, p.AfterSize, p.Mode = after.Hash, after.Size, after.Mode
	if after.Kind != "" {
		p.Kind = after.Kind
	}
	if err := p.show(was, after); err != nil {
		return Plan{}, err
	}
	s.now[was.Path] = after
	return p, nil
}

func (s *Scene) planMove(p Plan, was State) (Plan, error) {
	to, err := s.at(p.To)
	if err != nil {
		return Plan{}, err
	}
	switch {
	case was.Kind != KindFile:
		return Plan{}, wrongKind(p.Path, was.Kind)
	case to.Kind != "":
		return Plan{}, refuse(Exists, p.To, "something is there already; nothing is moved over it")
	case len(to.NewFolders) > 0:
		return Plan{}, refuse(Missing, p.To, "its folder is not there: create a file in it first")
	}
	p.TargetTo, p.After, p.AfterSize = to.Path, was.Hash, was.Size
	p.Diff = "rename from " + label("", p.Target) + "\nrename to " + label("", p.TargetTo) + "\n"
	moved := was
	moved.Path = to.Path
	s.now[was.Path], s.now[to.Path] = State{Path: was.Path, Hash: Absent}, moved
	return p, nil
}

// After gives what a change leaves of a state; Move is not asked. The error is a *Refusal.
func After(c Change, was State) (State, error) {
	after := State{Path: was.Path, Kind: KindFile, Hash: Of(c.Content), Size: int64(len(c.Content)), Mode: was.Mode, Content: c.Content}
	if was.Kind == "" {
		after.Mode = FileMode
		for _, name := range append([]string{was.Path}, was.NewFolders...) {
			if err := composed(c.Path, path.Base(name)); err != nil && c.Op != Delete {
				return State{}, err
			}
		}
	}
	switch c.Op {
	case Write:
		if was.Kind != "" && was.Kind != KindFile {
			return State{}, wrongKind(c.Path, was.Kind)
		}
		if was.SetID {
			return State{}, refuse(Forbidden, c.Path, "it runs with the rights of another user or group (set-id), and is not written")
		}
		return after, nil
	case Create:
		if was.Kind != "" {
			return State{}, refuse(Exists, c.Path, "it is there already, and was not touched")
		}
		return after, nil
	case Delete:
		switch was.Kind {
		case "":
			return State{}, missing(c.Path)
		case KindFile, KindLink:
			return State{Path: was.Path, Hash: Absent}, nil
		}
	}
	return State{}, wrongKind(c.Path, was.Kind)
}

func missing(name string) *Refusal { return refuse(Missing, name, "nothing is there") }

// wrongKind refuses what is no file.
func wrongKind(name string, kind Kind) *Refusal {
	switch kind {
	case "":
		return missing(name)
	case KindFolder:
		return refuse(WrongType, name, "it is a folder; only files are written, moved and deleted")
	case KindLink:
		return refuse(WrongType, name, "it is a symbolic link, which is never written through or moved")
	}
	return refuse(WrongType, name, "it is no file but a pipe, a device or a socket")
}

// WrongKind is the refusal of what is no file; missing where nothing is there.
func WrongKind(name string, kind Kind) error { return wrongKind(name, kind) }

// show makes the diff of two states.
func (p *Plan) show(was, after State) error {
	switch {
	case p.Kind == KindLink:
		p.Leads = was.Target
		p.Diff = "delete link " + label("", p.Target) + " -> " + Show(was.Target) + "\n"
		return nil
	case was.Size > MaxDiff || after.Size > MaxDiff:
		p.NotShown = Large
		return nil
	case notText(was.Content) != "" || notText(after.Content) != "":
		p.NotShown = Binary
		return nil
	}
	from, to := label("a/", p.Target), label("b/", p.Target)
	if was.Kind == "" {
		from = "/dev/null"
	}
	if after.Kind == "" {
		to = "/dev/null"
	}
	diff, err := unified(from, to, string(was.Content), string(after.Content))
	if err != nil {
		return err
	}
	if diff == "" && was.Kind != after.Kind { // An empty file has no lines to show.
		diff = "--- " + from + "\n+++ " + to + "\n"
	}
	p.Diff, p.Invisible = diff, unseen(diff)
	return nil
}

// unseen counts what cannot be seen in a diff. A return before the end of a line counts: a diff shows no difference in it.
func unseen(diff string) int {
	n := 0
	for _, r := range diff {
		if r != '\n' && r != '\t' && passage.Invisible(r) {
			n++
		}
	}
	return n
}

// label is a path in a diff, in quotes where a character of it would mislead.
func label(side, name string) string {
	if shown := Show(name); shown != `"`+name+`"` || strings.Contains(name, " ") {
		return side + shown
	}
	return side + name
}
