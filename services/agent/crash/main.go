// Command crash kills a whole Tsumugi at random moments while sessions of the agent change files, and looks whether anything that was
// acknowledged is missing, was done twice, or was done without anybody's word.
//
// Writers send messages to sessions; a scripted model answers each with calls that create, write, move and delete files; approvers, who
// do not agree with each other, approve, deny and change them. The process is killed with SIGKILL: under load, in the quiet after it, when
// a file of the work folder has just changed, when the store has just been written, and while it starts. Then it is started again, and what
// it says is held to what was acknowledged: each message is there and is not taken twice, each decision stands, no approval has two, and
// those that wait are served with the digest that they had. What was under way is asked for once more with the same request id. At the end
// of a folder everything that waits is decided, and when nothing works any more the files must be exactly those that the executed calls of
// each session make, one after the other: each call changes what another one would trip over, so that one that is done twice, or not at
// all, leaves other files, and nothing else, such as what was staged for a call when the process died. The audit of each session is verified, with its replay.
//
// A killed process leaves the page cache behind, so this cannot see a missing fsync.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
)

// killsPerFolder bounds how much is written to one folder, and so how long a comparison takes.
const killsPerFolder = 25

type options struct {
	kills, writers int
	seed           uint64
	binary         string
}

func main() {
	var o options
	flag.IntVar(&o.kills, "n", 100, "how often to kill")
	flag.IntVar(&o.writers, "writers", 16, "sessions, each with a writer")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of everything random")
	flag.StringVar(&o.binary, "binary", "", "a tsumugi program; empty: built from this repository")
	flag.Parse()
	r := kill.NewReport(os.Stdout, o.seed)
	r.Say("agent: %d kills, %d sessions, seed %d", o.kills, o.writers, o.seed)
	err := run(context.Background(), o, r)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
	}
	r.End()
	if err != nil || !r.Sound() {
		os.Exit(1)
	}
}

// run makes a folder for everything, and keeps it when something went wrong.
func run(ctx context.Context, o options, r *kill.Report) error {
	work, err := os.MkdirTemp("", "tsumugi-crash-agent-")
	if err != nil {
		return err
	}
	if o.binary == "" {
		o.binary = filepath.Join(work, "tsumugi")
		if err := kill.Build(ctx, o.binary, "github.com/tsumugi-dev/tsumugi/services/tsumugi/cmd/tsumugi"); err != nil {
			return errors.Join(err, os.RemoveAll(work))
		}
	}
	for err == nil && r.Kills < o.kills && r.Sound() {
		t, failed := newTrial(o, filepath.Join(work, fmt.Sprintf("run-%d", r.Kills)), r)
		if err = failed; err == nil {
			err = t.run(ctx, min(killsPerFolder, o.kills-r.Kills))
		}
		if err != nil || !r.Sound() {
			r.Say("seed %d; what was found is kept in %s", o.seed, work)
			return err
		}
		err = os.RemoveAll(t.dir)
	}
	r.Tell()
	return errors.Join(err, os.RemoveAll(work))
}
