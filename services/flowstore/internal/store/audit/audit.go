// Package audit looks through a tree of text files for what flowstore passes over, leaves out or cannot read, and mends what
// is derived or certain.
//
// A look needs no lock and writes nothing: the service may be running, the volume may be read-only. Mending is for a tree
// that no process works on. Nothing is ever deleted: what is mended, or moved away, is copied first.
package audit

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// Kind is what is wrong. The set is closed; docs/check.md has a row for each.
type Kind string

// The kinds, in the order of reports.
const (
	// Unreadable is a file of ours that is no node, flow or config, or that may not be read.
	Unreadable Kind = "unreadable"
	// ConflictMarkers is one that holds the lines git leaves where it could not merge (cases/flowstore.md 32).
	ConflictMarkers Kind = "conflict_markers"
	// NULFile is one of nothing but NUL bytes, as a power cut leaves it (cases/flowstore.md 31).
	NULFile Kind = "nul_file"
	// MissingNode is a node of a flow that no file holds (cases/flowstore.md 4).
	MissingNode Kind = "missing_node"
	// DanglingEdge leads from or to an index that no node of the flow has (cases/flowstore.md 4).
	DanglingEdge Kind = "dangling_edge"
	// Cycle is an edge that closes one (field/flowstore.md row 20).
	Cycle Kind = "cycle"
	// BadCurrent is a reader's place that is not there (cases/flowstore.md 4).
	BadCurrent Kind = "bad_current"
	// BadEntry is anything else in a flow file that is left out (field/flowstore.md row 21).
	BadEntry Kind = "bad_entry"
	// DuplicateID is a file with the id of a better one (cases/flowstore.md 17).
	DuplicateID Kind = "duplicate_id"
	// WrongName is a file among ours that has no name of ours (field/flowstore.md row 3).
	WrongName Kind = "wrong_name"
	// UnknownFolder is a folder in a place where flowstore reads none.
	UnknownFolder Kind = "unknown_folder"
	// Irregular is a symbolic link, a pipe or the like where a file or folder should be.
	Irregular Kind = "irregular"
	// IndexMissing is an index.tsv that is not there, or has no row of a file.
	IndexMissing Kind = "index_missing"
	// IndexDead is a row of a file that is gone (field/flowstore.md row 15).
	IndexDead Kind = "index_dead"
	// IndexWrong is a row with another id or time than its file.
	IndexWrong Kind = "index_wrong"
	// IndexLine is a line of an index that is no row, such as a torn one (cases/flowstore.md 31).
	IndexLine Kind = "index_line"
	// TemporaryFile is what a process that was killed left of a file that it was writing.
	TemporaryFile Kind = "temporary_file"
	// LineEnds are carriage returns that an editor or git put into a file (cases/flowstore.md 25).
	LineEnds Kind = "line_ends"
)

// Kinds are all kinds, in the order of reports.
var Kinds = []Kind{
	Unreadable, ConflictMarkers, NULFile, MissingNode, DanglingEdge, Cycle, BadCurrent, BadEntry, DuplicateID, WrongName,
	UnknownFolder, Irregular, IndexMissing, IndexDead, IndexWrong, IndexLine, TemporaryFile, LineEnds,
}

// Mending says whether Mend does something about a finding.
type Mending string

// What Mend does.
const (
	// ByPerson: somebody has to decide.
	ByPerson Mending = "person"
	// ByRepair: what is right is certain.
	ByRepair Mending = "repair"
	// ByRepairAsked: what would be right is a guess, and done where it is asked for by name.
	ByRepairAsked Mending = "repair_if_asked"
)

// Finding is one thing that is wrong.
type Finding struct {
	// Path is of the file, seen from the folder of the namespace.
	Path string `json:"path"`
	// Line counts from 1; 0 where the whole file is meant.
	Line int  `json:"line,omitempty"`
	Kind Kind `json:"kind"`
	// Reason and Fix are a sentence each, to be read behind the path.
	Reason string  `json:"reason"`
	Fix    string  `json:"fix"`
	By     Mending `json:"by"`

	// stamp is the time of a file that may be on its way: if it changed, somebody works on it.
	stamp int64
}

