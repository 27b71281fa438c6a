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
	"os"
	"path/filepath"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/internal/kill"
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
	r := kill.NewReport(os.Stdout, o.seed)
	r.Say("flowstore: %d kills, %d writers, seed %d", o.kills, o.writers, o.seed)
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
	work, err := os.MkdirTemp("", "tsumugi-crash-")
	if err != nil {
		return err
	}
	if o.binary == "" {
		o.binary = filepath.Join(work, "flowstore")
		if err := kill.Build(ctx, o.binary, "github.com/tsumugi-dev/tsumugi/services/flowstore/cmd/flowstore"); err != nil {
			return errors.Join(err, os.RemoveAll(work))
		}
	}
	for err == nil && r.Kills < o.kills && r.Sound() {
		t := newTrial(o, filepath.Join(work, fmt.Sprintf("data-%d", r.Kills)), r)
		err = t.run(ctx, min(killsPerFolder, o.kills-r.Kills))
		if err == nil && r.Sound() {
			err = os.RemoveAll(t.data)
		}
		if err != nil || !r.Sound() {
			r.Say("seed %d; what was found is kept in %s", o.seed, work)
			return errors.Join(err, t.save(filepath.Join(work, "ledger.json")))
		}
	}
	r.Tell()
	return errors.Join(err, os.RemoveAll(work))
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
