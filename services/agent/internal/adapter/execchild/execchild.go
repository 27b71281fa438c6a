// Package execchild runs programs for the tool exec (field/review-agent.md S11, S26): router.Effect and router.Processes over one work
// folder.
//
// A program runs in three steps of one executable file (package keeper): its keeper ends it when its time is over, when the agent says so,
// and when the agent is no more.
//
// The sandbox needs no privileges. Landlock lets the program write to the work folder and to a folder of its own that goes with it, read
// the programs and libraries of the system, and nothing else; seccomp lets it make no sockets but pairs of its own, so that there is no
// network, no loopback and no socket of another program; it has no capabilities but those by which root writes to files of others, and
// limits of memory, processors, files and processes. What it may change within the work folder is not held: names that the other tools
// refuse are open to an approved program. It can see that a file is there whose path it knows, not what is in it. Where the system
// cannot hold all that, nothing runs. Other systems than Linux refuse.
package execchild

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/canon"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/tool"
)

// temp is the variable that names the folder of a program's own.
const temp = "TMPDIR"

// Exec runs programs in one work folder. Close it.
type Exec struct {
	config Config
	path   string
	top    *os.Root
	// secret is what a program must not be able to read.
	secret []string
	// proved is set when the sandbox was seen to hold.
	proved atomic.Bool
}

var (
	_ router.Effect    = (*Exec)(nil)
	_ router.Processes = (*Exec)(nil)
)

// New opens the work folder of a session. secret are files and folders that no program may read: the data folder, tokens, settings. The
// error says all that is wrong; that the sandbox cannot be had here is Ready's to say.
func New(c Config, folder string, secret []string) (*Exec, error) {
	path, err := filepath.EvalSymlinks(folder)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, fmt.Errorf("exec: the work folder: %w", err)
	}
	if err := apart(c, path, secret); err != nil {
		return nil, err
	}
	top, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("exec: the work folder: %w", err)
	}
	return &Exec{config: c, path: path, top: top, secret: slices.Clone(secret)}, nil
}

// Close gives the folder back. Programs that run are not stopped by it, but by the end of their context.
func (e *Exec) Close() error { return e.top.Close() }

// Definition is the tool as the model sees it, with the names of the programs.
func (e *Exec) Definition() tool.Definition {
	d := tool.ExecDefinition(e.config.AllowNetwork, slices.Sorted(maps.Keys(e.config.Programs))...)
	d.Timeout, d.Limit = e.config.Timeout, int(e.config.Output)
	return d
}

// InFolder implements router.Effect: a program has the folder alone.
func (e *Exec) InFolder() bool { return true }

// Ready implements router.Effect. It starts a child once that puts the sandbox on and tries to get out of it.
func (e *Exec) Ready(ctx context.Context) error {
	if e.proved.Load() {
		return nil
	}
	if err := e.prove(ctx); err != nil {
		return fmt.Errorf("no program can be run here: %w", err)
	}
	e.proved.Store(true)
	return nil
}

// Process implements router.Processes. That nothing can be run here is told here, too: a person is not asked for what cannot be done
// (field/review-agent.md S27).
func (e *Exec) Process(ctx context.Context, args []byte) (canon.Process, error) {
	if err := e.Ready(ctx); err != nil {
		return canon.Process{}, err
	}
	c, err := e.read(args)
	if err != nil {
		return canon.Process{}, err
	}
	dir, folder, err := e.open(c.Cwd)
	if err != nil {
		return canon.Process{}, err
	}
	return canon.Process{Folder: folder, Environment: e.names(), Profile: e.profile(c.Argv[0])}, dir.Close()
}

// Start implements router.Effect. A program that ends by itself, or was ended with all that it had started, has an output; only one of
// which that is not known has an error.
func (e *Exec) Start(ctx context.Context, _ router.Intent, args []byte) (router.Output, error) {
	c, err := e.read(args)
	if err != nil {
		return router.Output{}, &router.NotStartedError{Err: err}
	}
	dir, _, err := e.open(c.Cwd)
	if err != nil {
		return router.Output{}, &router.NotStartedError{Err: err}
	}
	defer dir.Close() //nolint:errcheck // only held
	return e.start(ctx, e.request(c), dir)
}

// call are the arguments of the tool.
type call struct {
	Argv []string `json:"argv"`
	Cwd  string   `json:"cwd"`
}

// read reads checked arguments, once more: what is no name of the list has no path.
func (e *Exec) read(args []byte) (call, error) {
	var c call
	if err := json.Unmarshal(args, &c); err != nil {
		return call{}, err
	}
	if len(c.Argv) == 0 {
		return call{}, errors.New("argv is empty: it begins with the name of a program")
	}
	if e.config.Programs[c.Argv[0]] == "" {
		return call{}, fmt.Errorf("argv begins with %q, which is no program of the list; they are %s", tool.PlainLine(c.Argv[0], maxName), strings.Join(slices.Sorted(maps.Keys(e.config.Programs)), ", "))
	}
	for _, a := range c.Argv {
		if strings.ContainsRune(a, 0) {
			return call{}, errors.New("argv holds a zero byte, which no program can be given")
		}
	}
	if c.Cwd == "" {
		c.Cwd = "."
	}
	return c, nil
}

// names are those of the variables that a program gets, sorted.
func (e *Exec) names() []string {
	names := append(slices.Collect(maps.Keys(e.config.Env)), temp)
	slices.Sort(names)
	return slices.Compact(names)
}

// profile is what an approval shows of the sandbox, and digests: which program a name stands for, and what holds it.
func (e *Exec) profile(name string) string {
	network := "no network"
	if e.config.AllowNetwork {
		network = "with the network"
	}
	return fmt.Sprintf("%s, %s, writes to the work folder only, settings %s, runs %s", mechanism(), network, e.settings(), e.config.Programs[name])
}

// settings tells the readable paths and limits of one configuration from those of another. Values of variables are not in it: a short
// secret could be guessed from it.
func (e *Exec) settings() string {
	c := e.config
	c.Env = nil
	text, err := json.Marshal(c)
	if err != nil { // Texts and numbers always have a form.
		return ""
	}
	const shown = 8
	return fmt.Sprintf("%x", sha256.Sum256(text))[:2*shown]
}
