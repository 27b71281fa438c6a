package powercut_test

import (
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

func write(t *testing.T, f *powercut.FS, name, text string, sync bool) {
	t.Helper()
	file, err := f.Create(name)
	must(t, err)
	_, err = file.Write([]byte(text))
	must(t, err)
	if sync {
		must(t, file.Sync())
	}
	must(t, file.Close())
}

func TestCutForgets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(t *testing.T, f *powercut.FS)
		want []string
	}{
		{"nothing of what was made durable", func(t *testing.T, f *powercut.FS) {
			write(t, f, "a", "text", true)
			must(t, f.SyncDir("."))
		}, []string{"text"}},
		{"a name without fsync of the folder", func(t *testing.T, f *powercut.FS) {
			write(t, f, "a", "text", true)
		}, []string{"-", "text"}},
		{"bytes without fsync of the file: none, part, zeros or all", func(t *testing.T, f *powercut.FS) {
			write(t, f, "a", "xy", false)
			must(t, f.SyncDir("."))
		}, []string{"", "\x00\x00", "x", "x\x00", "xy"}},
		{"a part of what was appended, and none of what was there before", func(t *testing.T, f *powercut.FS) {
			write(t, f, "a", "old", true)
			must(t, f.SyncDir("."))
			file, err := f.Append("a")
			must(t, err)
			_, err = file.Write([]byte("xy"))
			must(t, err)
		}, []string{"old", "old\x00\x00", "oldx", "oldx\x00", "oldxy"}},
		{"a rename, whole", func(t *testing.T, f *powercut.FS) {
			write(t, f, "a", "old", true)
			write(t, f, "tmp", "new", true)
			must(t, f.SyncDir("."))
			must(t, f.Rename("tmp", "a"))
		}, []string{"new", "old"}},
		{"a removal", func(t *testing.T, f *powercut.FS) {
			write(t, f, "a", "old", true)
			must(t, f.SyncDir("."))
			must(t, f.Remove("a"))
		}, []string{"-", "old"}},
		{"bytes whose fsync failed, though the next one said that all is well", func(t *testing.T, f *powercut.FS) {
			eio := errors.New("input/output error")
			g := f.Survivor(0, func(s powercut.Step) error {
				if s.N == 3 {
					return eio
				}
				return nil
			})
			file, err := g.Create("a")
			must(t, err)
			_, err = file.Write([]byte("x"))
			must(t, err)
			if err := file.Sync(); !errors.Is(err, eio) {
				t.Fatalf("sync: %v", err)
			}
			must(t, file.Sync())
			must(t, g.SyncDir("."))
			if got := outcomes(t, g, "a"); !slices.Equal(got, []string{"", "\x00", "x"}) {
				t.Errorf("left: %q", got)
			}
			write(t, f, "a", "ok", true)
			must(t, f.SyncDir("."))
		}, []string{"ok"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := powercut.New(nil)
			c.do(t, f)
			f.Cut()
			if got := outcomes(t, f, "a"); !slices.Equal(got, c.want) {
				t.Errorf("left: %q, want %q", got, c.want)
			}
		})
	}
}

func TestAFolderThatWasLostTakesItsFiles(t *testing.T) {
	t.Parallel()
	f := powercut.New(nil)
	must(t, f.Mkdir("d"))
	write(t, f, "d/a", "text", true)
	must(t, f.SyncDir("d"))
	if got := outcomes(t, f, "d/a"); !slices.Equal(got, []string{"-", "text"}) {
		t.Errorf("without fsync of the parent: %q", got)
	}
	must(t, f.SyncDir("."))
	if got := outcomes(t, f, "d/a"); !slices.Equal(got, []string{"text"}) {
		t.Errorf("with it: %q", got)
	}
}

func TestTheSameSeedIsTheSameOutcome(t *testing.T) {
	t.Parallel()
	f := powercut.New(nil)
	for _, name := range []string{"a", "b", "c", "d"} {
		write(t, f, name, "some text in "+name, false)
	}
	for seed := range uint64(seeds) {
		one, two := f.Survivor(seed, nil), f.Survivor(seed, nil)
		for _, name := range []string{"a", "b", "c", "d"} {
			x, errX := one.ReadFile(name, 100)
			y, errY := two.ReadFile(name, 100)
			if string(x) != string(y) || (errX == nil) != (errY == nil) {
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
	f := powercut.New(func(s powercut.Step) error {
		if s.Op == powercut.OpSync {
			return powercut.ErrPretend
		}
		return nil
	})
	write(t, f, "a", "x", true)
	must(t, f.SyncDir("."))
	if got := outcomes(t, f, "a"); !slices.Equal(got, []string{"", "\x00", "x"}) {
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
	f := powercut.New(nil)
	must(t, f.Mkdir("d"))
	must(t, f.SyncDir("."))
	write(t, f, "a", "text", true)
	must(t, f.Rename("a", "d/a"))
	if _, err := f.Stat("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name: %v", err)
	}
	must(t, filesys.AppendSynced(f, "d/a", []byte("!")))
	must(t, f.SyncDir("d"))
	if got := outcomes(t, f, "d/a"); !slices.Equal(got, []string{"text!"}) {
		t.Errorf("left: %q", got)
	}
}
