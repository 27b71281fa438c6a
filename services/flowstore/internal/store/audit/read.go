package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

const (
	// readers is how many files are read at once: a cold disk answers slowly, but many at a time.
	readers = 16
	// maxInMemory is how many bytes of files are in memory at once.
	maxInMemory = 2 * format.MaxFile
)

// readAll reads files, but for those that are as they were before.
func (t *tree) readAll(ctx context.Context, files []*file, before map[string]*file) error {
	t.progress.Files += len(files)
	var next atomic.Int64
	var mu sync.Mutex
	told := func() {
		mu.Lock()
		defer mu.Unlock()
		t.progress.Read++
		if t.options.Progress != nil {
			t.options.Progress(t.progress)
		}
	}
	memory := semaphore.NewWeighted(maxInMemory)
	group, ctx := errgroup.WithContext(ctx)
	for range min(readers, len(files)) {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < len(files); i = int(next.Add(1)) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				f := files[i]
				if was := before[f.path]; was != nil && was.read && was.size == f.size && was.modTime == f.modTime {
					*f = *was
				} else if err := t.readWithin(ctx, memory, f); err != nil {
					return err
				}
				told()
			}
			return nil
		})
	}
	return group.Wait()
}

func (t *tree) readWithin(ctx context.Context, memory *semaphore.Weighted, f *file) error {
	bytes := min(f.size, format.MaxFile) + 1
	if err := memory.Acquire(ctx, bytes); err != nil {
		return err
	}
	defer memory.Release(bytes)
	t.read(f)
	return nil
}

// read reads a file and notes what is wrong with it alone.
func (t *tree) read(f *file) {
	f.read = true
	data, err := t.fsys.ReadFile(f.path, format.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.read = false
		return
	case err != nil:
		t.tell(f, cannotRead(f.path, err))
		return
	}
	if f.kind == format.Nodes {
		err = f.readNode(t.reader, data)
	} else {
		err = t.readFlow(f, data)
	}
	if err != nil {
		t.tell(f, damaged(f.path, data, err))
		return
	}
	f.ok = true
	if f.trash {
		f.sum = sha256.Sum256(data)
	}
	if bytes.IndexByte(data, '\r') >= 0 {
		t.tell(f, f.lineEnds(data))
	}
}

func (f *file) readNode(reader format.Reader, data []byte) error {
	n, err := reader.DecodeNode(data)
	f.id, f.time = n.ID, n.Created
	return err
}

func (t *tree) readFlow(f *file, data []byte) error {
	fl, err := t.reader.DecodeFlow(data)
	if err != nil {
		return err
	}
	f.id, f.time = fl.ID, fl.Updated
	for _, p := range fl.Validate() {
		kind, known := flowKinds[p.Kind]
		if !known {
			kind = store.DamageEntry
		}
		t.tell(f, finding(kind, f.path, p.Text))
	}
	f.links = fl.Links
	for _, m := range fl.Members {
		if !t.nodes[m.Node] {
			f.missing = append(f.missing, m)
		}
	}
	return nil
}

// tell notes what is wrong with a file alone.
func (t *tree) tell(f *file, findings ...store.Finding) {
	if f.alone == nil {
		f.alone = newCollector(t.options.Most)
	}
	f.alone.add(findings...)
}

var flowKinds = map[flow.ProblemKind]store.Damage{
	flow.BadEntry: store.DamageEntry, flow.DanglingEdge: store.DamageDanglingEdge, flow.CycleEdge: store.DamageCycle, flow.BadCurrent: store.DamageCurrent,
	flow.DanglingHead: store.DamageHead, flow.DanglingLink: store.DamageLink,
}

// withLF gives a file with the line ends that we write.
func withLF(data []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

const lineEndsReason = "has line ends with carriage returns, from an editor or a checkout; it reads the same"

// lineEnds tells of carriage returns. Readers of XML and YAML take them for line feeds, so a file of the same value can
// nearly always be written without.
func (f *file) lineEnds(data []byte) store.Finding {
	out := finding(store.DamageLineEnds, f.path, lineEndsReason)
	if !f.sameValue(data, withLF(data)) {
		out.By = store.ByPerson
		out.Fix = "save it with line feeds; its value would change, so look at it first"
	}
	return out
}

// sameValue says whether two files hold the same.
func (f *file) sameValue(a, b []byte) bool {
	if f.kind == format.Nodes {
		x, errX := format.DecodeNode(a)
		y, errY := format.DecodeNode(b)
		return errX == nil && errY == nil && bytes.Equal(format.EncodeNode(x), format.EncodeNode(y))
	}
	x, errX := format.DecodeFlow(a)
	y, errY := format.DecodeFlow(b)
	return errX == nil && errY == nil && bytes.Equal(format.EncodeFlow(x), format.EncodeFlow(y))
}
