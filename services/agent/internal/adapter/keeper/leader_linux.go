package keeper

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptors of a leader behind the usual three. LeaderFiles is that of the first file behind those in the call of Begin.
const (
	requestFD   = 3
	troubleFD   = 4
	LeaderFiles = 5
)

// Begin starts a leader in a session of its own, with three files that the program will have, and others that it works with. request is
// what Lead reads. why gives what the leader has to say; nothing, where it became the program.
func Begin(name string, request any, files ...*os.File) (f *Family, why *os.File, err error) {
	asks, asked, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer asks.Close() //nolint:errcheck // the leader has it
	why, said, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, asked.Close())
	}
	defer said.Close() //nolint:errcheck // the leader has it
	const usual = 3
	p, err := os.StartProcess(self, []string{name}, &os.ProcAttr{
		Env:   os.Environ(), // Nothing, but in tests.
		Files: append(append(append([]*os.File{}, files[:usual]...), asks, said), files[usual:]...),
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL},
	})
	if err != nil {
		return nil, nil, errors.Join(err, asked.Close(), why.Close())
	}
	f = newFamily(p.Pid)
	_ = p.Release() // It is waited for by its number, with all others.
	go f.reap()
	go func() {
		_ = gob.NewEncoder(asked).Encode(request) // A leader that is gone does not read it.
		_ = asked.Close()
	}()
	return f, why, nil
}

// Lead is the work of a leader: it reads the request into a pointer and becomes the program, or says why not.
func Lead(request any, become func() error) (code int) {
	runtime.LockOSThread() // What a thread puts on is what the program has that it becomes.
	err := gob.NewDecoder(os.NewFile(requestFD, "request")).Decode(request)
	if err != nil {
		err = fmt.Errorf("the request cannot be read: %w", err)
	} else {
		err = become()
	}
	if err != nil {
		_, _ = os.NewFile(troubleFD, "trouble").WriteString(err.Error())
		return failed
	}
	return 0
}

// Become makes this process the program, which gets no descriptors but the usual three. It returns where that cannot be.
func Become(argv, env []string) error {
	if err := CloseOnExec(); err != nil {
		return err
	}
	return fmt.Errorf("%s cannot be run: %w", argv[0], syscall.Exec(argv[0], argv, env))
}
