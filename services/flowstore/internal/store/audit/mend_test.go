package audit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/audit"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

const stamp = "20260401T093000Z"

func (w world) mend(r audit.Report) {
	w.t.Helper()
	if err := audit.Mend(w.FS, audit.Plan(r, audit.PlanOptions{}), stamp); err != nil {
		w.t.Fatal(err)
	}
}

func TestMendLeavesOnlyWhatNeedsAPerson(t *testing.T) {
	t.Parallel()
	w := everyKind(t)
	before := w.files()
	r := w.look(audit.Options{})
	steps := audit.Plan(r, audit.PlanOptions{})
	if err := audit.Mend(w.FS, steps, stamp); err != nil {
		t.Fatal(err)
	}
	for _, f := range w.look(audit.Options{}).Findings {
		if f.By == store.ByRepair {
			t.Errorf("%s %s: %s is left", f.Kind, f.Path, f.Reason)
		}
	}
	after := w.files()
	for _, s := range steps {
		if kept := after[audit.RepairFolder+"/"+stamp+"/"+s.Path]; kept != before[s.Path] {
			t.Errorf("of %s was kept %q, and it was %q", s.Path, kept, before[s.Path])
		}
	}
	for name, text := range before {
		planned := slices.ContainsFunc(steps, func(s audit.Step) bool { return s.Path == name })
		if !planned && after[name] != text {
			t.Errorf("%s was changed without a plan", name)
		}
	}
	if again := audit.Plan(w.look(audit.Options{}), audit.PlanOptions{}); len(again) > 0 {
		t.Errorf("a second repair would do %v", again)
	}
	if diff := cmp.Diff([]string{"flows/000/000.yaml"}, paths(audit.Plan(r, audit.PlanOptions{Current: true})), cmp.Transformer("flows", onlyFlows)); diff != "" {
		t.Error(diff)
	}
}

func paths(steps []audit.Step) (list []string) {
	for _, s := range steps {
		list = append(list, s.Path)
	}
	return list
}

func onlyFlows(list []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(list), func(p string) bool { return !strings.HasPrefix(p, "flows/") }), " ")
}

// TestMendCurrent: only when asked, with line ends, and with what a person wrote beside it.
func TestMendCurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("flows/000/000.yaml", "nodes:", "# my place\ncurrent: 99\nmine: 1\nnodes:")
	w.put("flows/000/000.yaml", strings.ReplaceAll(w.get("flows/000/000.yaml"), "\n", "\r\n"))
	r := w.finds("bad_current flows/000/000.yaml", "line_ends flows/000/000.yaml")
	if err := audit.Mend(w.FS, audit.Plan(r, audit.PlanOptions{Current: true}), stamp); err != nil {
		t.Fatal(err)
	}
	w.finds()
	if got := w.get("flows/000/000.yaml"); !strings.Contains(got, "# my place\ncurrent: 4\nmine: 1\n") || strings.Contains(got, "\r") {
		t.Errorf("the flow is\n%s", got)
	}
}

func TestMendKeepsItsFolderToItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remove("nodes/index.tsv")
	r := w.look(audit.Options{})
	w.put(audit.RepairFolder+"/"+stamp+"/nodes/index.tsv", "of an earlier repair")
	if err := audit.Mend(w.FS, audit.Plan(r, audit.PlanOptions{}), stamp); err == nil {
		t.Error("it wrote into the folder of another repair")
	}
}

// TestPowerCutWhileMending cuts the power before each step of a repair: what was there is there, in its place or kept.
func TestPowerCutWhileMending(t *testing.T) {
	t.Parallel()
	source := everyKind(t)
	before := source.files()
	for n, done := 1, false; !done; n++ {
		disk := powercut.New(nil)
		fill(t, disk, before)
		r := world{t: t, FS: disk}.look(audit.Options{})
		start := disk.Steps()
		disk.SetHook(powercut.CutAt(start + n))
		err := audit.Mend(disk, audit.Plan(r, audit.PlanOptions{Current: true}), stamp)
		if err == nil {
			done = true
		} else if !errors.Is(err, powercut.ErrCut) {
			t.Fatal(err)
		}
		for seed := range uint64(3) {
			left := disk.Survivor(seed, nil)
			for name, text := range before {
				if in(left, name) != text && in(left, audit.RepairFolder+"/"+stamp+"/"+name) != text {
					t.Fatalf("cut before step %d, seed %d: %s is neither as it was nor kept", n, seed, name)
				}
			}
		}
	}
}

func fill(t *testing.T, disk filesys.FS, all map[string]string) {
	t.Helper()
	for _, name := range sortedKeys(all) {
		folder := ""
		for part := range strings.SplitSeq(name, "/") {
			if folder != "" {
				if err := filesys.EnsureDir(disk, folder); err != nil {
					t.Fatal(err)
				}
			}
			folder = strings.TrimPrefix(folder+"/"+part, "/")
		}
		if err := filesys.Replace(disk, name, []byte(all[name])); err != nil {
			t.Fatal(err)
		}
		parent := "."
		if i := strings.LastIndex(name, "/"); i > 0 {
			parent = name[:i]
		}
		if err := disk.SyncDir(parent); err != nil {
			t.Fatal(err)
		}
	}
}

func in(disk filesys.FS, name string) string {
	data, err := disk.ReadFile(name, 1<<20)
	if err != nil {
		return ""
	}
	return string(data)
}

// TestLookOnlyReads: so it works on a read-only volume.
func TestLookOnlyReads(t *testing.T) {
	t.Parallel()
	disk := powercut.New(nil)
	fill(t, disk, everyKind(t).files())
	disk.SetHook(func(s powercut.Step) error {
		if s.Op.Changes() {
			t.Errorf("it does %s %s", s.Op, s.Name)
		}
		return nil
	})
	if r := (world{t: t, FS: disk}).look(audit.Options{}); r.Clean() {
		t.Error("it found nothing")
	}
}
