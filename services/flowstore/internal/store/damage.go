package store

// Damage is a kind of thing that is wrong with what is stored. The set is closed; docs/check.md has a row for each.
type Damage string

// The kinds, in the order of reports.
const (
	// DamageUnreadable is a file of ours that is no node, flow or config, or that may not be read.
	DamageUnreadable Damage = "unreadable"
	// DamageConflict is one that holds the lines git leaves where it could not merge (cases/flowstore.md 32).
	DamageConflict Damage = "conflict_markers"
	// DamageNUL is one of nothing but NUL bytes, as a power cut leaves it (cases/flowstore.md 31).
	DamageNUL Damage = "nul_file"
	// DamageMissingNode is a node of a flow that no file holds (cases/flowstore.md 4).
	DamageMissingNode Damage = "missing_node"
	// DamageDanglingEdge leads from or to an index that no node of the flow has (cases/flowstore.md 4).
	DamageDanglingEdge Damage = "dangling_edge"
	// DamageCycle is an edge that closes one (field/flowstore.md row 20).
	DamageCycle Damage = "cycle"
	// DamageCurrent is a reader's place that is not there (cases/flowstore.md 4).
	DamageCurrent Damage = "bad_current"
	// DamageHead is a named branch that stands at no node of the flow.
	DamageHead Damage = "dangling_head"
	// DamageLink begins at no node of the flow, or leads to a flow that no file holds.
	DamageLink Damage = "dangling_link"
	// DamageEntry is anything else in a flow file that is left out (field/flowstore.md row 21).
	DamageEntry Damage = "bad_entry"
	// DamageDuplicateID is a file with the id of a better one, or one in the trash with the id of one in the tree (cases/flowstore.md 17).
	DamageDuplicateID Damage = "duplicate_id"
	// DamageTrashName is a file in the trash under whose name another one stands in the tree: two branches gave the name to both.
	DamageTrashName Damage = "trash_name"
	// DamagePurged is a file that holds what was purged: git or a backup brought it back.
	DamagePurged Damage = "purged_is_back"
	// DamageTombstones is a line of tombstones.tsv that is no row.
	DamageTombstones Damage = "tombstone_line"
	// DamageName is a file among ours that has no name of ours (field/flowstore.md row 3).
	DamageName Damage = "wrong_name"
	// DamageFolder is a folder in a place where none is read.
	DamageFolder Damage = "unknown_folder"
	// DamageIrregular is a symbolic link, a pipe or the like where a file or folder should be.
	DamageIrregular Damage = "irregular"
	// DamageIndexMissing is an index.tsv that is not there, or has no row of a file.
	DamageIndexMissing Damage = "index_missing"
	// DamageIndexDead is a row of a file that is gone (field/flowstore.md row 15).
	DamageIndexDead Damage = "index_dead"
	// DamageIndexWrong is a row with another id or time than its file, or of a file that holds what was purged.
	DamageIndexWrong Damage = "index_wrong"
	// DamageIndexLine is a line of an index that is no row, such as a torn one (cases/flowstore.md 31).
	DamageIndexLine Damage = "index_line"
	// DamageTemporary is what a process that was killed left of a file that it was writing.
	DamageTemporary Damage = "temporary_file"
	// DamageLineEnds are carriage returns that an editor or git put into a file (cases/flowstore.md 25).
	DamageLineEnds Damage = "line_ends"
)

// Damages are all kinds, in the order of reports.
var Damages = []Damage{
	DamageUnreadable, DamageConflict, DamageNUL, DamageMissingNode, DamageDanglingEdge, DamageCycle, DamageCurrent,
	DamageHead, DamageLink, DamageEntry,
	DamageDuplicateID, DamageTrashName, DamagePurged, DamageTombstones, DamageName, DamageFolder, DamageIrregular, DamageIndexMissing, DamageIndexDead, DamageIndexWrong,
	DamageIndexLine, DamageTemporary, DamageLineEnds,
}

// Mending says who can do something about a finding.
type Mending string

// Who can.
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
	Line int    `json:"line,omitempty"`
	Kind Damage `json:"kind"`
	// Reason and Fix are a sentence each, to be read behind the path.
	Reason string  `json:"reason"`
	Fix    string  `json:"fix"`
	By     Mending `json:"by"`
}

// Look is what a look through everything found.
type Look struct {
	// Findings by kind, path and line; a bounded number of each kind.
	Findings []Finding
	// More says how many of each kind there are beside.
	More map[Damage]int
	// Nodes and Flows count the files with names of ours, those in the trash too.
	Nodes, Flows int
}

// Clean says that nothing was found.
func (l Look) Clean() bool { return len(l.Findings) == 0 }
