package main

import (
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
)

// The moments. All but those in which a clock decides are found by looking at the folder: the program that is killed has no
// hook for it.
const (
	// underLoad is while writers write; inQuiet a little after they stopped.
	underLoad kill.Moment = "under load"
	inQuiet   kill.Moment = "in the quiet"
	// whileWriting is when the first text file or index appears after the writers stopped.
	whileWriting kill.Moment = "while text files are written"
	// atCheckpoint is when SQLite begins to move what is in its write-ahead log into local.db.
	atCheckpoint kill.Moment = "at a checkpoint"
	// whileStarting is a little after a start began; whileReplaying when the first text file appears after it.
	whileStarting  kill.Moment = "while it starts"
	whileReplaying kill.Moment = "while it writes what the log held"
)

// How long a moment takes at most.
const (
	maxLoad = 150 * time.Millisecond
	// moreForCheckpoint is about what fills the write-ahead log so far that SQLite is asked to empty it.
	moreForCheckpoint = time.Second
	maxQuiet          = 60 * time.Millisecond
	maxStart          = 60 * time.Millisecond
)

// drawMoment draws one for a server that runs.
func drawMoment(random *rand.Rand) kill.Moment {
	return []kill.Moment{underLoad, underLoad, underLoad, inQuiet, inQuiet, whileWriting, whileWriting, atCheckpoint}[random.IntN(8)]
}

// treeChanged is when a text file was last written: then its folder changed.
func (t *trial) treeChanged() time.Time {
	return kill.Newest(filepath.Join(t.data, "default", "nodes", "*"), filepath.Join(t.data, "default", "nodes"),
		filepath.Join(t.data, "default", "flows", "*"), filepath.Join(t.data, "default", "flows"))
}

// checkpointed is when local.db last changed: commits go to the file beside it.
func (t *trial) checkpointed() time.Time {
	return kill.Newest(filepath.Join(t.data, "default", ".flowstore", "local.db"))
}
