package execchild

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
)

// Roles are those of the children that a program is started by.
func Roles() keeper.Roles { return keeper.Roles{keeperName: keep, leaderName: lead} }

// keep runs a program and ends all of it. The sandbox does not hold the keeper, so no program can send it a signal where Landlock knows
// signals (Linux 6.12).
func keep() int {
	k, err := keeper.Enter()
	if err != nil {
		return k.Report(report{Trouble: err.Error()})
	}
	var r request
	if err := k.Read(&r); err != nil {
		return k.Report(report{Trouble: "the call was canceled before it began"})
	}
	return k.Report(kept(r))
}

// kept is what became of a request.
func kept(r request) report {
	own, err := os.MkdirTemp(r.Temp, "tsumugi-exec-")
	if err != nil {
		return report{Trouble: "no folder for its temporary files: " + err.Error()}
	}
	defer remove(own)
	r.Temp, r.Env = own, append(r.Env, temp+"="+own)
	null, err := os.Open(os.DevNull)
	if err != nil {
		return report{Trouble: err.Error()}
	}
	f, why, err := keeper.Begin(leaderName, r, null, os.Stdout, os.Stderr, os.NewFile(keeperWork, "work"), os.NewFile(keeperWork+1, "folder"))
	if err != nil {
		return report{Trouble: err.Error()}
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, os.Stdin) // It ends when the agent says so, or is no more.
	}()
	said := watch(f, closed, r.Processes)
	f.End()
	trouble, err := io.ReadAll(why) // Whoever wrote to it is gone.
	if err != nil {
		trouble = []byte(err.Error())
	}
	said.Trouble, said.Status = string(trouble), f.Status()
	return said
}

// watch waits until the leader ends, closed closes, or there are too many of them.
func watch(f *keeper.Family, closed <-chan struct{}, most int) report {
	const pause = 100 * time.Millisecond
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-f.Ended():
			return report{Left: f.Left(most)}
		case <-closed:
			return report{}
		case <-ticker.C:
			if f.Threads(most) > most {
				return report{Over: true}
			}
		}
	}
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
