package files

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys/powercut"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// together is byHand where all new files are synced at once, however few.
func together() Gate {
	gate := byHand
	gate.Together = 1
	return gate
}

// newFiles is work that is mostly new files, twice into the same folders.
func (u *user) newFiles(reopener) error {
	return errors.Join(
		u.createNode("one"), u.createFlow("novel"), u.addNode("novel", "a"), u.addNode("novel", "b"), u.flush(),
		u.createNode("two"), u.replaceNode("one", "二"), u.createFlow("essay"), u.addNode("novel", "c"), u.addNode("essay", "d"), u.flush(),
	)
}

func TestPowerCutWhereFilesAreSyncedTogether(t *testing.T) {
	t.Parallel()
	steps, stride := 0, strides[testkit.Race]
	for n, more := 1, true; more; n += stride {
		var c cut
		c, more = runWork(t, n, nothing, together(), (*user).newFiles)
		if c.step.Op == powercut.OpSyncAll {
			steps++
		}
		if !c.step.Op.Changes() {
			continue
		}
		if err := c.survives(t); err != nil {
			t.Fatal(err)
		}
	}
	if steps < 6/stride {
		t.Errorf("the power was cut before %d calls that sync all, want 2 for each of 3 chunks of nodes", steps)
	}
}

// Without the call behind the bytes a file may have its name and not its bytes; without the one behind the names it is taken
// out of the log and has none.
func TestAMissingSyncOfAllIsSeen(t *testing.T) {
	t.Parallel()
	testkit.WithoutRace(t)
	for half, what := range []string{"the bytes", "the names"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			seenIn(t, func(t *testing.T, n int, lied func(step int)) (left cut, ok bool) {
				calls := 0
				return runWork(t, n, func(s powercut.Step) error {
					if s.Op != powercut.OpSyncAll {
						return nil
					}
					if calls++; (calls-1)%2 == half {
						lied(s.N)
						return powercut.ErrPretend
					}
					return nil
				}, together(), (*user).newFiles)
			})
		})
	}
}

// A disk that fails there is told, and tried again.
func TestSyncOfAllThatFails(t *testing.T) {
	t.Parallel()
	for call := range 2 {
		calls, fault := 0, errors.New("input/output error")
		u := gated(t, together(), func(s powercut.Step) error {
			if s.Op == powercut.OpSyncAll {
				if calls++; calls-1 == call {
					return fault
				}
			}
			return nil
		})
		must(t, u.createNode("one"))
		if err := u.flush(); !errors.Is(err, fault) {
			t.Errorf("call %d: the flush ended with %v", call, err)
		}
		must(t, errors.Join(u.flush(), u.createNode("two"), u.flush(), u.finds(u.store)))
	}
}

// intruded is a tree in which somebody does something when all is synced.
type intruded struct {
	filesys.FS
	enter func()
}

func (i intruded) Folder(name string) (filesys.Folder, error) {
	f, err := i.FS.Folder(name)
	return intrudedFolder{f, i.enter}, err
}

type intrudedFolder struct {
	heldOpen
	enter func()
}

// heldOpen is filesys.Folder by a name that is not that of its method.
type heldOpen = filesys.Folder

func (f intrudedFolder) SyncAll() error {
	f.enter()
	return f.heldOpen.SyncAll()
}

