package files

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"path"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/audit"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/files/commitlog"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// Mend implements store.Store. One look or mending runs at a time.
func (s *Store) Mend(ctx context.Context, ns string, o store.MendOptions, progress func(read, files int)) (store.Mended, error) {
	sp, err := s.existing(ctx, ns)
	if err != nil || sp == nil {
		return store.Mended{}, err
	}
	select {
	case s.looking <- struct{}{}:
		defer func() { <-s.looking }()
	case <-ctx.Done():
		return store.Mended{}, ctx.Err()
	}
	if _, err := sp.flush(ctx); err != nil {
		return store.Mended{}, err
	}
	report, err := audit.Look(ctx, sp.tree, audit.Options{
		Most: math.MaxInt, Progress: func(p audit.Progress) { progress(p.Read, p.Files) }, Pause: Pause,
	})
	if err != nil {
		return store.Mended{}, err
	}
	steps := audit.Plan(report, audit.PlanOptions{Current: o.Current})
	if !o.Apply || len(steps) == 0 {
		return store.Mended{Steps: told(steps)}, nil
	}
	stamp := sp.clock().UTC().Format("20060102T150405.000000Z")
	mended := store.Mended{Steps: told(steps), Folder: path.Join(audit.RepairFolder, stamp)}
	err = sp.onGate(ctx, func() error { return sp.mend(steps, mended.Steps, stamp) })
	return mended, err
}

func told(steps []audit.Step) []store.MendStep {
	list := make([]store.MendStep, len(steps))
	for i, s := range steps {
		list[i] = store.MendStep{Path: s.Path, Text: s.Text}
	}
	return list
}

// onGate has the gate do something between two writings of files, and waits for it.
func (sp *space) onGate(ctx context.Context, do func() error) error {
	j := job{do: do, done: make(chan error, 1)}
	select {
	case sp.gateJobs <- j:
		return <-j.done
	case <-ctx.Done():
		return ctx.Err()
	case <-sp.closing:
		return store.ErrClosed
	}
}

// mend does the steps of a plan, and notes in results what was left. On the gate: nobody else writes files.
func (sp *space) mend(steps []audit.Step, results []store.MendStep, stamp string) error {
	if err := sp.brokenError(); err != nil {
		return &store.ReadOnlyError{Cause: err}
	}
	if err := audit.Keep(sp.tree, steps, stamp); err != nil {
		return err
	}
	for i, s := range steps {
		if x := sp.indexAt(s.Path); x != nil {
			// The engine writes it, as it knows what it is about to add.
			x.distrust()
			continue
		}
		err := sp.onWriter(func() error { return sp.mendFile(s, &results[i]) })
		if err != nil {
			return err
		}
	}
	_, err := sp.writeIndexes()
	return err
}

// indexAt gives what is known of an index.tsv; nil for another file.
func (sp *space) indexAt(file string) *indexFile {
	for _, x := range sp.written.indexes {
		if x.path() == file {
			return x
		}
	}
	return nil
}

// mendFile does one step. On the writer: no change of the file comes meanwhile, and local.db knows it as it is then.
func (sp *space) mendFile(s audit.Step, result *store.MendStep) error {
	if sp.pending.behind()[inTree(s.Path)] {
		result.Left = "a change of it was on its way; ask again"
		return nil
	}
	if s.To() != "" {
		return sp.mendName(s, result)
	}
	if done, err := doStep(sp.tree, s, result); !done {
		return err
	}
	kind, ours := kindOfFile(s.Path)
	if !ours {
		return nil
	}
	f, err := sp.describeNow(kind, s.Path)
	if err != nil {
		return err
	}
	return sp.apply(commitlog.Changes{Files: []commitlog.File{f}})
}

// doStep does a step, or notes why it was left.
func doStep(tree filesys.FS, s audit.Step, result *store.MendStep) (done bool, err error) {
	err = s.Do(tree)
	if left := (*audit.LeftError)(nil); errors.As(err, &left) {
		result.Left = left.Reason
		return false, nil
	}
	return err == nil, err
}

// mendName moves a file of the trash to a name that is free now: the writer has given others since the plan was made. On the
// writer.
func (sp *space) mendName(s audit.Step, result *store.MendStep) error {
	kind, _ := kindOfFile(inTree(s.Path))
	f, err := sp.describeNow(kind, s.Path)
	if err != nil {
		return err
	}
	x := sp.indexedBy(kind)
	if sp.pending.moves[store.Thing{Kind: thingOf(kind), ID: f.ID}] != nil {
		result.Left = "it is on its way out of the trash; ask again"
		return nil
	}
	if _, err := sp.tree.Stat(s.To()); errors.Is(err, fs.ErrNotExist) {
		names := x.names
		slot, ok := names.Give() // It is taken when the file is there.
		if !ok {
			result.Left = "there is no free name: a namespace takes 1,000,000 files of a kind"
			return nil
		}
		s = s.MovedTo(trashPath(x.slotPath(slot)))
		result.Text = s.Text
	}
	if done, err := doStep(sp.tree, s, result); !done {
		return err
	}
	moved, err := sp.describeNow(kind, s.To())
	if err != nil {
		return err
	}
	if err := sp.apply(commitlog.Changes{Files: []commitlog.File{moved}, Gone: []string{s.Path}}); err != nil {
		return err
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	x.take(inTree(moved.Path))
	if _, dropped := x.trash[moved.ID]; dropped && moved.Problem == "" {
		x.replace(moved.ID, inTree(s.Path), holding{inTree(moved.Path), moved.Time, moved.Created})
	}
	if why, broken := x.broken[s.Path]; broken {
		delete(x.broken, s.Path)
		x.broken[moved.Path] = why
	}
	return nil
}
