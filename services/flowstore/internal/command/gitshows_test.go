package command

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// git diff and git log -p show what textconv says.
func TestGitShowsConversations(t *testing.T) {
	t.Parallel()
	x, _ := clones(t)
	binary := filepath.Join(t.TempDir(), "flowstore")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/flowstore")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	x.git("config", "diff.tsumugi.textconv", binary+" textconv")
	x.replace("nodes/000/000.xml", "\none\n", "\nuno\n")
	diff := x.git("diff")
	if !strings.Contains(diff, " --- user ---\n-one\n+uno\n") || strings.Contains(diff, "CDATA") {
		t.Errorf("git diff shows %s", diff)
	}
	write(t, x.path("nodes/000/000.xml"), "broken")
	if log := x.git("log", "-p"); !strings.Contains(log, "+--- user ---\n+one\n") {
		t.Errorf("git log -p shows %s", log)
	}
	if diff := x.git("diff"); !bytes.Contains([]byte(diff), []byte("+broken")) {
		t.Errorf("git diff of a broken file shows %s", diff)
	}
}