// A file that comes to stand in a place while new ones are written stays, and the node gets another place.
func TestAHandIsFasterThanManyFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	var once sync.Once
	const text = "<note>手で置いたもの</note>\n"
	tree := intruded{w.tree, func() {
		once.Do(func() { must(t, filesys.AppendSynced(w.tree, "default/nodes/000/001.xml", []byte(text))) })
	}}
	s, err := open(Options{Data: w.local, Gate: together()}, tree)
	must(t, err)
	u := newUser(s)
	must(t, errors.Join(u.createNode("one"), u.createNode("two"), u.createNode("three"), u.flush()))
	if got, err := w.tree.ReadFile("default/nodes/000/001.xml", 100); err != nil || string(got) != text {
		t.Errorf("the hand's file is %q: %v", got, err)
	}
	for name := range map[string]bool{"one": true, "two": true, "three": true} {
		if n, err := s.Node(t.Context(), ns, idOf(name)); err != nil || n.ID != idOf(name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	problems, err := s.Problems(t.Context(), ns)
	if err != nil || len(problems) != 2 || problems[0].Path != "nodes/000/001.xml" || problems[1].Path != problems[0].Path {
		t.Errorf("problems: %v, %v", problems, err)
	}
	list, err := w.tree.List("default/nodes/000")
	if err != nil || len(list) != 4 {
		t.Errorf("the folder holds %v: %v", list, err)
	}
	must(t, s.Close())
}

// However many folders a chunk is of, few are held at once, and none for one file alone.
func TestFewFoldersAreHeld(t *testing.T) {
	t.Parallel()
	for each, want := range map[int]int{1: 0, 2: heldFolders} {
		held := 0
		u := gated(t, byHand, func(s powercut.Step) error {
			if s.Op == powercut.OpFolder && strings.Contains(s.Name, "nodes/") {
				held++
			}
			return nil
		})
		must(t, errors.Join(u.createNode("one"), u.flush()))
		var files []string
		for i := range 3 * heldFolders {
			for j := range each {
				files = append(files, fmt.Sprintf("nodes/%03d/%03d.xml", i, j))
			}
		}
		held = 0
		tree, err := u.store.spaces[ns].space.holdFolders(files)
		must(t, err)
		for _, file := range files {
			must(t, filesys.Replace(tree, file, []byte(file)))
		}
		if must(t, tree.Close()); held != want {
			t.Errorf("%d folders of %d files were held, want %d", held, each, want)
		}
	}
}

// What the file system refuses once is not tried with each chunk, whose files would be written twice.
func TestASyncOfAllThatIsRefusedIsTriedOnce(t *testing.T) {
	t.Parallel()
	tried := 0
	u := gated(t, together(), func(s powercut.Step) error {
		if s.Op == powercut.OpSyncAll {
			tried++
			return errors.ErrUnsupported
		}
		return nil
	})
	must(t, errors.Join(u.createNode("one"), u.flush(), u.createNode("two"), u.flush(), u.finds(u.store)))
	if tried != 1 {
		t.Errorf("tried %d times", tried)
	}
}

// Nobody reads back what we wrote for what stands of it in the metadata.
func TestMetadataReadNoNodeThatWeWrote(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	written, read := map[string]bool{}, []string{}
	u := gated(t, byHand, func(s powercut.Step) error {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case nodeFileIsRenamed(s):
			written[s.Name] = true
		case s.Op == powercut.OpRead && written[filesys.Temporary(s.Name)]:
			read = append(read, s.Name)
		}
		return nil
	})
	for i := range 5 {
		must(t, u.createNode(fmt.Sprint(i)))
	}
	must(t, u.replaceNode("1", "二"))
	must(t, u.store.spaces[ns].space.finder.Fold(t.Context()))
	must(t, u.flush())
	mu.Lock()
	defer mu.Unlock()
	if len(written) != 5 || len(read) != 0 {
		t.Errorf("%d files were written, and read back: %v", len(written), read)
	}
}

// The index does not take a core from callers who write; for ever it does not wait.
func TestTheIndexWaitsForWriters(t *testing.T) {
	t.Parallel()
	gate := byHand
	gate.Idle = time.Millisecond
	gate.MaxAge = time.Hour
	u := gated(t, gate, nil)
	must(t, u.createNode("one"))
	sp := u.store.spaces[ns].space
	sp.committing.Store(true)
	defer sp.committing.Store(false)
	began := time.Now()
	if !sp.awaitLull(t.Context(), time.NewTimer(0)) || time.Since(began) < foldPatience {
		t.Errorf("it waited for %s while callers wrote, want %s", time.Since(began), foldPatience)
	}
}
