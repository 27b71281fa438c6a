package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// rule is what to do about a kind, and what headings call it.
type rule struct {
	title, fix string
	by         store.Mending
}

const (
	fixFlow  = "correct the entry in an editor; until then it is left out and stays in the file"
	fixIndex = "nothing is lost: repair writes the index from the files, and so does flowstore when it starts"
)

var rules = map[store.Damage]rule{
	store.DamageUnreadable: {
		"files that cannot be read",
		"correct it in an editor, or bring it back from git or a backup; until then it is not touched and its name not used again", store.ByPerson,
	},
	store.DamageConflict:     {"files that git could not merge", "run `flowstore resolve`, or take one side with `git checkout --ours` or `--theirs`", store.ByPerson},
	store.DamageNUL:          {"files of nothing but NUL bytes", "bring it back from git or a backup: what it held is not in it", store.ByPerson},
	store.DamageMissingNode:  {"nodes of flows that are not there", "bring the file back from git or a backup, or take the entry out of the flow", store.ByPerson},
	store.DamageDanglingEdge: {"edges that lead nowhere", fixFlow, store.ByPerson},
	store.DamageCycle:        {"edges that close a cycle", "take one connection of the cycle out of the file; until then this one is left out of paths", store.ByPerson},
	store.DamageCurrent:      {"places of the reader that are not there", "set current in the file, or let `repair --current` write what is taken for it", store.ByRepairAsked},
	store.DamageHead:         {"named branches that stand nowhere", fixFlow, store.ByPerson},
	store.DamageLink:         {"links that lead nowhere", "bring the file of the flow back from git or a backup, or take the link out of this one", store.ByPerson},
	store.DamageEntry:        {"entries of flow files that are left out", fixFlow, store.ByPerson},
	store.DamageDuplicateID:  {"files behind another one with the same id", "keep it as an earlier version, give it an id of its own, or move it out of the tree", store.ByPerson},
	store.DamageTrashName:    {"files in the trash under whose name another one stands", "nothing is lost: repair gives it a free name in the trash", store.ByRepair},
	store.DamagePurged:       {"purged nodes and flows that are back", "take the file away, or its row out of tombstones.tsv if it is to stay", store.ByPerson},
	store.DamageTombstones:   {"lines of tombstones.tsv that are no rows", "correct the line: nothing else knows what was purged", store.ByPerson},
	store.DamageName:         {"files with other names than ours", "flowstore leaves it alone: move it out of the tree, or give it a free name if it should count", store.ByPerson},
	store.DamageFolder:       {"folders that are not looked into", "flowstore leaves it alone: move it out, or give it a name of ours if its files should count", store.ByPerson},
	store.DamageIrregular:    {"links and the like", "put the file itself there", store.ByPerson},
	store.DamageIndexMissing: {"files without a row in index.tsv", fixIndex, store.ByRepair},
	store.DamageIndexDead:    {"rows of index.tsv whose file is gone", fixIndex, store.ByRepair},
	store.DamageIndexWrong:   {"rows of index.tsv that say something else than the file", fixIndex, store.ByRepair},
	store.DamageIndexLine:    {"lines of index.tsv that are no rows", fixIndex, store.ByRepair},
	store.DamageTemporary:    {"leftovers of files that were being written", "repair moves it away; what was acknowledged is in its file or in local.db", store.ByRepair},
	store.DamageLineEnds:     {"files with other line ends", "repair writes line feeds; `*.xml text eol=lf` in .gitattributes keeps git from changing them", store.ByRepair},
}

// Title is what a report calls findings of a kind.
func Title(k store.Damage) string { return rules[k].title }

func finding(kind store.Damage, file, reason string) store.Finding {
	r := rules[kind]
	return store.Finding{Path: file, Kind: kind, Reason: reason, Fix: r.fix, By: r.by}
}

func wrongName(p place, file string) store.Finding {
	return finding(store.DamageName, file, fmt.Sprintf("has no name such as %s", p.kind.SlotPath(0)))
}

func unknownFolder(folder string) store.Finding {
	return finding(store.DamageFolder, folder, "is no folder such as 000 in which files of ours are")
}

// cannotRead tells of what the file system does not give.
func cannotRead(file string, err error) store.Finding {
	f := finding(store.DamageUnreadable, file, "cannot be read: "+err.Error())
	switch {
	case errors.Is(err, fs.ErrPermission):
		f.Fix = "give the user that runs flowstore the right to read it"
	case errors.Is(err, filesys.ErrTooLarge):
		f.Fix = "make it smaller, or split it"
	}
	return f
}

// damaged tells of a file that was read and is none of ours.
func damaged(file string, data []byte, err error) store.Finding {
	switch {
	case format.Torn(data):
		return finding(store.DamageNUL, file, fmt.Sprintf("is %d NUL bytes, as a power cut leaves a file that was not synced", len(data)))
	case marked(data):
		return finding(store.DamageConflict, file, "holds the lines that git leaves where it could not merge")
	}
	return finding(store.DamageUnreadable, file, err.Error())
}

// damagedConfig tells of a config.yaml that cannot be gone by.
func damagedConfig(data []byte, err error) store.Finding {
	f := damaged(configName, data, err)
	if f.Kind == store.DamageUnreadable {
		f.Fix = "correct it in an editor, or bring it back from git or a backup; until then the namespace is not opened"
	}
	return f
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
