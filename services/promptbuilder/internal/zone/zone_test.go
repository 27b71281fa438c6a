package zone

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every zone is read, and is the one of its name.
func TestEveryZone(t *testing.T) {
	t.Parallel()
	n := 0
	for _, f := range files().File {
		if f.FileInfo().IsDir() {
			continue
		}
		n++
		if z, err := Load(f.Name); err != nil || z.String() != f.Name {
			t.Errorf("%s: %v, %v", f.Name, z, err)
		}
	}
	if n < 500 {
		t.Errorf("%d zones", n)
	}
	for _, name := range []string{"", "Local", "Asia", "Mars/Base", "asia/tokyo", "/etc/localtime", "../x", "posixrules"} {
		if z, err := Load(name); err == nil || z != nil {
			t.Errorf("%q is %v", name, z)
		}
	}
}

// What the machine takes for Asia/Tokyo changes nothing: a process with other zones has the same one.
func TestTheZonesOfTheMachine(t *testing.T) {
	t.Parallel()
	const asked = "TSUMUGI_ZONE_OF_A_TEST"
	if os.Getenv(asked) != "" {
		z, err := Load("Asia/Tokyo")
		if err != nil {
			t.Fatal(err)
		}
		_, offset := time.Unix(0, 0).In(z).Zone()
		here, err := time.LoadLocation("Asia/Tokyo")
		if err != nil {
			t.Fatal(err)
		}
		_, theirs := time.Unix(0, 0).In(here).Zone()
		t.Logf("offsets %d and %d", offset, theirs)
		return
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "Asia"), 0o750); err != nil {
		t.Fatal(err)
	}
	other, err := fs.ReadFile(files(), "Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Asia", "Tokyo"), other, 0o600); err != nil {
		t.Fatal(err)
	}
	program := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheZonesOfTheMachine$", "-test.v") //nolint:gosec // this test
	program.Env = append(os.Environ(), asked+"=1", "ZONEINFO="+dir)
	out, err := program.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "offsets 32400 and 3600") {
		t.Errorf("%v: %s", err, out)
	}
}
