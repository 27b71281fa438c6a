package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// rule is what to do about a kind, and what headings call it.
type rule struct {
	title, fix string
	by         Mending
}

const (
	fixFlow  = "correct the entry in an editor; until then it is left out and stays in the file"
	fixIndex = "nothing is lost: repair writes the index from the files, and so does flowstore when it starts"
)

var rules = map[Kind]rule{
	Unreadable: {
		"files that cannot be read",
		"correct it in an editor, or bring it back from git or a backup; until then it is not touched and its name not used again", ByPerson,
	},
	ConflictMarkers: {"files that git could not merge", "run `flowstore resolve`, or take one side with `git checkout --ours` or `--theirs`", ByPerson},
	NULFile:         {"files of nothing but NUL bytes", "bring it back from git or a backup: what it held is not in it", ByPerson},
	MissingNode:     {"nodes of flows that are not there", "bring the file back from git or a backup, or take the entry out of the flow", ByPerson},
	DanglingEdge:    {"edges that lead nowhere", fixFlow, ByPerson},
	Cycle:           {"edges that close a cycle", "take one connection of the cycle out of the file; until then this one is left out of paths", ByPerson},
	BadCurrent:      {"places of the reader that are not there", "set current in the file, or let `repair --current` write what is taken for it", ByRepairAsked},
	BadEntry:        {"entries of flow files that are left out", fixFlow, ByPerson},
	DuplicateID:     {"files behind another one with the same id", "keep it as an earlier version, give it an id of its own, or move it out of the tree", ByPerson},
	WrongName:       {"files with other names than ours", "flowstore leaves it alone: move it out of the tree, or give it a free name if it should count", ByPerson},
	UnknownFolder:   {"folders that are not looked into", "flowstore leaves it alone: move it out, or give it a name of ours if its files should count", ByPerson},
	Irregular:       {"links and the like", "put the file itself there", ByPerson},
	IndexMissing:    {"files without a row in index.tsv", fixIndex, ByRepair},
	IndexDead:       {"rows of index.tsv whose file is gone", fixIndex, ByRepair},
	IndexWrong:      {"rows of index.tsv that say something else than the file", fixIndex, ByRepair},
	IndexLine:       {"lines of index.tsv that are no rows", fixIndex, ByRepair},
	TemporaryFile:   {"leftovers of files that were being written", "repair moves it away; what was acknowledged is in its file or in local.db", ByRepair},
	LineEnds:        {"files with other line ends", "repair writes line feeds; `*.xml text eol=lf` in .gitattributes keeps git from changing them", ByRepair},
}

// Title is what a report calls findings of a kind.
func (k Kind) Title() string { return rules[k].title }

func finding(kind Kind, file, reason string) Finding {
	r := rules[kind]
	return Finding{Path: file, Kind: kind, Reason: reason, Fix: r.fix, By: r.by}
}

func wrongName(p place, file string) Finding {
	return finding(WrongName, file, fmt.Sprintf("has no name such as %s", p.kind.SlotPath(0)))
}

func unknownFolder(folder string) Finding {
	return finding(UnknownFolder, folder, "is no folder such as 000 in which files of ours are")
}

// cannotRead tells of what the file system does not give.
func cannotRead(file string, err error) Finding {
	f := finding(Unreadable, file, "cannot be read: "+err.Error())
	switch {
	case errors.Is(err, fs.ErrPermission):
		f.Fix = "give the user that runs flowstore the right to read it"
	case errors.Is(err, filesys.ErrTooLarge):
		f.Fix = "make it smaller, or split it"
	}
	return f
}

// damaged tells of a file that was read and is none of ours.
func damaged(file string, data []byte, err error) Finding {
	switch {
	case len(data) > 0 && len(bytes.Trim(data, "\x00")) == 0:
		return finding(NULFile, file, fmt.Sprintf("is %d NUL bytes, as a power cut leaves a file that was not synced", len(data)))
	case marked(data):
		return finding(ConflictMarkers, file, "holds the lines that git leaves where it could not merge")
	}
	return finding(Unreadable, file, err.Error())
}

// marked says whether git left a conflict in a file. Only files that cannot be read are asked: in the text of a node such
// lines may be what somebody wrote.
func marked(data []byte) bool {
	begun := false
	for line := range bytes.Lines(data) {
		switch {
		case bytes.HasPrefix(line, []byte("<<<<<<< ")):
			begun = true
		case bytes.HasPrefix(line, []byte(">>>>>>> ")) && begun:
			return true
		}
	}
	return false
}

// isMarker says whether a line is one that git leaves in a conflict.
func isMarker(line string) bool {
	return strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") || strings.HasPrefix(line, "||||||| ") || line == "======="
}
