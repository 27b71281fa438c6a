package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/adapter/watch"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

// realWatcher is what the product gives the store.
func realWatcher(changed func(string), lost func(error)) (Watcher, error) {
	return watch.New(changed, lost)
}

// attentive is a desk whose store looks for hands by itself.
func attentive(t *testing.T, opts Options) *desk {
	t.Helper()
	d := &desk{TB: t, data: t.TempDir(), user: newUser(nil)}
	opts.Data = d.data
	s, err := Open(opts)
	d.must(err)
	d.store = s
	t.Cleanup(func() { d.must(d.store.Close()) })
	return d
}

// until waits for events of hands: n of them after one, and no others.
func (d *desk) until(since int64, n int) (told []string) {
	d.Helper()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for len(told) < n {
		events, err := d.store.Events(ctx, ns, since, 100)
		if err != nil {
			d.Fatalf("told %q: %v", told, err)
		}
		for _, e := range events {
			if since = e.Seq; e.Origin == store.External {
				told = append(told, string(e.Kind)+" "+d.called(e))
			}
		}
	}
	return told
}

// What hands do is told without anybody asking: by the watcher, also in folders that are new, and without it by looking.
func TestHandsAreSeen(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{
		"by a watcher": {Watch: realWatcher}, "by looking": {Rescan: 100 * time.Millisecond},
		"where nothing can be watched": {Rescan: 100 * time.Millisecond, Watch: func(func(string), func(error)) (Watcher, error) {
			return nil, errors.New("too many open files")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := attentive(t, opts)
			last, err := d.store.LastEvent(context.Background(), ns)
			d.must(err)
			d.must(errors.Join(d.createNode("one"), d.createNode("two")))
			d.flushed()
			for _, step := range []struct {
				do   func()
				want string
			}{
				{func() { d.edit("nodes/000/000.xml", "春の夜", "夏の夜") }, "node_updated one"},
				{func() { d.put("nodes/007/000.xml", string(format.EncodeNode(nodeOf("theirs", "text")))) }, "node_created theirs"},
				{func() { d.edit("nodes/007/000.xml", "text", "文") }, "node_updated theirs"},
				{func() { d.remove("nodes/007") }, "node_deleted theirs"},
				{func() { d.put("nodes/007/000.xml", string(format.EncodeNode(nodeOf("theirs", "text")))) }, "node_created theirs"},
				{func() { d.put("nodes/007/000.xml", "<") }, "external_change nodes/007/000.xml"},
			} {
				step.do()
				if told := d.until(last, 1); len(told) != 1 || told[0] != step.want {
					t.Errorf("told %q, want %s", told, step.want)
				}
				if last, err = d.store.LastEvent(context.Background(), ns); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A store that writes all the time does not take its own files for those of a hand.
func TestOwnFilesAreNoHands(t *testing.T) {
	t.Parallel()
	gate := DefaultGate()
	gate.Idle = time.Millisecond
	d := attentive(t, Options{Gate: gate, Watch: realWatcher, Rescan: 5 * time.Millisecond})
	last, err := d.store.LastEvent(context.Background(), ns)
	d.must(err)
	d.must(errors.Join(d.createNode("one"), d.createNode("two"), d.createFlow("novel")))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				err := d.store.Update(context.Background(), ns, func(tx store.Tx) error {
					n, err := tx.Node(idOf("one"))
					n.Model += "."
					return errors.Join(err, tx.ReplaceNode(n), tx.CreateNode(node.Node{ID: uuid.New(), Created: tx.Now()}))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	d.must(d.move(thing(store.KindNode, "two"), true))
	d.flushed()
	d.must(d.move(thing(store.KindNode, "two"), false))
	d.flushed()
	d.must(d.store.Rescan(context.Background(), ns))
	for _, told := range d.toldSince(last) {
		if !strings.HasPrefix(told, "ours: ") {
			t.Errorf("told %s", told)
		}
	}
	d.wantProblems()
}

// limited is a watcher of a system that gives two watches.
type limited struct{ n int }

func (w *limited) Watch(string) error {
	if w.n++; w.n > 2 {
		return errors.New("no space left on device")
	}
	return nil
}

func (w *limited) Close() error { return nil }

// Where not all can be watched, the log says so once, and what changes may have been missed is looked for.
func TestWhatCannotBeWatchedIsTold(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	var lost func(error)
	d := attentive(t, Options{Log: zap.New(core), Watch: func(_ func(string), l func(error)) (Watcher, error) {
		lost = l
		return &limited{}, nil
	}})
	d.must(errors.Join(d.createNode("one"), d.createNode("two")))
	d.flushed()
	d.must(d.store.Rescan(context.Background(), ns))
	last, err := d.store.LastEvent(context.Background(), ns)
	d.must(err)
	d.edit("nodes/000/000.xml", "春の夜", "夏の夜")
	lost(errors.New("queue overflow"))
	if told := d.until(last, 1); told[0] != "node_updated one" {
		t.Errorf("told %q", told)
	}
	if n := logs.FilterMessageSnippet("not all folders can be watched").Len(); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// A scan that fails changes nothing, is told once, and is tried again.
func TestAScanThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads every folder")
	}
	d := newDesk(t)
	d.must(d.createNode("one"))
	d.flushed()
	d.must(os.Chmod(d.path("nodes/000"), 0))
	if err := d.store.Rescan(context.Background(), ns); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
	d.must(os.Chmod(d.path("nodes/000"), 0o700))
	d.text("one")
	if told := d.handsDo(); len(told) > 0 {
		t.Errorf("told %q", told)
	}
}
