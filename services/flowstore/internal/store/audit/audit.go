// Package audit looks through a tree of text files for what flowstore passes over, leaves out or cannot read, and mends what
// is derived or certain.
//
// A look needs no lock and writes nothing: the service may be running, the volume may be read-only. Mending is for a tree
// that no process works on. Nothing is ever deleted: what is mended, or moved away, is copied first.
package audit

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

func compare(f, g store.Finding) int {
	return cmp.Or(
		cmp.Compare(slices.Index(store.Damages, f.Kind), slices.Index(store.Damages, g.Kind)), strings.Compare(f.Path, g.Path),
		cmp.Compare(f.Line, g.Line), strings.Compare(f.Reason, g.Reason),
	)
}

// Report is what a look found, at most Options.Most of each kind.
type Report struct {
	store.Look

	tree *tree
}

// Progress says how far a look is. Read rises to Files; Files rises as folders are listed.
type Progress struct{ Read, Files int }

// DefaultMost is how many findings of a kind a look tells.
const DefaultMost = 1000

// Options are how to look; the zero value is a look at a tree that nobody works on.
type Options struct {
	// Most is how many findings of a kind are told, also of one file; 0 is DefaultMost.
	Most int
	// Progress is told how far the look is, by one goroutine at a time; it keeps the look waiting. nil: nobody.
	Progress func(Progress)
	// Pause waits a moment, or until ctx ends. A running service writes one file after another, so what depends on two
	// files, or on one that may be on its way, counts only when it is still so behind a pause. nil: one look is enough.
	Pause func(ctx context.Context) error
}

// Look looks through the tree of a namespace. Whatever is wrong with a file is a finding; the error is that of ctx or Pause.
// It keeps some 250 bytes a file, and reads up to 16 files at once, of at most 128 MiB together.
func Look(ctx context.Context, fsys filesys.FS, o Options) (Report, error) {
	o.Most = cmp.Or(o.Most, DefaultMost)
	t := &tree{fsys: fsys, options: o}
	first, err := t.look(ctx)
	if err != nil || o.Pause == nil || !slices.ContainsFunc(first.Findings, maybeUnderWay) {
		return first, err
	}
	if err := o.Pause(ctx); err != nil {
		return Report{}, err
	}
	stamps := t.stamps
	again, err := t.look(ctx)
	if err != nil {
		return Report{}, err
	}
	was := make(map[store.Finding]bool, len(first.Findings))
	for _, f := range first.Findings {
		was[f] = stamps[f.Path] == t.stamps[f.Path]
	}
	again.Findings = slices.DeleteFunc(again.Findings, func(f store.Finding) bool { return !was[f] })
	return again, nil
}

// maybeUnderWay says that a finding may be gone when a running service has written what it is writing.
func maybeUnderWay(f store.Finding) bool {
	switch f.Kind {
	case store.DamageMissingNode, store.DamageLink, store.DamageDuplicateID, store.DamageTrashName, store.DamageTemporary,
		store.DamageIndexMissing, store.DamageIndexDead, store.DamageIndexWrong, store.DamageIndexLine:
		return true
	}
	return false
}

// collector keeps findings within a bound.
type collector struct {
	most  int
	found []store.Finding
	kept  map[store.Damage]int
	more  map[store.Damage]int
}

func newCollector(most int) *collector {
	return &collector{most: most, kept: map[store.Damage]int{}, more: map[store.Damage]int{}}
}

func (c *collector) add(findings ...store.Finding) {
	for _, f := range findings {
		if c.kept[f.Kind] >= c.most {
			c.more[f.Kind]++
			continue
		}
		c.kept[f.Kind]++
		c.found = append(c.found, f)
	}
}

// addAll adds what another one found.
func (c *collector) addAll(other *collector) {
	c.add(other.found...)
	for kind, n := range other.more {
		c.more[kind] += n
	}
}

// place is a folder in which files of one kind are.
type place struct {
	folder string
	kind   format.Kind
	trash  bool
}

// inTree is where what is in the trash came from, or the place itself.
func (p place) inTree() place { return place{strings.TrimPrefix(p.folder, "trash/"), p.kind, false} }

// places in the order in which they are looked at: nodes first, so that flows know which there are.
var places = []place{
	{"nodes", format.Nodes, false}, {"trash/nodes", format.Nodes, true},
	{"flows", format.Flows, false}, {"trash/flows", format.Flows, true},
}
