package powercut_test

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
)

const seeds = 64

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// outcomes is what the file holds after a cut, over all seeds: each text once, `-` where the file is gone.
func outcomes(t *testing.T, f *powercut.FS, name string) []string {
	t.Helper()
	var seen []string
	for seed := range uint64(seeds) {
		data, err := f.Survivor(seed, nil).ReadFile(name, 1<<20)
		text := string(data)
		if err != nil {
			text = "-"
		}
		if !slices.Contains(seen, text) {
			seen = append(seen, text)
		}
	}
	slices.Sort(seen)
	return seen
}

// disk is the double with its test: every call is expected to work.
type disk struct {
	t *testing.T
	*powercut.FS
}

func (d disk) write(name, text string) filesys.File {
	d.t.Helper()
	f, err := d.Create(name)
	must(d.t, err)
	_, err = f.Write([]byte(text))
	must(d.t, err)
	return f
}

func (d disk) writeSynced(name, text string) {
	d.t.Helper()
	must(d.t, d.write(name, text).Sync())
}

func (d disk) syncDir(name string) {
	d.t.Helper()
	must(d.t, d.SyncDir(name))
}

func TestCutForgets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(d disk)
		want []string
	}{
		{"nothing of what was made durable", func(d disk) {
			d.writeSynced("a", "text")
			d.syncDir(".")
		}, []string{"text"}},
		{"a name without fsync of the folder", func(d disk) {
			d.writeSynced("a", "text")
		}, []string{"-", "text"}},
		{"bytes without fsync of the file: none, part, zeros or all", func(d disk) {
			d.write("a", "xy")
			d.syncDir(".")
		}, []string{"", "\x00\x00", "x", "x\x00", "xy"}},
		{"a part of what was appended, and none of what was there before", func(d disk) {
			d.writeSynced("a", "old")
			d.syncDir(".")
			f, err := d.Append("a")
			must(d.t, err)
			_, err = f.Write([]byte("xy"))
			must(d.t, err)
		}, []string{"old", "old\x00\x00", "oldx", "oldx\x00", "oldxy"}},
		{"a rename, whole", func(d disk) {
			d.writeSynced("a", "old")
			d.writeSynced("tmp", "new")
			d.syncDir(".")
			must(d.t, d.Rename("tmp", "a"))
		}, []string{"new", "old"}},
		{"a removal", func(d disk) {
			d.writeSynced("a", "old")
			d.syncDir(".")
			must(d.t, d.Remove("a"))
		}, []string{"-", "old"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := disk{t, powercut.New(nil)}
			c.do(d)
			d.Cut()
			if got := outcomes(t, d.FS, "a"); !slices.Equal(got, c.want) {
				t.Errorf("left: %q, want %q", got, c.want)
			}
		})
	}
}

func TestAFailedFsyncIsNotMendedByTheNext(t *testing.T) {
	t.Parallel()
	eio := errors.New("input/output error")
	failing := true
	d := disk{t, powercut.New(func(s powercut.Step) error {
		if s.Op == powercut.OpSync && failing {
			return eio
		}
		return nil
	})}
	f := d.write("a", "x")
	if err := f.Sync(); !errors.Is(err, eio) {
		t.Fatalf("sync: %v", err)
	}
	failing = false
	must(t, f.Sync())
	d.syncDir(".")
	if got := outcomes(t, d.FS, "a"); !slices.Equal(got, []string{"", "\x00", "x"}) {
		t.Errorf("left: %q", got)
	}
}

func TestAFolderThatWasLostTakesItsFiles(t *testing.T) {
	t.Parallel()
	d := disk{t, powercut.New(nil)}
	must(t, d.Mkdir("d"))
	d.writeSynced("d/a", "text")
	d.syncDir("d")
	if got := outcomes(t, d.FS, "d/a"); !slices.Equal(got, []string{"-", "text"}) {
		t.Errorf("without fsync of the parent: %q", got)
	}
	d.syncDir(".")
	if got := outcomes(t, d.FS, "d/a"); !slices.Equal(got, []string{"text"}) {
		t.Errorf("with it: %q", got)
	}
}

func TestTheSameSeedIsTheSameOutcome(t *testing.T) {
	t.Parallel()
	d := disk{t, powercut.New(nil)}
	for _, name := range []string{"a", "b", "c", "d"} {
		d.write(name, "some text in "+name)
	}
	for seed := range uint64(seeds) {
		one, two := d.Survivor(seed, nil), d.Survivor(seed, nil)
		for _, name := range []string{"a", "b", "c", "d"} {
			x, errX := one.ReadFile(name, 100)
			y, errY := two.ReadFile(name, 100)
			if !bytes.Equal(x, y) || (errX == nil) != (errY == nil) {
				t.Fatalf("seed %d: %q and %q", seed, x, y)
			}
		}
	}
}

