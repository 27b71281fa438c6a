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

// SlotPath gives the path of the n-th file within its kind's folder, such as `000/042.xml`; n counts from 0 to Slots-1.
//
// Folders take 100 files each; when 100 folders are full, 200 each, and so on to 1,000 folders of 1,000 (seed 004, 8.1;
// field/flowstore.md row 2). With L the limit of the round in which n falls, the slots of all rounds before are
// (L-100)^2; the round first fills up the folders that are there, then opens new ones.
func (k Kind) SlotPath(n int) string {
	limit := 100 * (int(math.Sqrt(float64(n)))/100 + 1)
	before := limit - 100
	var folder, file int
	if rest := n - before*before; rest < before*100 {
		folder, file = rest/100, before+rest%100
	} else {
		rest -= before * 100
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

// Slot is the inverse of SlotPath; ok is false for names beyond 999/999, which no slot has.
func (f FileName) Slot() (n int, ok bool) {
	if f.Folder > 999 || f.File > 999 {
		return 0, false
	}
	before := max(f.Folder, f.File) / 100 * 100
	if f.Folder < before {
		return before*before + f.Folder*100 + f.File - before, true
	}
	return before*before + before*100 + (f.Folder-before)*(before+100) + f.File, true
}

// Compare orders by number, folder first.
func (f FileName) Compare(other FileName) int {
	return cmp.Or(cmp.Compare(f.Folder, other.Folder), cmp.Compare(f.File, other.File))
}
