package execchild

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/router"
)

// Names under which a process knows that it is a child.
const (
	keeperName = "tsumugi-exec-keeper"
	leaderName = "tsumugi-exec-leader"
)

// Descriptors of the work folder in the children. The folder to run in is the next.
const (
	keeperWork = keeper.KeeperFiles
	leaderWork = keeper.LeaderFiles
)

// environment is that of keepers. Tests under the race detector have something in it.
var environment []string

// request is what the keeper is asked to do.
type request struct {
	// Argv begins with the path of the program. Probe: there is none, and the leader tries the sandbox instead.
	Argv  []string
	Env   []string
	Probe bool
	// Read are readable where they are there, Secret must not be.
	Read, Secret []string
	Network      bool
	// Temp is where the folder of the program's own is made.
	Temp   string
	Limits map[int]uint64
	// Processes are how many processes and threads there may be at once. RLIMIT_NPROC would count all of a user, those of other containers
	// among them, and none of root's.
	Processes int
}

// report is what the keeper says when nothing of the program is left.
type report struct {
	// Trouble is why no program was started.
	Trouble string
	Status  syscall.WaitStatus
	// Over: it was ended since it had too many processes. Left are how many it had left behind when it ended by itself.
	Over bool
	Left int
}

func mechanism() string { return fmt.Sprintf("landlock %d and seccomp", keeper.Landlock()) }

// request is what runs a call.
func (e *Exec) request(c call) request {
	r := e.frame()
	r.Argv = slices.Concat([]string{e.config.Programs[c.Argv[0]]}, c.Argv[1:])
	for name, value := range e.config.Env {
		r.Env = append(r.Env, name+"="+value)
	}
	slices.Sort(r.Env)
	return r
}

// frame is the sandbox of a request.
func (e *Exec) frame() request {
	c := e.config
	r := request{Read: slices.Concat(systemPaths, c.ReadOnly), Secret: e.secret, Network: c.AllowNetwork, Temp: os.TempDir(), Processes: c.Processes}
	for _, path := range c.Programs {
		r.Read = append(r.Read, path)
	}
	slices.Sort(r.Read)
	r.Limits = map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: uint64(c.OpenFiles), unix.RLIMIT_FSIZE: uint64(c.FileSize), unix.RLIMIT_DATA: uint64(c.Memory),
		unix.RLIMIT_CPU: uint64(c.CPU / time.Second),
	}
	return r
}

// prove has a child try the sandbox.
func (e *Exec) prove(ctx context.Context) error {
	if err := keeper.CanConfine(); err != nil {
		return err
	}
	dir, _, err := e.open(".")
	if err != nil {
		return err
	}
	defer dir.Close() //nolint:errcheck // only held
	r := e.frame()
	r.Probe = true
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var said bytes.Buffer
	told, err := e.keep(ctx, r, dir, &said)
	switch {
	case err != nil:
		return errors.Join(err, errors.New(said.String()))
	case ctx.Err() != nil:
		return fmt.Errorf("the sandbox was not ready in time: %w", ctx.Err())
	case told.Trouble != "":
		return errors.New(told.Trouble)
	}
	return nil
}

const (
	// probeTime bounds the try of the sandbox.
	probeTime = 20 * time.Second
	// orphanTime bounds the wait for what holds the output open when the keeper is gone: only what a killed keeper could not end does.
	orphanTime = 5 * time.Second
)

// start runs a call in an open folder.
func (e *Exec) start(ctx context.Context, r request, dir *os.File) (router.Output, error) {
	if err := ctx.Err(); err != nil {
		return router.Output{}, &router.NotStartedError{Err: err}
	}
	out := &head{limit: int(e.config.Output)}
	told, err := e.keep(ctx, r, dir, out)
	switch {
	case err != nil:
		return router.Output{}, err
	case told.Trouble != "":
		return router.Output{}, &router.NotStartedError{Err: errors.New(told.Trouble)}
	}
	how, failed := e.ending(ctx, told)
	return router.Output{Text: out.told(how), Failed: failed}, nil
}

