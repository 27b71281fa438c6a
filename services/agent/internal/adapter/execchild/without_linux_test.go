package execchild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/keeper/keepertest"
)

// unhooked is the name of a program that does not call Child.
const unhooked = "unhooked"

// Where the system lacks what holds a program, nothing runs, and the reason is told. The network is the one thing that settings may leave.
func TestNothingRunsUnheld(t *testing.T) {
	t.Parallel()
	need(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ lacks, network, want string }{
		{"nothing", "without network", "ready"},
		{"landlock", "without network", "no program can be run here: the Linux kernel must have Landlock 3"},
		{"landlock", "with network", "no program can be run here: the Linux kernel must have Landlock 3"},
		{"seccomp", "without network", "no program can be run here: the network cannot be taken away (seccomp: invalid argument); exec.allow_network leaves it"},
		{"seccomp", "with network", "ready"},
	} {
		t.Run(tt.lacks+" "+tt.network, func(t *testing.T) {
			t.Parallel()
			agent := exec.CommandContext(t.Context(), own)
			agent.Args = []string{"lacking", t.TempDir(), shell(t), tt.lacks, tt.network}
			said, err := agent.CombinedOutput()
			if err != nil || !strings.Contains(string(said), tt.want) {
				t.Errorf("%s, %v, want %q", said, err, tt.want)
			}
		})
	}
}

// Without Child this program would start itself as a whole instead of a keeper, and that one another.
func TestNothingRunsWithoutChild(t *testing.T) {
	t.Parallel()
	need(t)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agent := exec.CommandContext(t.Context(), own)
	agent.Args = []string{unhooked, t.TempDir(), shell(t), "nothing", "without network"}
	if said, err := agent.CombinedOutput(); err != nil || !strings.Contains(string(said), keeper.ErrNotHooked.Error()) {
		t.Errorf("%s, %v", said, err)
	}
}

// lacking asks whether a program could be run on a system that lacks something.
func lacking(args []string) error {
	switch args[2] {
	case "landlock":
		if err := keepertest.Lack(keepertest.Landlock); err != nil {
			return err
		}
	case "seccomp":
		if err := keepertest.Lack(keepertest.Seccomp); err != nil {
			return err
		}
	}
	c := DefaultConfig()
	c.Programs, c.AllowNetwork = map[string]string{"sh": args[1]}, args[3] == "with network"
	e, err := New(c, args[0], []string{filepath.Join(args[0], "..", "secret")})
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.Ready(context.Background()); err != nil {
		fmt.Println(err)
		return nil
	}
	fmt.Println("ready")
	return nil
}
