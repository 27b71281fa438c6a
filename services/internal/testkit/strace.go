package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// SyncCalls runs the calling test once more, in a process of its own with the variable key set to value, and gives the
// lines in which strace tells of that process's fsync and fdatasync calls: the double of a disk cannot see whether a call
// reaches the system. The test skips where there is no strace, or it may not watch; where TSUMUGI_NEED has `strace` it
// fails.
func SyncCalls(t testing.TB, key, value string) string {
	t.Helper()
	lack := t.Skipf
	if Need("strace") {
		lack = t.Fatalf
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		lack("strace is not installed, and nothing else counts system calls: install it (Debian, Ubuntu: apt install strace)")
	}
	calls := filepath.Join(t.TempDir(), "calls")
	cmd := exec.CommandContext(t.Context(), strace, "-f", "-y", "-o", calls, "-e", "trace=fsync,fdatasync,syncfs", os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), key+"="+value)
	if out, err := cmd.CombinedOutput(); strings.Contains(string(out), "ptrace") {
		lack("strace may not watch a process here: %s", out)
	} else if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}