// ending says how a program ended. One that was ended has failed, and is no unknown outcome: nothing of it can do anything any more.
func (e *Exec) ending(ctx context.Context, r report) (how string, failed bool) {
	s, left := r.Status, ""
	if r.Left > 0 {
		left = fmt.Sprintf("; %d processes that it had left running were ended", r.Left)
	}
	switch {
	case s.Exited():
		return fmt.Sprintf("exit code %d%s", s.ExitStatus(), left), s.ExitStatus() != 0
	case r.Over:
		return fmt.Sprintf("ended with all that it had started: it had more than the %d processes and threads that it may", e.config.Processes), true
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("ended with all that it had started: it took longer than the %s that it may; what it had done by then stays", e.config.Timeout), true
	case ctx.Err() != nil:
		return "ended with all that it had started, since the call was canceled; what it had done by then stays", true
	}
	return fmt.Sprintf("ended by the signal %s%s", unix.SignalName(s.Signal()), left), true
}

// keep starts a keeper, and waits until nothing of the program is left. When the context ends the keeper ends the program.
func (e *Exec) keep(ctx context.Context, r request, dir *os.File, out io.Writer) (report, error) {
	cmd, in, tells, err := e.startKeeper(dir, out)
	if err != nil {
		return report{}, &router.NotStartedError{Err: err}
	}
	defer tells.Close() //nolint:errcheck // only read
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_ = gob.NewEncoder(in).Encode(r) // A keeper that does not get it says so.
	}()
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	defer stop()
	var told report
	unread := gob.NewDecoder(tells).Decode(&told) // Its end is that of the keeper.
	err = cmd.Wait()
	<-sent
	if err := errors.Join(err, unread); err != nil {
		return report{}, fmt.Errorf("the keeper of the program is gone, and what is left of the program is not known: %w", err)
	}
	return told, nil
}

// startKeeper gives the keeper with its two pipes. It ends the program when its input closes.
func (e *Exec) startKeeper(dir *os.File, out io.Writer) (cmd *exec.Cmd, in io.WriteCloser, tells *os.File, err error) {
	top, err := e.top.Open(".")
	if err != nil {
		return nil, nil, nil, err
	}
	defer top.Close() //nolint:errcheck // the keeper has it
	tells, told, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer told.Close() //nolint:errcheck // the keeper has it
	if cmd, err = keeper.Command(keeperName, environment, told, top, dir); err != nil {
		return nil, nil, nil, errors.Join(err, tells.Close())
	}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, orphanTime
	if in, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, tells.Close())
	}
	return cmd, in, tells, nil
}

// open opens a folder below the work folder, through no link that leaves it, and says which one it is.
func (e *Exec) open(cwd string) (*os.File, string, error) {
	f, err := e.top.OpenFile(cwd, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, "", fmt.Errorf("the folder to run in cannot be opened: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, "", errors.Join(err, f.Close())
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, "", errors.Join(errors.New("the folder to run in has no number"), f.Close())
	}
	return f, fmt.Sprintf("%d:%d", s.Dev, s.Ino), nil
}

// head keeps the beginning of an output, and counts the rest.
type head struct {
	limit int
	kept  []byte
	bytes int64
}

func (h *head) Write(p []byte) (int, error) {
	h.bytes += int64(len(p))
	h.kept = append(h.kept, p[:min(len(p), h.limit-len(h.kept))]...)
	return len(p), nil
}

// told is the output under how it ended. It is longer than the limit where something is left out, so that whoever shows it says so.
func (h *head) told(how string) []byte {
	var b strings.Builder
	b.WriteString(how)
	switch {
	case h.bytes == 0:
		b.WriteString("; no output\n")
	case h.bytes > int64(len(h.kept)):
		fmt.Fprintf(&b, "; of %d bytes of output the first\n", h.bytes)
	default:
		b.WriteString("; output\n")
	}
	b.Write(h.kept)
	return []byte(b.String())
}