func (f Finding) compare(g Finding) int {
	return cmp.Or(
		cmp.Compare(slices.Index(Kinds, f.Kind), slices.Index(Kinds, g.Kind)), strings.Compare(f.Path, g.Path),
		cmp.Compare(f.Line, g.Line), strings.Compare(f.Reason, g.Reason),
	)
}

// Report is what a look found.
type Report struct {
	// Findings by kind, path and line; at most Options.Most of each kind.
	Findings []Finding
	// More says how many of each kind there are beside.
	More map[Kind]int
	// Nodes and Flows count the files with names of ours, those in the trash too.
	Nodes, Flows int

	tree *tree
}

// Clean says that nothing was found.
func (r Report) Clean() bool { return len(r.Findings) == 0 }

// Progress says how far a look is. Read rises to Files; Files rises as folders are listed.
type Progress struct{ Read, Files int }

// DefaultMost is how many findings of a kind a look tells.
const DefaultMost = 1000

// Options are how to look; the zero value is a look at a tree that nobody works on.
type Options struct {
	// Most is how many findings of a kind are told, also of one file; 0 is DefaultMost.
	Most int
	// Progress is told how far the look is, by one goroutine at a time; it keeps the look waiting. nil: nobody.
	Progress func(Progress)
	// Pause waits a moment, or until ctx ends. A running service writes one file after another, so what depends on two
	// files, or on one that may be on its way, counts only when it is still so behind a pause. nil: one look is enough.
	Pause func(ctx context.Context) error
}

// Look looks through the tree of a namespace. Whatever is wrong with a file is a finding; the error is that of ctx or Pause.
// It keeps some 250 bytes a file, and reads up to 16 files at once, of at most 128 MiB together.
func Look(ctx context.Context, fsys filesys.FS, o Options) (Report, error) {
	o.Most = cmp.Or(o.Most, DefaultMost)
	t := &tree{fsys: fsys, options: o}
	first, err := t.look(ctx)
	if err != nil || o.Pause == nil || !slices.ContainsFunc(first.Findings, maybeUnderWay) {
		return first, err
	}
	if err := o.Pause(ctx); err != nil {
		return Report{}, err
	}
	again, err := t.look(ctx)
	if err != nil {
		return Report{}, err
	}
	was := make(map[Finding]bool, len(first.Findings))
	for _, f := range first.Findings {
		was[f] = true
	}
	again.Findings = slices.DeleteFunc(again.Findings, func(f Finding) bool { return !was[f] })
	return again, nil
}

// maybeUnderWay says that a finding may be gone when a running service has written what it is writing.
func maybeUnderWay(f Finding) bool {
	switch f.Kind {
	case MissingNode, DuplicateID, IndexMissing, IndexDead, IndexWrong, IndexLine, TemporaryFile:
		return true
	}
	return false
}

// collector keeps findings within a bound.
type collector struct {
	most  int
	found []Finding
	kept  map[Kind]int
	more  map[Kind]int
}

func newCollector(most int) *collector {
	return &collector{most: most, kept: map[Kind]int{}, more: map[Kind]int{}}
}

func (c *collector) add(findings ...Finding) {
	for _, f := range findings {
		if c.kept[f.Kind] >= c.most {
			c.more[f.Kind]++
			continue
		}
		c.kept[f.Kind]++
		c.found = append(c.found, f)
	}
}

// addAll adds what another one found.
func (c *collector) addAll(other *collector) {
	c.add(other.found...)
	for kind, n := range other.more {
		c.more[kind] += n
	}
}

// place is a folder in which files of one kind are.
type place struct {
	folder string
	kind   format.Kind
	trash  bool
}

// places in the order in which they are looked at: nodes first, so that flows know which there are.
var places = []place{
	{"nodes", format.Nodes, false}, {"trash/nodes", format.Nodes, true},
	{"flows", format.Flows, false}, {"trash/flows", format.Flows, true},
}
