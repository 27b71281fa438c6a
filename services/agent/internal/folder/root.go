package folder

import (
	"context"
	"strings"
)

// Identity is a file of a file system. Numbers are texts in JSON: one may be larger than what a double holds.
type Identity struct {
	Device uint64 `json:"device,string"`
	Inode  uint64 `json:"inode,string"`
}

// Staged is what INTENT keeps of an effect that is about to be made (field/review-agent.md S3). It is stable JSON.
type Staged struct {
	Op Op `json:"op"`
	// Target is the path that changes, after links were followed; To that of a Move.
	Target string `json:"target"`
	To     string `json:"to,omitempty"`
	// Inner is the end of Target below the first folder that is new; empty where its folder is there.
	Inner string `json:"inner,omitempty"`
	// Name is the staged name, in the folder of Target (of its part without Inner): of the new content, and after Apply of what was
	// replaced or deleted. Empty for Move.
	Name string `json:"name,omitempty"`
	// File is what is under Name before Apply; for Delete and Move the file that goes.
	File Identity `json:"file"`
	// Folder and FolderTo are the folders of Target and To.
	Folder   Identity `json:"folder"`
	FolderTo Identity `json:"folder_to,omitzero"`
	Before   Hash     `json:"before"`
	After    Hash     `json:"after"`
	// Changed is when the file of a Move last changed in any way, in nanoseconds: a move changes that.
	Changed int64 `json:"changed,omitempty,string"`
	// Weak: this file system cannot exchange, so that there is a moment between the last check and the rename.
	Weak bool `json:"weak,omitempty"`
	// Attempt counts from 1. Whoever applies a second time what Prove has shown not to be done sets it to 2.
	Attempt int `json:"attempt"`
}

// Result is what is known of an effect.
type Result string

// The results. Whatever is not Done or NotDone or Stale, the zero value included, is not known.
const (
	// Unknown: nothing can prove it; a person looks.
	Unknown Result = "UNKNOWN"
	// Done: it happened, once.
	Done Result = "DONE"
	// NotDone: it did not happen, and nothing of it is left but the staged file. It may be applied once more.
	NotDone Result = "NOT_DONE"
	// Stale: the target is not what was approved. It is as others left it.
	Stale Result = "STALE_TARGET"
)

// Outcome is what Apply did, or what Prove found.
type Outcome struct {
	Result Result `json:"result"`
	// Now is what the target holds: of Done the new hash, of Stale what others left; empty where it cannot be told.
	Now Hash `json:"now,omitempty"`
	// Weak: it was made by check and rename, on a file system that cannot exchange.
	Weak bool `json:"weak,omitempty"`
	// Kept is the path under which content stands that somebody else wrote and that has no other name left.
	Kept string `json:"kept,omitempty"`
	// Reason is a sentence where Result is not Done.
	Reason string `json:"reason,omitempty"`
}

// About is what a root is.
type About struct {
	Name string
	// Mount is the path by which a prompt names it, such as /skills; empty for the work folder itself.
	Mount    string
	ReadOnly bool
	// Rules are those of its paths.
	Rules Rules
	// Warnings are sentences for the person who set it up.
	Warnings []string
}

// Entry is one name of a folder. What is protected or reserved is never one.
type Entry struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Size is in bytes, of files; Mode are the permissions; Modified is in nanoseconds since 1970.
	Size     int64  `json:"size"`
	Mode     uint32 `json:"mode"`
	Modified int64  `json:"modified"`
	// Links is how many names a file has.
	Links uint64 `json:"links"`
	// Target is where a link leads, as it is written in it.
	Target string `json:"target,omitempty"`
	// Hidden: it is a link, and where it leads is not told.
	Hidden bool `json:"target_hidden,omitempty"`
}

// Listing is a part of a folder, by name.
type Listing struct {
	Path    string
	Entries []Entry
	// More: names follow behind the last one. Unnameable are entries left out since no path can name them.
	More       bool
	Unnameable int
}

// Content is a text file.
type Content struct {
	// Path is where it is, after links.
	Path     string
	Text     []byte
	Hash     Hash
	Mode     uint32
	Modified int64
}

// Query is a search for a text in files.
type Query struct {
	// Text is literal, of 1 to MaxQuery bytes, in one line. Its composed and decomposed form are both found.
	Text string
	// Under is the folder or file to search.
	Under string
	// Name is a pattern of file names (path.Match), such as *.go; empty for all.
	Name string
	// AnyCase does not tell large letters from small ones.
	AnyCase bool
	// Most is how many matches are given, at most and by default MaxMatches.
	Most int
}

