package format_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// Folders of 100 files each, then of 200 and so on: the values of field/flowstore.md row 2.
func TestSlotPath(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		0: "000/000.xml", 99: "000/099.xml", 100: "001/000.xml", 9999: "099/099.xml", 10000: "000/100.xml", 19999: "099/199.xml",
		20000: "100/000.xml", 39999: "199/199.xml", 40000: "000/200.xml", 999999: "999/999.xml",
	} {
		if got := format.Nodes.SlotPath(n); got != want {
			t.Errorf("slot %d is %s, want %s", n, got, want)
		}
	}
	if got := format.Flows.SlotPath(7); got != "000/007.yaml" {
		t.Errorf("flow slot 7 is %s", got)
	}
}

func TestEverySlotHasItsOwnName(t *testing.T) {
	t.Parallel()
	for _, step := range []format.Step{1, format.DefaultStep, 250} {
		t.Run(strconv.Itoa(int(step)), func(t *testing.T) {
			t.Parallel()
			for n := range format.Slots {
				name, ok := format.Nodes.ParseName(step.SlotPath(format.Nodes, n))
				if back, inRange := step.Slot(name); !ok || !inRange || back != n {
					t.Fatalf("slot %d is %s, which is slot %d", n, step.SlotPath(format.Nodes, n), back)
				}
			}
		})
	}
}

// The step is how many files a folder takes until as many folders are full.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step format.Step
		n    int
		want string
	}{{50, 49, "000/049.xml"}, {50, 50, "001/000.xml"}, {50, 2500, "000/050.xml"}, {50, 5000, "050/000.xml"}, {1000, 999, "000/999.xml"}, {1000, 1000, "001/000.xml"}} {
		if got := c.step.SlotPath(format.Nodes, c.n); got != c.want {
			t.Errorf("slot %d by %d is %s, want %s", c.n, c.step, got, c.want)
		}
	}
	for _, n := range []int{-1, 0, 3, 99, 101, 1001, 2000} {
		if _, err := format.NewStep(n); err == nil {
			t.Errorf("%d is a step", n)
		}
	}
}

// Backups and halves of conflicts are no nodes (field/flowstore.md row 3).
func TestParseName(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]format.FileName{
		"000/000.xml": {}, "00/07.xml": {File: 7}, "012/345.xml": {Folder: 12, File: 345}, "1000/000.xml": {Folder: 1000},
	} {
		if got, ok := format.Nodes.ParseName(path); got != want || !ok {
			t.Errorf("%s: %v, %v", path, got, ok)
		}
	}
	for _, path := range []string{
		"", "000", "000/", "/000.xml", "000/000.xml.bak", "000/000.xml~", "000/.000.xml", "000/000.yaml", "0/000.xml", "000/0.xml", "a00/000.xml",
		"000/000/000.xml", "000/000 (conflicted copy).xml", "000/000.sync-conflict.xml", "000/+00.xml", "-00/000.xml", "000/000.XML",
		"000/0000000000.xml", "000/０００.xml", "index.tsv", "../000/000.xml", "000/000.xml\n",
	} {
		if _, ok := format.Nodes.ParseName(path); ok {
			t.Errorf("%q was taken for a node file", path)
		}
	}
	if _, ok := (format.FileName{Folder: 1000}).Slot(); ok {
		t.Error("1000/000 has no slot")
	}
}

func TestFilesAreGoneThroughByNumber(t *testing.T) {
	t.Parallel()
	names := []format.FileName{{Folder: 2}, {Folder: 10}, {Folder: 1, File: 100}, {Folder: 1, File: 20}}
	slices.SortFunc(names, format.FileName.Compare)
	if want := []format.FileName{{Folder: 1, File: 20}, {Folder: 1, File: 100}, {Folder: 2}, {Folder: 10}}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
}
