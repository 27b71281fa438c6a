package keeper

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Family is the leader and all that came of it. Whoever loses its parent becomes a child of the keeper.
type Family struct {
	leader int
	// mu makes sure that no number is sent a signal after its process was waited for, when it may be another's.
	mu     sync.Mutex
	reaped bool
	status syscall.WaitStatus
	// ended is closed when the leader has ended, gone when nobody is left.
	ended, gone chan struct{}
}

func newFamily(leader int) *Family {
	return &Family{leader: leader, ended: make(chan struct{}), gone: make(chan struct{})}
}

// Ended is closed when the leader has ended: as the program, or since it could not become it.
func (f *Family) Ended() <-chan struct{} { return f.ended }

// Gone is closed when nobody is left.
func (f *Family) Gone() <-chan struct{} { return f.gone }

// Status is how the leader has ended.
func (f *Family) Status() syscall.WaitStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// reap waits for children until there are none.
func (f *Family) reap() {
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
func (f *Family) wait() {
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

// End kills until nobody is left: whose parent was killed is a child of ours the next time.
func (f *Family) End() {
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
func (f *Family) kill() {
	f.Signal(unix.SIGKILL)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, pid := range children("self") {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// Signal sends a signal to the leader with its group, as long as it is there.
func (f *Family) Signal(s syscall.Signal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.reaped {
		_ = unix.Kill(-f.leader, s)
	}
}

// Left are how many there are without those that have ended: a few more than most where there are more.
func (f *Family) Left(most int) int {
	f.mu.Lock() // All that have ended are waited for by now.
	defer f.mu.Unlock()
	n, _ := below(most)
	return n
}

// Threads counts the threads of all of them: a few more than most where there are more.
func (f *Family) Threads(most int) int {
	_, threads := below(most)
	return threads
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
