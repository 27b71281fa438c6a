package format

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// Slots is how many files of a kind a namespace holds (seed 004, 8.4).
const Slots = 1_000_000

// Kind is what a file holds.
type Kind string

// The kinds, with the folder of each.
const (
	Nodes Kind = "nodes"
	Flows Kind = "flows"
)

func (k Kind) extension() string {
	if k == Nodes {
		return ".xml"
	}
	return ".yaml"
}

// Step is how many files the folders of a tree take at first, and by how many more when as many folders are full
// (`settings.max_files_per_folder`). NewStep makes one.
type Step int

// DefaultStep is that of a tree whose config.yaml says nothing (seed 004, 6.3 and 8.1).
const DefaultStep Step = 100

// lastStep is how many files a folder takes, and how many folders there are, at the end: their names have three digits.
const lastStep = 1000

// NewStep gives the step of n files; the error says which there are. It must divide 1,000, so that the last round ends at
// 999/999.
func NewStep(n int) (Step, error) {
	if n < 1 || lastStep%max(n, 1) != 0 {
		return 0, unreadable("is %d; it must divide %d, such as 50, 100, 200, 250, 500 or %d", n, lastStep, lastStep)
	}
	return Step(n), nil
}

// SlotPath gives the path of the n-th file within its kind's folder in a tree of DefaultStep; as SlotPath of a Step.
func (k Kind) SlotPath(n int) string { return DefaultStep.SlotPath(k, n) }

// SlotPath gives the path of the n-th file within its kind's folder, such as `000/042.xml`; n counts from 0 to Slots-1.
//
// With a step of 100, folders take 100 files each; when 100 folders are full, 200 each, and so on to 1,000 folders of 1,000
// (seed 004, 8.1; field/flowstore.md row 2). With L the limit of the round in which n falls, the slots of all rounds before
// are (L-step)^2; the round first fills up the folders that are there, then opens new ones.
func (s Step) SlotPath(k Kind, n int) string {
	step := int(s)
	limit := step * (int(math.Sqrt(float64(n)))/step + 1)
	before := limit - step
	var folder, file int
	if rest := n - before*before; rest < before*step {
		folder, file = rest/step, before+rest%step
	} else {
		rest -= before * step
		folder, file = before+rest/limit, rest%limit
	}
	return fmt.Sprintf("%03d/%03d%s", folder, file, k.extension())
}

// FileName is the name of a node or flow file, taken apart. Its order is the order in which files are gone through.
type FileName struct{ Folder, File int }

// ParseName takes a path within the kind's folder apart. ok is false for every file that is not one of ours: backups,
// halves of conflicts, dot files (field/flowstore.md row 3). Two digits are read, three are written.
func (k Kind) ParseName(path string) (name FileName, ok bool) {
	folder, rest, _ := strings.Cut(path, "/")
	file, ours := strings.CutSuffix(rest, k.extension())
	name.Folder, ok = digits(folder)
	if !ours || !ok {
		return FileName{}, false
	}
	name.File, ok = digits(file)
	return name, ok
}

// digits reads 2 to 9 digits and nothing else.
func digits(text string) (n int, ok bool) {
	if len(text) < 2 || len(text) > 9 {
		return 0, false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = n*10 + int(text[i]-'0')
	}
	return n, true
}

// Slot is the inverse of SlotPath in a tree of DefaultStep; as Slot of a Step.
func (f FileName) Slot() (n int, ok bool) { return DefaultStep.Slot(f) }

// Slot is the inverse of SlotPath; ok is false for names beyond 999/999, which no slot has. Every name has a slot of its
// own by every step: where the step was changed, what comes behind the highest slot in use is free.
func (s Step) Slot(f FileName) (n int, ok bool) {
	if f.Folder >= lastStep || f.File >= lastStep {
		return 0, false
	}
	step := int(s)
	before := max(f.Folder, f.File) / step * step
	if f.Folder < before {
		return before*before + f.Folder*step + f.File - before, true
	}
	return before*before + before*step + (f.Folder-before)*(before+step) + f.File, true
}

// Compare orders by number, folder first.
func (f FileName) Compare(other FileName) int {
	return cmp.Or(cmp.Compare(f.Folder, other.Folder), cmp.Compare(f.File, other.File))
}
