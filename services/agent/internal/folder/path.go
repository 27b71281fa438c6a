// Package folder holds the rules of a session's work folder: which paths may be named, what may be put into a file, what a change
// shows before it is made, and what can be said of it afterwards. It touches no disk: adapter/workfolder does, behind Folder.
//
// A path is relative to the folder, of `/` only, and passes twice: by its letters, before anything is looked at (Rules.Clean), and name
// by name while links in it are resolved (Rules.Name), so that no link leads to what its letters hide (field/agent.md C7 to C10,
// field/review-agent.md S2). A path that is denied is answered alike whether it exists or not (S21).
//
// A change is planned (Plan: hashes before and after, sizes, a whole diff), then made under the folder's lock in steps: Stage puts the
// new content beside the target, Apply exchanges the two by one rename and looks at what came out, Finish takes away what was replaced.
// After a crash Prove tells from the staged file whether Apply happened, whatever somebody did to the target since (S1, S3, C51, C52).
package folder

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
)

// Bounds of paths.
const (
	// MaxPath is the length of a path, in bytes.
	MaxPath = 1024
	// MaxName is the length of one name in it, in bytes: what Linux takes.
	MaxName = 255
	// MaxDepth is how many names a path has.
	MaxDepth = 32
	// MaxLinks is how many links are followed on the way to one file.
	MaxLinks = 16
)

// StagedPrefix begins the names under which new and replaced content waits. They are hidden from lists and searches and refused to
// tools (field/review-agent.md S3).
const StagedPrefix = ".tsumugi-staged-"

// Use is what a path is named for.
type Use int

const (
	// Alter is a change of what is there: write, delete, the source of a move. As the zero value it is strict.
	Alter Use = iota
	// New is a name that comes to be: create, the destination of a move, a new folder.
	New
	// Read is list, read, stat and search. Only here the folder itself may be named, as `.`.
	Read
)

// Rules says which names are protected. The zero value protects .git, .env and what begins so, and .ssh, at any depth, in any case and
// in any way to write them (field/agent.md C9).
type Rules struct{ extra []string }

// NewRules adds patterns (path.Match, of one name, such as `*.pem`) to what is always protected. They are compared without case. The
// error names all patterns that are none.
func NewRules(protected []string) (Rules, error) {
	r := Rules{}
	var wrong []string
	for _, p := range protected {
		if _, err := path.Match(p, ""); err != nil || p == "" || strings.Contains(p, "/") {
			wrong = append(wrong, fmt.Sprintf("%q", p))
			continue
		}
		r.extra = append(r.extra, folded(p))
	}
	if len(wrong) > 0 {
		return Rules{}, fmt.Errorf("no pattern of a name: %s; write one such as *.pem, without /", strings.Join(wrong, ", "))
	}
	return r, nil
}

// Clean gives a path as it is used: `.` and empty names are taken out, and that is all. The error is a *Refusal. Nothing is looked at.
func (r Rules) Clean(raw string, use Use) (string, error) {
	if why := wrongPath(raw); why != "" {
		return "", refuse(BadPath, raw, why)
	}
	var names []string
	for name := range strings.SplitSeq(raw, "/") {
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			return "", refuse(BadPath, raw, "it has .. in it; write the path from the work folder down, without ..")
		}
		names = append(names, name)
	}
	switch {
	case len(names) > MaxDepth:
		return "", refuse(BadPath, raw, fmt.Sprintf("it is %d names deep, at most %d", len(names), MaxDepth))
	case len(names) == 0 && use != Read:
		return "", refuse(BadPath, raw, "it names the work folder itself, which is never changed")
	case len(names) == 0:
		return ".", nil
	}
	for _, name := range names {
		if err := r.Name(name); err != nil {
			err.Path = Show(raw)
			return "", err
		}
	}
	for _, name := range names {
		if why := wrongName(name, use); why != "" {
			return "", refuse(BadPath, raw, why)
		}
	}
	if use == New {
		if err := composed(raw, names[len(names)-1]); err != nil {
			return "", err
		}
	}
	return strings.Join(names, "/"), nil
}

// wrongPath says what no path may have, whatever it is for.
func wrongPath(raw string) string {
	switch {
	case raw == "":
		return "it is empty; the work folder itself is ."
	case len(raw) > MaxPath:
		return fmt.Sprintf("it has %d bytes, at most %d", len(raw), MaxPath)
	case !utf8.ValidString(raw):
		return "it is not UTF-8"
	case raw[0] == '/':
		return "it begins with /; write it relative to the work folder"
	case raw[0] == '~' && (len(raw) == 1 || raw[1] == '/'):
		return "~ stands for no folder here; write it relative to the work folder"
	case drive.MatchString(raw):
		return "it begins with a drive; write it relative to the work folder"
	}
	for _, r := range raw {
		switch {
		case r == '\\':
			return `it has a \ in it; folders are separated by /`
		case unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp):
			return fmt.Sprintf("it has the control character %U in it", r)
		}
	}
	return ""
}

var drive = regexp.MustCompile(`^[A-Za-z]:`)

// wrongName says why a name may not be written: what is shown of it must be what it is (field/review-agent.md S24).
func wrongName(name string, use Use) string {
	if len(name) > MaxName {
		return fmt.Sprintf("a name in it has %d bytes, at most %d", len(name), MaxName)
	}
	if use == Read {
		return ""
	}
	for _, r := range name {
		if passage.Invisible(r) {
			return fmt.Sprintf("it has the character %U in it, which cannot be seen; such names are not written", r)
		}
	}
	if strings.TrimRight(name, ". ") != name || name[0] == ' ' {
		return "a name in it ends with a dot or a space, or begins with a space, which other systems take away"
	}
	return ""
}

// composed refuses a new name that looks like another one and is none: it must be in the composed form. Names that are there are taken
// as they are, since some systems write the decomposed form.
func composed(raw string, names ...string) *Refusal {
	for _, name := range names {
		if !norm.NFC.IsNormalString(name) {
			return refuse(BadPath, raw, "a new name must be in Unicode's composed form (NFC), here "+Show(norm.NFC.String(name)))
		}
	}
	return nil
}

// Name refuses a name that is protected or reserved, wherever it stands in a path. A resolved path passes name by name.
func (r Rules) Name(name string) *Refusal {
	plain := folded(name)
	if strings.HasPrefix(plain, StagedPrefix) {
		return refuse(Reserved, name, "names that begin with "+StagedPrefix+" are kept for changes under way")
	}
	if plain == ".git" || plain == ".ssh" || strings.HasPrefix(plain, ".env") || short.MatchString(plain) {
		return protected(name)
	}
	for _, p := range r.extra {
		if ok, err := path.Match(p, plain); ok || err != nil {
			return protected(name)
		}
	}
	return nil
}

// short are the names that old file systems give to the protected ones.
var short = regexp.MustCompile(`^(git|ssh|env[a-z]*)~[0-9]+$`)

func protected(name string) *Refusal {
	return refuse(Protected, name, "a name in it is protected: .git, .env, .ssh and others are never read, listed or changed, whether they are there or not")
}

// folded is a name as the most careless file system would read it: without what cannot be seen, without case and width, without dots and
// spaces at its end and without a stream (`name:stream`).
func folded(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		name = strings.Map(func(r rune) rune {
			if passage.Invisible(r) {
				return -1
			}
			return r
		}, name)
		name = cases.Fold().String(norm.NFKC.String(name))
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ":")
	return strings.TrimRight(name, ". ")
}
