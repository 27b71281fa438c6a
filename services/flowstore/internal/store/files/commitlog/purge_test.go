package commitlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
)

// No byte of what was purged is in the database or beside it, whatever SQLite did with the pages before: bodies of many
// sizes come, are replaced and go in a random order, so that pages split, fill up and are joined.
func TestNothingIsLeftOfWhatWasPurged(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		dir := t.TempDir()
		l := openLog(t, filepath.Join(dir, "local.db"))
		rng := rand.New(rand.NewPCG(seed, 5))
		secret := func(i int) []byte { return []byte(fmt.Sprintf("<secret %04d>", i)) }
		body := func(i int) []byte { return bytes.Repeat(secret(i), 1+rng.IntN(40)*rng.IntN(40)) }
		const things = 60
		id := func(i int) uuid.UUID { return uuid.UUID{1, byte(i)} }
		seq := int64(0)
		var kept []int64
		for range 600 {
			i := rng.IntN(things)
			seq++
			c := Changes{Records: []Record{{Seq: seq, Kind: NodeChanged, ID: id(i), Body: body(i)}}}
			if kept = append(kept, seq); len(kept) > 50 {
				at := rng.IntN(len(kept))
				c.Done = []int64{kept[at]}
				kept = append(kept[:at], kept[at+1:]...)
			}
			if rng.IntN(3) == 0 {
				c.Revisions = []Revision{{Node: id(i), At: noon, Body: body(i)}}
			}
			if rng.IntN(3) == 0 {
				c.Steps = []Step{{Flow: id(i), Number: seq, At: noon, Done: body(i), Back: body(i)}}
			}
			must(t, l.Apply(c))
			must(t, l.Checkpoint(false))
		}
		var purged []store.Thing
		for i := range things {
			if i%4 != 0 {
				purged = append(purged, store.Thing{Kind: store.KindNode, ID: id(i)}, store.Thing{Kind: store.KindFlow, ID: id(i)})
			}
		}
		must(t, l.Apply(Changes{Purged: purged}))
		must(t, l.Rewrite())
		left := files(t, dir)
		for i := range things {
			if found := bytes.Contains(left, secret(i)); found != (i%4 == 0) {
				t.Errorf("seed %d: %s is there: %v", seed, secret(i), found)
			}
		}
	}
}

// files gives the bytes of all files of a folder.
func files(t *testing.T, dir string) (all []byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		must(t, err)
		all = append(all, data...)
	}
	return all
}
