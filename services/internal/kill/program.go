package kill

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// StartLimit is how long a start may take.
const StartLimit = 20 * time.Second

// Program is a running program.
type Program struct {
	cmd     *exec.Cmd
	trouble *bytes.Buffer
	// address tells where it answers, once it does; closed without one when it ends before.
	address <-chan string
}

// Launch starts a program and does not wait for it. find reads out of a line of its output where it answers.
func Launch(ctx context.Context, find func(line string) (address string, found bool), binary string, args ...string) (*Program, error) {
	p := &Program{cmd: exec.CommandContext(ctx, binary, args...), trouble: &bytes.Buffer{}}
	p.cmd.Stderr = p.trouble
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	address := make(chan string, 1)
	p.address = address
	go func() {
		defer close(address)
		told := false
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if where, found := find(lines.Text()); found && !told {
				told = true
				address <- where
			}
		}
	}()
	return p, nil
}

// Address waits until the program says where it answers. One that does not in time, or ends before, is killed, and the error has what it said.
func (p *Program) Address() (string, error) {
	select {
	case address, ok := <-p.address:
		if !ok {
			return "", errors.Join(errors.New("the program did not come up"), p.Kill())
		}
		return address, nil
	case <-time.After(StartLimit):
		return "", errors.Join(fmt.Errorf("the program did not answer within %s", StartLimit), p.Kill(), errors.New(p.trouble.String()))
	}
}

// PID is the number of its process.
func (p *Program) PID() int { return p.cmd.Process.Pid }

// Kill ends the program with SIGKILL and waits until it is gone. One that had ended by itself is an error, which has what it said: nobody asked
// it to.
func (p *Program) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	for range p.address { // until its output ends
	}
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	if code := p.cmd.ProcessState.ExitCode(); code >= 0 {
		return fmt.Errorf("the program ended by itself, with code %d: %s", code, p.trouble)
	}
	return nil
}

// Build makes a program out of a package of this repository. It runs within it.
func Build(ctx context.Context, binary, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, pkg)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s (run this within the repository, or give -binary): %w", pkg, err)
	}
	return nil
}