func TestNothingHappensAfterTheCut(t *testing.T) {
	t.Parallel()
	f := powercut.New(powercut.CutAt(3))
	file, err := f.Create("a")
	must(t, err)
	_, err = file.Write([]byte("x"))
	must(t, err)
	if err := file.Sync(); !errors.Is(err, powercut.ErrCut) {
		t.Errorf("the step of the cut: %v", err)
	}
	_, errWrite := file.Write([]byte("y"))
	_, errRead := f.ReadFile("a", 10)
	_, errList := f.List(".")
	for _, err := range []error{errWrite, errRead, errList, file.Close(), f.Mkdir("d"), f.SyncDir("."), f.Rename("a", "b")} {
		if !errors.Is(err, powercut.ErrCut) {
			t.Errorf("after the cut: %v", err)
		}
	}
	if f.Steps() != 10 {
		t.Errorf("%d steps", f.Steps())
	}
}

func TestAStepThatOnlyPretends(t *testing.T) {
	t.Parallel()
	d := disk{t, powercut.New(func(s powercut.Step) error {
		if s.Op == powercut.OpSync {
			return powercut.ErrPretend
		}
		return nil
	})}
	d.writeSynced("a", "x")
	d.syncDir(".")
	if got := outcomes(t, d.FS, "a"); !slices.Equal(got, []string{"", "\x00", "x"}) {
		t.Errorf("left: %q", got)
	}
}

func TestAWriteThatFailsLeavesHalf(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	f := powercut.New(func(s powercut.Step) error {
		if s.Op == powercut.OpWrite {
			return full
		}
		return nil
	})
	file, err := f.Create("a")
	must(t, err)
	if n, err := file.Write([]byte("1234")); n != 2 || !errors.Is(err, full) {
		t.Errorf("wrote %d: %v", n, err)
	}
	if data, err := f.ReadFile("a", 10); err != nil || string(data) != "12" {
		t.Errorf("read %q: %v", data, err)
	}
}

func TestRenameBetweenFolders(t *testing.T) {
	t.Parallel()
	d := disk{t, powercut.New(nil)}
	must(t, d.Mkdir("d"))
	d.syncDir(".")
	d.writeSynced("a", "text")
	must(t, d.Rename("a", "d/a"))
	if _, err := d.Stat("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name: %v", err)
	}
	must(t, filesys.AppendSynced(d, "d/a", []byte("!")))
	d.syncDir("d")
	if got := outcomes(t, d.FS, "d/a"); !slices.Equal(got, []string{"text!"}) {
		t.Errorf("left: %q", got)
	}
}

func TestTheNextProcessFindsThePageCache(t *testing.T) {
	t.Parallel()
	d := disk{t, powercut.New(func(s powercut.Step) error {
		if s.N >= 3 {
			return powercut.ErrKilled
		}
		return nil
	})}
	f := d.write("a", "x")
	_, errWrite := f.Write([]byte("y"))
	for _, err := range []error{errWrite, f.Sync(), d.SyncDir("."), f.Close()} {
		if !errors.Is(err, powercut.ErrKilled) {
			t.Errorf("after the kill: %v", err)
		}
	}
	d.SetHook(nil)
	if data, err := d.ReadFile("a", 10); err != nil || string(data) != "x" {
		t.Errorf("the next process reads %q: %v", data, err)
	}
	must(t, f.Sync())
	d.syncDir(".")
	if got := outcomes(t, d.FS, "a"); !slices.Equal(got, []string{"x"}) {
		t.Errorf("left: %q", got)
	}
}

func TestStepsThatChangeSomething(t *testing.T) {
	t.Parallel()
	for _, op := range []powercut.Op{
		powercut.OpCreate, powercut.OpAppend, powercut.OpWrite, powercut.OpSync, powercut.OpRename, powercut.OpRemove,
		powercut.OpMkdir, powercut.OpSyncDir,
	} {
		if !op.Changes() {
			t.Errorf("%s changes nothing", op)
		}
	}
	for _, op := range []powercut.Op{powercut.OpRead, powercut.OpStat, powercut.OpList, powercut.OpClose} {
		if op.Changes() {
			t.Errorf("%s changes something", op)
		}
	}
}
