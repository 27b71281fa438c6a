package execchild

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
)

// lead puts on the sandbox and becomes the program.
func lead() int {
	var r request
	return keeper.Lead(&r, func() error { return become(r) })
}

func become(r request) error {
	if err := confine(r); err != nil {
		return err
	}
	if r.Probe {
		if err := offline(r); err != nil {
			return err
		}
		return tryOut(r)
	}
	if err := limit(r); err != nil {
		return err
	}
	if err := offline(r); err != nil {
		return err
	}
	return keeper.Become(r.Argv, r.Env)
}

// confine holds the process in its folders, without privileges, in the folder in which the program runs.
func confine(r request) error {
	if err := unix.Fchdir(leaderWork); err != nil {
		return fmt.Errorf("the work folder cannot be entered: %w", err)
	}
	rules := []landlock.Rule{
		landlock.RWDirs(".", r.Temp).WithRefer(),
		landlock.RWFiles(devices...).IgnoreIfMissing(),
	}
	dirs, files := kinds(r.Read)
	rules = append(rules, landlock.RODirs(dirs...).IgnoreIfMissing(), landlock.ROFiles(files...).IgnoreIfMissing())
	if r.Network {
		if err := keeper.Restrict(rules...); err != nil {
			return err
		}
	} else if err := landlock.V11.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := unix.Fchdir(leaderWork + 1); err != nil {
		return fmt.Errorf("the folder to run in cannot be entered: %w", err)
	}
	unix.Umask(0o022)
	return keeper.DropPrivileges()
}

// kinds parts folders from files.
func kinds(paths []string) (dirs, files []string) {
	for _, p := range paths {
		if info, err := os.Stat(p); err != nil || !info.IsDir() {
			files = append(files, p)
		} else {
			dirs = append(dirs, p)
		}
	}
	return dirs, files
}

// limit bounds what each process of the program may use.
func limit(r request) error {
	for which, most := range r.Limits {
		var have unix.Rlimit
		if err := unix.Getrlimit(which, &have); err != nil {
			return fmt.Errorf("limit %d: %w", which, err)
		}
		hard := most
		if which == unix.RLIMIT_CPU {
			hard++ // So that SIGXCPU comes first, which says why.
		}
		set := unix.Rlimit{Cur: min(most, have.Max), Max: min(hard, have.Max)}
		if err := unix.Setrlimit(which, &set); err != nil {
			return fmt.Errorf("limit %d cannot be set to %d: %w", which, most, err)
		}
	}
	return nil
}
