// Command crash kills flowstore at random moments and looks whether anything that it acknowledged is missing.
//
// Writers create nodes, add them to flows and move the flows' current nodes. The process is killed with SIGKILL: under
// load, in the quiet in which it writes its text files, or while it starts. Then it is started again, what was under way
// is asked for once more with the same request id, and everything has to be exactly as it was acknowledged. Every 50
// kills all texts are read back and the text tree is parsed file by file; then it goes on in a new folder.
//
// A killed process leaves the page cache behind, so this cannot see a missing fsync: the power-cut test of package files
// does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// killsPerFolder bounds how much is written to one folder, and so how long a comparison takes.
const killsPerFolder = 50

type options struct {
	kills, writers int
	seed           uint64
	binary         string
}

func main() {
	var o options
	flag.IntVar(&o.kills, "n", 300, "how often to kill")
	flag.IntVar(&o.writers, "writers", 16, "writers at once")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of everything random")
	flag.StringVar(&o.binary, "binary", "", "a flowstore program; empty: built from this repository")
	flag.Parse()
	fmt.Printf("%d kills, %d writers, seed %d\n", o.kills, o.writers, o.seed)
	r := &report{random: rand.New(rand.NewPCG(o.seed, 1)), started: time.Now()}
	err := run(context.Background(), o, r)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
	}
	fmt.Printf("crash: %d kills, %d lost, %d failed starts\n", r.kills, r.lost, r.failedStarts)
	if err != nil || r.lost > 0 || r.failedStarts > 0 {
		os.Exit(1)
	}
}

// run makes a folder for everything, and keeps it when something went wrong.
func run(ctx context.Context, o options, r *report) error {
	work, err := os.MkdirTemp("", "tsumugi-crash-")
	if err != nil {
		return err
	}
	if o.binary == "" {
		o.binary = filepath.Join(work, "flowstore")
		if err := build(ctx, o.binary); err != nil {
			return errors.Join(err, os.RemoveAll(work))
		}
	}
	for err == nil && r.kills < o.kills && r.lost == 0 && r.failedStarts == 0 {
		data := filepath.Join(work, fmt.Sprintf("data-%d", r.kills))
		err = newTrial(o, data, r).run(ctx, min(killsPerFolder, o.kills-r.kills))
		if err == nil && r.lost == 0 && r.failedStarts == 0 {
			err = os.RemoveAll(data)
		}
	}
	if err != nil || r.lost > 0 || r.failedStarts > 0 {
		fmt.Println("what was found is kept in", work)
		return err
	}
	return os.RemoveAll(work)
}

// build makes the program out of this module.
func build(ctx context.Context, binary string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/tsumugi-dev/tsumugi/services/flowstore/cmd/flowstore")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building flowstore (run this within the repository, or give -binary): %w", err)
	}
	return nil
}

// report is what came out so far.
type report struct {
	random                    *rand.Rand
	started                   time.Time
	kills, lost, failedStarts int
	acknowledged              int
	slowestStart              time.Duration
}

// maxTold is how many losses are told one by one.
const maxTold = 20

// lose counts something that is not as it was acknowledged.
func (r *report) lose(format string, args ...any) {
	if r.lost++; r.lost <= maxTold {
		fmt.Printf("lost: "+format+"\n", args...)
	}
}

func (r *report) progress() {
	took := time.Since(r.started)
	fmt.Printf("%4d kills, %d acknowledged, %.2f s a kill, slowest start %.2f s\n",
		r.kills, r.acknowledged, took.Seconds()/float64(max(r.kills, 1)), r.slowestStart.Seconds())
}
