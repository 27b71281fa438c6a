package execchild

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keep runs a program and ends all of it. The sandbox does not hold the keeper, so no program can send it a signal where Landlock knows
// signals (Linux 6.12).
func keep() int {
	runtime.LockOSThread() // The leader is to die with this process, which the kernel takes for this thread.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGPIPE)
	told := os.NewFile(reportFD, "report")
	unix.CloseOnExec(reportFD)
	in := json.NewDecoder(os.Stdin)
	var r request
	said := report{Trouble: "the call was canceled before it began"}
	if err := in.Decode(&r); err == nil {
		said = kept(r)
	}
	if err := json.NewEncoder(told).Encode(said); err != nil {
		return exitError
	}
	return 0
}

// kept is what became of a request.
func kept(r request) report {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return report{Trouble: "what a program leaves behind cannot be taken over: " + err.Error()}
	}
	if _, err := os.ReadFile("/proc/thread-self/children"); err != nil {
		return report{Trouble: "the kernel does not list the children of a process: " + err.Error()}
	}
	own, err := os.MkdirTemp(r.Temp, "tsumugi-exec-")
	if err != nil {
		return report{Trouble: "no folder for its temporary files: " + err.Error()}
	}
	defer remove(own)
	r.Temp, r.Env = own, append(r.Env, temp+"="+own)
	leader, why, err := begin(r)
	if err != nil {
		return report{Trouble: err.Error()}
	}
	f := family{leader: leader, ended: make(chan struct{}), gone: make(chan struct{})}
	go f.reap()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, os.Stdin) // It ends when the agent says so, or is no more.
	}()
	said := f.watch(closed, r.Processes)
	f.end()
	trouble, err := io.ReadAll(why) // Whoever wrote to it is gone.
	if err != nil {
		trouble = []byte(err.Error())
	}
	said.Trouble, said.Status = string(trouble), f.status
	return said
}

// begin starts the leader. why gives what it has to say; nothing, where it became the program.
func begin(r request) (pid int, why *os.File, err error) {
	asks, asked, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	defer asks.Close() //nolint:errcheck // the leader has it
	why, said, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	defer said.Close() //nolint:errcheck // the leader has it
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, nil, err
	}
	defer null.Close() //nolint:errcheck // the leader has it
	p, err := os.StartProcess(self, []string{leaderName}, &os.ProcAttr{
		Env:   os.Environ(), // Nothing, but in tests.
		Files: []*os.File{null, os.Stdout, os.Stderr, asks, os.NewFile(workFD, "work"), os.NewFile(folderFD, "folder"), said},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return 0, nil, err
	}
	pid = p.Pid
	_ = p.Release() // It is waited for by its number, with all others.
	go func() {
		_ = json.NewEncoder(asked).Encode(r) // A leader that is gone does not read it.
		_ = asked.Close()
	}()
	return pid, why, nil
}

// family is the leader and all that came of it. Whoever loses its parent becomes a child of the keeper.
type family struct {
	leader int
	// mu makes sure that no number is sent a signal after its process was waited for, when it may be another's.
	mu     sync.Mutex
	reaped bool
	status syscall.WaitStatus
	// ended is closed when the leader has ended, gone when nobody is left.
	ended, gone chan struct{}
}

// reap waits for children until there are none.
func (f *family) reap() {
	defer close(f.gone)
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil { // ECHILD
			return
		}
		f.mu.Lock()
		f.wait()
		f.mu.Unlock()
	}
}

// wait takes the statuses of all that have ended.
func (f *family) wait() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err != nil || pid <= 0 {
			return
		}
		if pid == f.leader {
			f.status, f.reaped = syscall.WaitStatus(status), true
			close(f.ended)
		}
	}
}

// end kills until nobody is left: whose parent was killed is a child of ours the next time.
func (f *family) end() {
	const pause = time.Millisecond
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		f.kill()
		select {
		case <-f.gone:
			return
		case <-ticker.C:
		}
	}
}

// kill sends SIGKILL to the leader with its group, and to every child of ours.
func (f *family) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.reaped {
		_ = unix.Kill(-f.leader, unix.SIGKILL)
	}
	for _, pid := range children("self") {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// watch waits until the leader ends, closed closes, or there are too many of them.
func (f *family) watch(closed <-chan struct{}, most int) report {
	const pause = 100 * time.Millisecond
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-f.ended:
			return report{Left: f.left(most)}
		case <-closed:
			return report{}
		case <-ticker.C:
			if _, threads := below(most); threads > most {
				return report{Over: true}
			}
		}
	}
}

// left are how many the leader has left, without those that have ended.
func (f *family) left(most int) int {
	f.mu.Lock() // All that have ended are waited for by now.
	defer f.mu.Unlock()
	n, _ := below(most)
	return n
}

// below counts the processes below this one, and their threads: a few more than most where there are more.
func below(most int) (processes, threads int) {
	for todo := children("self"); len(todo) > 0 && threads <= most; todo = todo[1:] {
		pid := strconv.Itoa(todo[0])
		tasks, err := os.ReadDir("/proc/" + pid + "/task")
		if err != nil {
			continue // It has ended.
		}
		processes, threads = processes+1, threads+len(tasks)
		todo = append(todo, children(pid)...)
	}
	return processes, threads
}

// children are those of a process: the kernel lists them by its threads.
func children(pid string) (all []int) {
	lists, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // A thread that has ended.
		}
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				all = append(all, pid)
			}
		}
	}
	return all
}

// remove takes a folder away, also where a program has closed parts of it to itself.
func remove(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, "the temporary folder of the program is left:", err)
	}
}
