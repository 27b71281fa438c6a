package keeper

import (
	"encoding/gob"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is the file that this process runs, also where another one has its name by now.
const self = "/proc/self/exe"

// reportFD is the descriptor on which a keeper reports. KeeperFiles is that of the first of the files which Command was given, in the keeper.
const (
	reportFD    = 3
	KeeperFiles = 4
)

// failed is the exit code of a keeper or leader that could not do its work.
const failed = 70

// Command is a keeper that is still to be started: it reads its request from its input, which must stay open as long as the program may
// run, reports on report, and has the files from KeeperFiles on. No context may kill it, since it has a program to end. env is its
// environment, which no program gets.
func Command(name string, env []string, report *os.File, files ...*os.File) (*exec.Cmd, error) {
	if !hooked.Load() {
		return nil, ErrNotHooked
	}
	cmd := exec.Command(self) //nolint:noctx // see above
	cmd.Args, cmd.Env = []string{name}, append([]string{}, env...)
	cmd.ExtraFiles, cmd.SysProcAttr = append([]*os.File{report}, files...), &syscall.SysProcAttr{Setsid: true}
	return cmd, nil
}

// Keeper is this process as one.
type Keeper struct {
	requests *gob.Decoder
	reports  *gob.Encoder
}

// Enter makes this process a keeper, which has to hold the goroutine from then on: the leader dies together with its thread. The error is
// one of the system, and is to be reported; there is a keeper all the same.
func Enter() (*Keeper, error) {
	runtime.LockOSThread()
	// Not ignored, which the program would inherit. Nobody reads them.
	signal.Notify(make(chan os.Signal, 1), unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE)
	unix.CloseOnExec(reportFD)
	k := &Keeper{gob.NewDecoder(os.Stdin), gob.NewEncoder(os.NewFile(reportFD, "report"))}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return k, fmt.Errorf("what a program leaves behind cannot be taken over: %w", err)
	}
	if _, err := os.ReadFile("/proc/thread-self/children"); err != nil {
		return k, fmt.Errorf("the kernel does not list the children of a process: %w", err)
	}
	return k, nil
}

// Read reads the next thing that the agent asks for into a pointer. An error says that nothing comes any more: the agent wants the end, or
// is no more.
func (k *Keeper) Read(request any) error { return k.requests.Decode(request) }

// Report tells the agent something, and gives the exit code of a keeper that has nothing more to tell.
func (k *Keeper) Report(r any) (code int) {
	if k.reports.Encode(r) != nil {
		return failed
	}
	return 0
}
