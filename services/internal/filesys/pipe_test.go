//go:build unix

package filesys_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/internal/filesys"
)

// Reading a pipe that nobody writes to is refused, and waits for nobody.
func TestReadFileOfPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "000.xml"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := filesys.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if data, err := d.ReadFile("000.xml", 10); !errors.Is(err, filesys.ErrIrregular) {
		t.Errorf("%q, %v", data, err)
	}
}
