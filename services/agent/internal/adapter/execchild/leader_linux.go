package execchild

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// minLandlock is the first version that knows of truncation: before it a program could empty files that it may not open.
const minLandlock = 3

func landlockVersion() int {
	v, err := landlocksys.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return v
}

// lead puts on the sandbox and becomes the program, or says why not.
func lead() int {
	runtime.LockOSThread() // What a thread puts on is what the program has that it becomes.
	err := become()
	if err != nil {
		_, _ = os.NewFile(trouble, "trouble").WriteString(err.Error())
		return exitError
	}
	return 0
}

func become() error {
	var r request
	if err := json.NewDecoder(os.NewFile(reportFD, "request")).Decode(&r); err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	if err := confine(r); err != nil {
		return err
	}
	if r.Probe {
		if err := offline(r); err != nil {
			return err
		}
		return tryOut(r)
	}
	if err := unix.CloseRange(reportFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("descriptors cannot be closed: %w", err)
	}
	if err := limit(r); err != nil {
		return err
	}
	if err := offline(r); err != nil {
		return err
	}
	return fmt.Errorf("%s cannot be run: %w", r.Argv[0], syscall.Exec(r.Argv[0], r.Argv, r.Env))
}

// confine holds the process in its folders, without privileges, in the folder in which the program runs.
func confine(r request) error {
	if err := unix.Fchdir(workFD); err != nil {
		return fmt.Errorf("the work folder cannot be entered: %w", err)
	}
	rules := []landlock.Rule{
		landlock.RWDirs(".", r.Temp).WithRefer(),
		landlock.RWFiles(devices...).IgnoreIfMissing(),
	}
	dirs, files := kinds(r.Read)
	rules = append(rules, landlock.RODirs(dirs...).IgnoreIfMissing(), landlock.ROFiles(files...).IgnoreIfMissing())
	config := landlock.V11.BestEffort()
	var err error
	if r.Network {
		err = errors.Join(config.RestrictPaths(rules...), config.RestrictScoped())
	} else {
		err = config.Restrict(rules...)
	}
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := unix.Fchdir(folderFD); err != nil {
		return fmt.Errorf("the folder to run in cannot be entered: %w", err)
	}
	unix.Umask(0o022)
	return withoutPrivileges()
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

// withoutPrivileges leaves of root's capabilities those by which it writes to a work folder of another user: what files they reach
// Landlock says.
func withoutPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("privileges of set-uid programs cannot be given up: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("capabilities cannot be read: %w", err)
	}
	stays := have[0].Permitted & (1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER)
	left := [2]unix.CapUserData{{Effective: stays, Permitted: stays}}
	if err := unix.Capset(&header, &left[0]); err != nil {
		return fmt.Errorf("capabilities cannot be given up: %w", err)
	}
	return nil
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
