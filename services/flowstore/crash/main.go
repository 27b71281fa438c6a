// Command crash kills flowstore at random moments and looks whether anything that it acknowledged is missing.
//
// Writers do all that flowstore can be asked to write (rows.go) and keep a ledger of what was acknowledged. The process is
// killed with SIGKILL: under load, in the quiet after it, while text files are written, at a checkpoint, while it starts,
// and while it writes what the log held. Then it is started again. What was under way was done as a whole or not at all; it
// is asked for once more with the same request id, and then everything has to be exactly as it was acknowledged. Every 50
// kills all is read back, the text tree and its trash are parsed file by file, `flowstore check` looks through them, and what
// was purged is looked for in the bytes of all files; then it goes on in a new folder.
//
// A killed process leaves the page cache behind, so this cannot see a missing fsync: the power-cut test of package files
// does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	flag.IntVar(&o.writers, "writers", 32, "writers at once")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "seed of everything random")
	flag.StringVar(&o.binary, "binary", "", "a flowstore program; empty: built from this repository")
	flag.Parse()
	fmt.Printf("%d kills, %d writers, seed %d\n", o.kills, o.writers, o.seed)
	r := newReport(o.seed)
	err := run(context.Background(), o, r)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
	}
	fmt.Printf("crash: %d kills, %d lost, %d failed starts\n", r.kills, r.lost, r.failedStarts)
	if err != nil || !r.sound() {
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
	for err == nil && r.kills < o.kills && r.sound() {
		t := newTrial(o, filepath.Join(work, fmt.Sprintf("data-%d", r.kills)), r)
		err = t.run(ctx, min(killsPerFolder, o.kills-r.kills))
		if err == nil && r.sound() {
			err = os.RemoveAll(t.data)
		}
		if err != nil || !r.sound() {
			fmt.Printf("seed %d; what was found is kept in %s\n", o.seed, work)
			return errors.Join(err, t.save(filepath.Join(work, "ledger.json")))
		}
	}
	r.tell()
	return errors.Join(err, os.RemoveAll(work))
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
	// acknowledged counts by RPC, moments by when the process was killed.
	acknowledged map[string]int
	moments      map[moment]int
	slowestStart time.Duration
}

func newReport(seed uint64) *report {
	return &report{
		random: rand.New(rand.NewPCG(seed, 1)), started: time.Now(), acknowledged: map[string]int{}, moments: map[moment]int{},
	}
}

func (r *report) sound() bool { return r.lost == 0 && r.failedStarts == 0 }

// maxTold is how many losses are told one by one.
const maxTold = 20

// lose counts something that is not as it was acknowledged.
func (r *report) lose(format string, args ...any) {
	if r.lost++; r.lost <= maxTold {
		fmt.Printf("lost: "+format+"\n", args...)
	}
}

func (r *report) progress() {
	acknowledged := 0
	for _, n := range r.acknowledged {
		acknowledged += n
	}
	took := time.Since(r.started)
	fmt.Printf("%4d kills, %d acknowledged, %.2f s a kill, slowest start %.2f s\n",
		r.kills, acknowledged, took.Seconds()/float64(max(r.kills, 1)), r.slowestStart.Seconds())
}

// tell prints what was done, and when it was killed.
func (r *report) tell() {
	for _, rpc := range slices.Sorted(maps.Keys(r.acknowledged)) {
		fmt.Printf("%9d %s\n", r.acknowledged[rpc], rpc)
	}
	for _, at := range slices.Sorted(maps.Keys(r.moments)) {
		fmt.Printf("%9d killed %s\n", r.moments[at], at)
	}
}

// save keeps what was acknowledged and what was under way, for whoever looks for what went wrong.
func (t *trial) save(path string) error {
	type pending struct {
		RPC    string
		Writes []string
	}
	var underWay []pending
	for _, o := range t.underWay {
		p := pending{RPC: o.rpc}
		for k, value := range o.writes {
			p.Writes = append(p.Writes, fmt.Sprintf("%s, %s: %q", k.Thing, k.Part, value))
		}
		underWay = append(underWay, p)
	}
	data, err := json.MarshalIndent(map[string]any{"acknowledged": t.ledger.is, "underWay": underWay}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
