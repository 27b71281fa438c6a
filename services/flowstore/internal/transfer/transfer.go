// Package transfer reads conversations that other programs exported, and writes and reads our own export: bytes to nodes and
// flows, and back.
//
// Pure: it stores nothing. A file is read as it comes, one conversation at a time; what is wrong with one is told, and the next
// is read (field/flowstore.md 2.1).
package transfer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
)

// Limits of what is read.
const (
	// MaxConversation is the longest conversation, and the longest line of our own export, in bytes of JSON.
	MaxConversation = 64 << 20
	// MaxMessages is the most messages of a conversation.
	MaxMessages = 100_000
	// MaxTexts is how much the texts of a conversation's nodes may take together, in bytes: answers to one prompt hold it
	// once each.
	MaxTexts = 128 << 20
	// MaxFile is the longest file, unpacked, in bytes.
	MaxFile = 4 << 30
	// MaxArchive is the longest ZIP archive, in bytes: its list of files stands at its end, so it is held whole.
	MaxArchive = 128 << 20
	// MaxEntries is the most files in an archive.
	MaxEntries = 10_000
	// MaxRatio is how many times its size a file of an archive may unpack to.
	MaxRatio = 250
	// MaxTold is how many failures, and names of files, a report tells; it counts all.
	MaxTold = 1_000
)

// Format is who wrote a file.
type Format string

// The formats.
const (
	// Any: each conversation shows whose it is.
	Any     Format = ""
	ChatGPT Format = "chatgpt"
	Claude  Format = "claude"
	Tsumugi Format = "tsumugi"
)

// FormatError says that bytes are nothing that is read here at all.
type FormatError struct{ Reason string }

func (e *FormatError) Error() string {
	return "this is no export that can be read: " + e.Reason
}

// Bundle is a flow with nodes of it, as they are to be stored.
type Bundle struct {
	// Flow holds its nodes by index; nil: nodes alone. Parents have smaller indexes than what continues them, unless it is of
	// our own export. Times that are zero are those of the import.
	Flow  *flow.Flow
	Nodes []node.Node
	// Left counts what no node holds, by what it is; nil for our own export.
	Left map[string]int
}

// Entry is one thing that was read.
type Entry struct {
	// File is the name of the file in an archive; empty where there is none.
	File string
	// ID is the id of the conversation in the file, where it has one.
	ID string
	// Bundle is nil where Err says what is wrong.
	Bundle *Bundle
	Err    error
	// Ignored says that the file File is none with conversations, and was not read.
	Ignored bool
}

// Count is what became of nodes, or of flows.
type Count struct {
	// Imported are new, Updated have something new, Skipped are as they were.
	Imported, Updated, Skipped int
}

// Failure is a conversation that was not imported.
type Failure struct{ File, ID, Reason string }

// Report is what an import came to.
type Report struct {
	Flows, Nodes Count
	// Left counts messages and parts of messages that no node holds, by what they are.
	Left map[string]int
	// Failures are the first MaxTold of Failed.
	Failures []Failure
	Failed   int
	// Ignored are the first MaxTold names of the IgnoredFiles files of archives that were not read.
	Ignored      []string
	IgnoredFiles int
}

// Fail adds a failure.
func (r *Report) Fail(e Entry, err error) {
	if r.Failed++; len(r.Failures) < MaxTold {
		r.Failures = append(r.Failures, Failure{File: shown(e.File), ID: shown(e.ID), Reason: err.Error()})
	}
}

// Ignore adds a file that was not read.
func (r *Report) Ignore(file string) {
	if r.IgnoredFiles++; len(r.Ignored) < MaxTold {
		r.Ignored = append(r.Ignored, shown(file))
	}
}

// Add adds what a conversation came to.
func (r *Report) Add(flows, nodes Count, left map[string]int) {
	for _, c := range []struct{ sum, one *Count }{{&r.Flows, &flows}, {&r.Nodes, &nodes}} {
		c.sum.Imported += c.one.Imported
		c.sum.Updated += c.one.Updated
		c.sum.Skipped += c.one.Skipped
	}
	if r.Left == nil {
		r.Left = map[string]int{}
	}
	for kind, n := range left {
		r.Left[kind] += n
	}
}

// LeftKinds gives the keys of Left, in order.
func (r *Report) LeftKinds() []string { return slices.Sorted(maps.Keys(r.Left)) }

// shown is as much of a name in a file as a report tells, in valid UTF-8.
func shown(name string) string {
	const most = 256
	return begin(strings.ToValidUTF8(name, "\ufffd"), most)
}

// space is the namespace of the ids of what is imported.
var space = uuid.NewSHA1(uuid.NameSpaceURL, []byte("tsumugi:import"))

// newID is the id of a message of a conversation, or of the conversation where message is empty: the same one each time it is
// imported (field/flowstore.md 2.1).
func newID(kind Format, conversation, message string) uuid.UUID {
	return uuid.NewSHA1(space, fmt.Appendf(nil, "%q %q %q", kind, conversation, message))
}

// title is what a flow is called: what the conversation is, or else how it begins.
func title(c conversation, left map[string]int) string {
	name := begin(c.title, flow.MaxName)
	if len(name) < len(c.title) {
		left["the end of a title over 256 characters"]++
	}
	for _, m := range c.messages {
		if name == "" && m.role != "" {
			const beginning = 60
			name = strings.Join(strings.Fields(begin(m.text, beginning)), " ")
		}
	}
	return cmp.Or(name, string(c.kind))
}

// begin gives at most n characters of a text.
func begin(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}
