package durable

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	// lookAt names the database of which TestMain tells whether it is locked.
	lookAt = "TSUMUGI_TEST_LOOK_AT"
	locked = "locked"
)

// TestMain is also another program, which tells whether anybody uses a database: whether a lock stands against its own on the bytes in which SQLite marks
// readers (https://sqlite.org/fileformat2.html, 1.3: 510 bytes behind the pending byte at 2^30).
func TestMain(m *testing.M) {
	path := os.Getenv(lookAt)
	if path == "" {
		os.Exit(m.Run())
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 1<<30 + 2, Len: 510}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock)
	}
	switch {
	case err != nil:
		_, _ = os.Stdout.WriteString(err.Error())
	case lock.Type == syscall.F_UNLCK:
		_, _ = os.Stdout.WriteString("free")
	default:
		_, _ = os.Stdout.WriteString(locked)
	}
	os.Exit(0)
}

// seen is what another program sees.
func seen(t *testing.T, path string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
	c.Env = append(os.Environ(), lookAt+"="+path)
	out, err := c.CombinedOutput()
	must(t, err)
	return string(out)
}

// TestOthersSeeThatItIsInUse: a database that is open is locked, also where it was opened once more. Another program that found no lock would take itself
// for the last one and delete the write-ahead log when it leaves, and what is acknowledged from then on would be gone.
func TestOthersSeeThatItIsInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	first := open(t, path)
	second := open(t, path)
	must(t, add(first, 10))
	if got := seen(t, path); got != locked {
		t.Errorf("open twice: %s", got)
	}
	must(t, second.Close())
	must(t, add(first, 10))
	if got := seen(t, path); got != locked {
		t.Errorf("closed once: %s", got)
	}
	must(t, first.Close())
	if got := seen(t, path); got != "free" {
		t.Errorf("closed: %s", got)
	}
}

// TestADeletedLog: nothing is acknowledged into a write-ahead log that somebody has taken away.
func TestADeletedLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	d := open(t, path)
	must(t, add(d, 10))
	must(t, os.Remove(path+"-wal"))
	if err := add(d, 10); err == nil || !strings.Contains(err.Error(), "a.db-wal was deleted while it was in use") {
		t.Errorf("error %v", err)
	}
}