// Bounds of a search.
const (
	MaxQuery   = 1024
	MaxMatches = 500
	// MaxSearched is how many files are read, MaxSearchedBytes how many bytes of them, MaxExcerpt the bytes of a line that are shown.
	MaxSearched      = 20_000
	MaxSearchedBytes = 64 << 20
	MaxExcerpt       = 400
	// MaxSkippedNamed is how many of the files that were skipped are named.
	MaxSkippedNamed = 50
)

// Match is a line with the text.
type Match struct {
	Path string `json:"path"`
	// Line and Column count from 1, Column in characters.
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Text   string `json:"text"`
	// Cut: the line is longer than what is shown.
	Cut bool `json:"cut,omitempty"`
}

// Found is what a search gives.
type Found struct {
	Matches []Match
	// Files and Bytes are what was read.
	Files int
	Bytes int64
	// Cut says which bound ended the search; empty where all was searched.
	Cut string
	// Skipped counts what was not searched, by reason; SkippedPaths names the first of them.
	Skipped      map[string]int
	SkippedPaths []string
}

// ReadOptions say more of a read.
type ReadOptions struct {
	// HardLinks: a person has allowed to read this file although it has other names.
	HardLinks bool
}

// Planned is a plan, or why there is none: a *Refusal, or an error of the disk.
type Planned struct {
	Plan Plan
	Err  error
}

// Top is the path that Apply puts in place: Target, or the first of its new folders.
func (s Staged) Top() string { return strings.TrimSuffix(s.Target, "/"+s.Inner) }

// Root is one folder as the tool router uses it. Reads need no lock. Errors are *Refusal, *StaleError, *BusyError, that of the context,
// or of the disk. Safe for concurrent use.
type Root interface {
	About() About
	// List gives at most MaxEntries names after one.
	List(ctx context.Context, path, after string) (Listing, error)
	Stat(ctx context.Context, path string) (Entry, error)
	// Read gives a text of at most MaxContent bytes.
	Read(ctx context.Context, path string, o ReadOptions) (Content, error)
	Search(ctx context.Context, q Query) (Found, error)
	// Plan plans the changes of one batch, each upon the earlier ones; one for each.
	Plan(ctx context.Context, changes ...Change) []Planned
	// Lock waits until the context ends for the folder, which is then this caller's alone among all sessions and processes.
	// *BusyError when it was not free in time.
	Lock(ctx context.Context) (Held, error)
	// Littered says whether something stands under a staged name, of a change under way or of one that a crash cut off.
	Littered(ctx context.Context) (bool, error)
}

// Swept is what a sweep did.
type Swept struct {
	// Gone counts the staged names that were taken away.
	Gone int `json:"gone"`
	// Kept are the paths under which content stands now that somebody else wrote.
	Kept []string `json:"kept,omitempty"`
}

// Held is a folder under its lock, which goes with the process (field/review-agent.md C51). The steps of one effect are Stage, the INTENT
// of the caller with a last Check, Apply, EXECUTED of the caller, Finish; after a crash Prove, and then what it asks for.
type Held interface {
	// Stage makes ready, durably, and changes nothing that can be seen. *StaleError where the target is not c.Before.
	Stage(ctx context.Context, c Change) (Staged, error)
	// Check says whether the target is still what was staged for. Apply does not rely on it.
	Check(ctx context.Context, s Staged) error
	// Apply makes the effect durable. It does not end early once the first name has changed.
	Apply(ctx context.Context, s Staged) Outcome
	// Prove tells whether an Apply that was cut off by a crash happened, and finishes an exchange that was being taken back.
	Prove(ctx context.Context, s Staged) Outcome
	// Finish takes away what is left under the staged name. kept is where content stands that somebody wrote there meanwhile.
	Finish(ctx context.Context, s Staged) (kept string, err error)
	// Sweep takes away all staged names. It may be called when every INTENT of a change, of any session and under whatever name of a folder, is
	// settled. unproven are what was staged, here or elsewhere, for those of which nobody knows what became: they are finished (Finish), since
	// content of others may stand under their names.
	Sweep(ctx context.Context, unproven []Staged) (Swept, error)
	// Unlock gives the folder back.
	Unlock() error
}
