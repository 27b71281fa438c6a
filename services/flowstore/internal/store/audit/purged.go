package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store/format"
)

const tombstonesName = "tombstones.tsv"

// thing is a node or flow: both may have the same id.
type thing struct {
	kind format.Kind
	id   uuid.UUID
}

// lookAtTombstones reads what was purged.
func (t *tree) lookAtTombstones(c *collector) {
	t.purged, t.tombs = map[thing]time.Time{}, nil
	data, err := t.fsys.ReadFile(tombstonesName, format.MaxMetadata)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			c.add(cannotRead(tombstonesName, err))
		}
		return
	}
	rows, problems := format.ReadTombstones(data)
	for _, p := range problems {
		c.add(finding(store.DamageTombstones, tombstonesName, p))
	}
	t.tombs = rows
	for _, r := range rows {
		t.purged[thing{r.Kind, r.ID}] = r.Time
	}
}

// lookForPurged tells which files hold what was purged, also in the trash.
func (t *tree) lookForPurged(c *collector) {
	for _, f := range t.sorted() {
		if at, ok := t.purged[thing{f.kind, f.id}]; ok && f.ok {
			c.add(finding(store.DamagePurged, f.path, fmt.Sprintf("holds %s, which was purged at %s", f.id, at.Format(time.RFC3339))))
		}
	}
}

// indexed says whether a file has a row in its index: what was purged and came back has none.
func (t *tree) indexed(f *file) bool {
	_, purged := t.purged[thing{f.kind, f.id}]
	return f.ok && !purged
}
