package main

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// moment is when to kill.
type moment string

// The moments. All but those in which a clock decides are found by looking at the folder: the program that is killed has no
// hook for it.
const (
	// underLoad is while writers write; inQuiet a little after they stopped.
	underLoad moment = "under load"
	inQuiet   moment = "in the quiet"
	// whileWriting is when the first text file or index appears after the writers stopped.
	whileWriting moment = "while text files are written"
	// atCheckpoint is when SQLite begins to move what is in its write-ahead log into local.db.
	atCheckpoint moment = "at a checkpoint"
	// whileStarting is a little after a start began; whileReplaying when the first text file appears after it.
	whileStarting  moment = "while it starts"
	whileReplaying moment = "while it writes what the log held"
)

// How long a moment takes at most.
const (
	maxLoad = 150 * time.Millisecond
	// moreForCheckpoint is about what fills the write-ahead log so far that SQLite is asked to empty it.
	moreForCheckpoint = time.Second
	maxQuiet          = 60 * time.Millisecond
	maxStart          = 60 * time.Millisecond
	// maxWatch is how long something is waited for that may not come; maxAim how much later the kill comes.
	maxWatch = 300 * time.Millisecond
	maxAim   = 3 * time.Millisecond
	glance   = 200 * time.Microsecond
)

// drawMoment draws one for a server that runs.
func drawMoment(random *rand.Rand) moment {
	return []moment{underLoad, underLoad, underLoad, inQuiet, inQuiet, whileWriting, whileWriting, atCheckpoint}[random.IntN(8)]
}

func upTo(random *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(most)))
}

// watch waits until what look sees changes, and then a little; false where it did not change in time.
func watch(random *rand.Rand, look func() time.Time) bool {
	before := look()
	for start := time.Now(); time.Since(start) < maxWatch; time.Sleep(glance) {
		if look().After(before) {
			time.Sleep(upTo(random, maxAim))
			return true
		}
	}
	return false
}

// treeChanged is when a text file was last written: then its folder changed.
func (t *trial) treeChanged() time.Time {
	return newest(filepath.Join(t.data, "default", "nodes", "*"), filepath.Join(t.data, "default", "nodes"),
		filepath.Join(t.data, "default", "flows", "*"), filepath.Join(t.data, "default", "flows"))
}

// checkpointed is when local.db last changed: commits go to the file beside it.
func (t *trial) checkpointed() time.Time {
	return newest(filepath.Join(t.data, "default", ".flowstore", "local.db"))
}

func newest(patterns ...string) (last time.Time) {
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			panic(err) // a pattern of ours
		}
		for _, path := range paths {
			var info fs.FileInfo
			if info, err = os.Stat(path); err == nil && info.ModTime().After(last) {
				last = info.ModTime()
			}
		}
	}
	return last
}
