package token

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/yamlx"
)

// Limits of a file.
const (
	// MaxTokens is how many a file may hold.
	MaxTokens = 10_000
	// MaxNameRunes is the longest name, in characters (code points).
	MaxNameRunes = 64
	maxFileBytes = 4 << 20
)

// entry is a token as the file has it.
type entry struct {
	ID        string   `yaml:"id"`
	Name      string   `yaml:"name"`
	Namespace string   `yaml:"namespace,omitempty"`
	Roles     []string `yaml:"roles,flow"`
	Salt      string   `yaml:"salt"`
	Hash      string   `yaml:"hash"`
	Created   string   `yaml:"created"`
	Expires   string   `yaml:"expires,omitempty"`
	Session   string   `yaml:"session,omitempty"`
}

var (
	validID      = regexp.MustCompile(`^[a-z0-9]{4,32}$`)
	validSession = regexp.MustCompile(`^sessions/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// Parse reads the text of a file. The error is a *yamlx.Error with all that is wrong, each with its line.
func Parse(text []byte) ([]Token, error) {
	var file struct {
		Tokens []yamlx.Node `yaml:"tokens"`
	}
	if err := yamlx.Decode(text, &file); err != nil {
		return nil, err
	}
	p := reader{lines: map[string]int{}}
	if len(file.Tokens) > MaxTokens {
		p.wrong("tokens", nil, "are %d; the limit is %d", len(file.Tokens), MaxTokens)
		file.Tokens = nil
	}
	for i := range file.Tokens {
		p.token(fmt.Sprintf("tokens[%d]", i), &file.Tokens[i])
	}
	if len(p.problems) > 0 {
		return nil, &yamlx.Error{Problems: p.problems}
	}
	return p.tokens, nil
}

// reader collects tokens and what is wrong with them.
type reader struct {
	tokens   []Token
	lines    map[string]int // of the ids
	problems []yamlx.Problem
}

func (p *reader) wrong(path string, n *yamlx.Node, format string, args ...any) {
	p.problems = append(p.problems, yamlx.Problem{Path: path, Node: n, Message: fmt.Sprintf(format, args...)})
}

func (p *reader) token(path string, n *yamlx.Node) {
	var e entry
	var wrong *yamlx.Error
	if err := yamlx.DecodeNode(n, &e); errors.As(err, &wrong) {
		for _, problem := range wrong.Problems {
			problem.Path = strings.TrimSuffix(path+"."+problem.Path, ".")
			p.problems = append(p.problems, problem)
		}
		return // its other keys may only seem to be missing
	}
	t := Token{ID: e.ID, Name: e.Name, Namespace: e.Namespace, Session: e.Session}
	at := func(key string, format string, args ...any) {
		where := yamlx.Get(n, key)
		if where == nil {
			where = n
		}
		p.wrong(path+"."+key, where, format, args...)
	}
	for _, r := range e.Roles {
		t.Roles = append(t.Roles, Role(r))
	}
	t.salt = readHex(at, "salt", e.Salt, saltBytes)
	t.hash = readHex(at, "hash", e.Hash, sha256.Size)
	t.Created = readTime(at, "created", e.Created)
	if e.Expires != "" {
		t.Expires = readTime(at, "expires", e.Expires)
	}
	t.check(at)
	if line, twice := p.lines[t.ID]; twice {
		at("id", "stands here twice, also in line %d", line)
	}
	p.lines[t.ID] = n.Line
	p.tokens = append(p.tokens, t)
}

// told is told of a key whose value is wrong.
type told func(key, format string, args ...any)

// check tells what cannot be, by keys of the file.
func (t Token) check(wrong told) {
	if !validID.MatchString(t.ID) {
		wrong("id", "must be 4 to 32 of a to z and 0 to 9")
	}
	if !ValidName(t.Name) {
		wrong("name", "must be 1 to %d visible characters", MaxNameRunes)
	}
	switch {
	case t.Has(Service) && (len(t.Roles) > 1 || t.Session != ""):
		wrong("roles", "must be service alone, without a session: a program that calls for others is nobody itself")
	case t.Has(Service) && t.Namespace != "":
		wrong("namespace", "must be left out: a token with the role service says it with each call")
	case !t.Has(Service) && !namespace.Valid(t.Namespace):
		wrong("namespace", "must be 1 to 63 of a to z, 0 to 9 and -, with no - at either end, and no name of a device of Windows")
	}
	t.checkRoles(wrong)
	if t.Session != "" && !validSession.MatchString(t.Session) {
		wrong("session", "must be sessions/{uuid}, in lower case")
	}
}

func (t Token) checkRoles(wrong told) {
	if len(t.Roles) == 0 {
		wrong("roles", "must name at least one of %s", join(Roles()))
	}
	for i, r := range t.Roles {
		switch {
		case !slices.Contains(Roles(), r):
			wrong("roles", "%.40q is none of %s", string(r), join(Roles()))
		case slices.Contains(t.Roles[:i], r):
			wrong("roles", "has %s twice", r)
		}
	}
}

func join(roles []Role) string {
	words := make([]string, len(roles))
	for i, r := range roles {
		words[i] = string(r)
	}
	return strings.Join(words, ", ")
}

// ValidName says whether a name can be shown wherever names are: 1 to MaxNameRunes characters, none that is invisible or
// moves others (they stand in logs and in records of who decided).
func ValidName(name string) bool {
	hidden := func(r rune) bool { return r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) }
	return name != "" && utf8.ValidString(name) && utf8.RuneCountInString(name) <= MaxNameRunes &&
		strings.TrimSpace(name) == name && strings.IndexFunc(name, hidden) < 0
}

func readHex(wrong told, key, text string, size int) []byte {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != size {
		wrong(key, "must be %d hexadecimal digits, as `tsumugi token add` writes them", 2*size)
		return nil
	}
	return b
}

func readTime(wrong told, key, text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		wrong(key, "must be a time such as 2026-12-31T15:00:00Z")
	}
	return t
}

const head = "# Tokens of Tsumugi, written by `tsumugi token`. It holds no secrets, but whoever can write it can let anybody in: mode 0600.\n"

// format writes the text of a file.
func format(tokens []Token) ([]byte, error) {
	file := struct {
		Tokens []entry `yaml:"tokens"`
	}{Tokens: make([]entry, len(tokens))}
	for i, t := range tokens {
		e := entry{
			ID: t.ID, Name: t.Name, Namespace: t.Namespace, Session: t.Session,
			Salt: hex.EncodeToString(t.salt), Hash: hex.EncodeToString(t.hash), Created: t.Created.UTC().Format(time.RFC3339),
		}
		for _, r := range t.Roles {
			e.Roles = append(e.Roles, string(r))
		}
		if !t.Expires.IsZero() {
			e.Expires = t.Expires.UTC().Format(time.RFC3339)
		}
		file.Tokens[i] = e
	}
	text, err := yamlx.Marshal(file)
	return append([]byte(head), text...), err
}

// readFile reads a file, but never more than is looked at, and not one that others may write.
func readFile(path string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return nil, info, errors.New("is not a file")
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, info, err
	}
	defer f.Close() //nolint:errcheck // only read
	switch info, err = f.Stat(); {
	case err != nil:
		return nil, nil, err
	case writable(info):
		return nil, info, fmt.Errorf("may be written by others than its owner (mode %#o), who could let anybody in: chmod 600 %s", info.Mode().Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("is longer than %d bytes", maxFileBytes)
	}
	return text, info, err
}

// Read reads a file of tokens. What is wrong in it is a *yamlx.Error.
func Read(path string) ([]Token, error) {
	text, _, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("the file of tokens %s: %w", path, cause(err))
	}
	return Parse(text)
}

// cause is what went wrong, without the name that stands in the sentence already.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
