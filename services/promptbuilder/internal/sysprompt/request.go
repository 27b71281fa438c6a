package sysprompt

import (
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/passage"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/nodecontext"
)

// Mode is how much of a prompt is made; the zero value is everything.
type Mode int

// The modes.
const (
	Full Mode = iota
	Minimal
	None
)

// Class says how often the bytes of a section change. Sections stand in this order.
type Class int

// The classes. Unset is what a request leaves open.
const (
	Unset Class = iota
	Identity
	Stable
	Session
	Volatile
)

// Truncation says what is kept of a file that is too large; the zero value is its beginning.
type Truncation int

// The truncations.
const (
	Head Truncation = iota
	HeadTail
	Digest
)

// Lint says what becomes of values that look as if they changed with each build; by the zero value they are told.
type Lint int

// What lint may do.
const (
	LintReport Lint = iota
	LintMove
	LintOff
)

// Request asks for a prompt. Fields are those of BuildSystemRequest, where their limits stand.
type Request struct {
	// Backend counts tokens; where it is empty, the estimate of the name Counter does.
	Backend, Counter string
	Mode             Mode
	Locale           string // a tag of BCP 47, or nothing
	Include, Exclude []string
	Identity         string
	Product          string
	Tools            []Tool
	ReaderTool       string
	Skills           []Skill
	SkillRoots       []SkillRoot
	SkillsMax        int
	Facts            *Facts
	Strict           bool
	Sections         []Custom
	Workspace        string
	Files            []File
	Bootstrap        Bootstrap
	Zone, TimeFormat string
	// Now is zero where it is not given.
	Now                      time.Time
	IncludeTime, IncludeDate bool
	Sandbox                  *Sandbox
	Runtime                  Runtime
	Reasoning                Reasoning
	Lint                     Lint
	MinCacheTokens           int
	Previous                 *Previous
	ReturnSnapshot           bool
	Snapshot                 *Snapshot
	Texts                    map[string]string
	// Context is the conversation so far; its locale, texts and counter are those of this request.
	Context *nodecontext.Request
	// Agent says that an agent asks: its base and main are never left out.
	Agent bool
	// ofSettings is how many of Sections Prepare added.
	ofSettings int
}

// Tool is a tool that the model may call.
type Tool struct{ Name, Summary, Schema string }

// Skill is an instruction that the model reads when it needs it.
type Skill struct {
	Name, Description, Location string
	Priority                    int
	// Root, Path and Digest (SHA-256, hex) say which SKILL.md it came from; empty for one of the request.
	Root, Path, Digest string
}

// SkillRoot is a folder of the settings with skills.
type SkillRoot struct {
	Root, Mount string
	Priority    int
}

// Facts are what is true where the agent runs.
type Facts struct {
	OS                string
	Bins, Env, Config []string
}

// Custom is a section with the caller's text.
type Custom struct {
	ID, Heading, Text string
	Class             Class
	// Modes are those that it is printed in; none: Full and Minimal.
	Modes     []Mode
	Order     int
	Untrusted bool
}

// FileState is what became of a file.
type FileState string

// The states. What is read is FileOK, FileMissing, FileBlocked, FileUnreadable or FileTooLarge; printing adds the others.
const (
	FileOK         FileState = "ok"
	FileTruncated  FileState = "truncated"
	FileMissing    FileState = "missing"
	FileEmpty      FileState = "empty"
	FileBlocked    FileState = "blocked_symlink"
	FileUnreadable FileState = "unreadable"
	FileTooLarge   FileState = "too_large"
	FileDuplicate  FileState = "duplicate"
	FileDropped    FileState = "dropped"
	FileLeftOut    FileState = "left_out"
)

// File is a file of the workspace.
type File struct {
	Name     string
	Content  []byte
	Class    Class
	Priority int
	// Root is the folder of the settings that it came from; State what was found there. Both are empty for one of the request.
	Root  string
	State FileState
	// Same is equal for two names of one file; empty where that is not known.
	Same string
}

// Bootstrap says which files are printed, and how much of them.
type Bootstrap struct {
	Root string
	// List are the files; nil: not sent.
	List       *[]string
	Unit       passage.Unit
	Max        int
	TotalMax   *int
	Truncation Truncation
	// Unframed and SkipMissing are what the contract says the other way round.
	Unframed, SkipMissing bool
}

// Sandbox is where tools run.
type Sandbox struct {
	Runtime, Path string
	Elevated      bool
}

// Runtime are facts of the host of the agent.
type Runtime struct {
	Host, OS, Node, Model, RepoRoot, Thinking string
	Extra                                     map[string]string
}

// Reasoning is whether the user sees it.
type Reasoning struct{ Level, Toggle string }

// Previous is an earlier build.
type Previous struct {
	Sections []Section
	// Text is empty where it was not sent.
	Text, Version string
}

// Snapshot is what was read from folders, in the form of a request.
type Snapshot struct {
	Files  []File
	Skills []Skill
	// Notes are what is wrong with other skills, and what was guessed of these.
	Notes []SkillReport
}

// Given is a section that another package makes.
type Given struct {
	Text  string
	Parts []Part
	// LeftOut is why it is not printed; empty where it is.
	LeftOut Reason
	// skills are what became of those that are listed.
	skills []SkillReport
}

// Violation is something wrong with a request.
type Violation struct{ Field, Description string }
