package clienttool_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// errandKey names the database in which this program as a child has a call open, and submitsKey says that the child takes its result, too.
const (
	errandKey  = "TSUMUGI_TEST_CLIENTTOOL"
	submitsKey = "TSUMUGI_TEST_CLIENTTOOL_SUBMITS"
)

func TestMain(m *testing.M) {
	if db := os.Getenv(errandKey); db != "" {
		child{}.wait(db)
	}
	testkit.Main(m)
}

// child is a process with an open call of a client until it is killed.
type child struct{ testing.TB }

func (child) Helper()        {}
func (child) Cleanup(func()) {}
func (child) Fatal(args ...any) {
	panic(fmt.Sprint(args...))
}

func (child) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func (c child) wait(db string) {
	r := newRig(c, db, unasked)
	r.create(weather)
	call := r.called()
	if os.Getenv(submitsKey) != "" {
		r.ok(r.submit(call, "晴れ"))
	}
	fmt.Println(call) //nolint:forbidigo // to the parent
	time.Sleep(time.Hour)
}

// TestKilled: the process is killed while the client is at work, or when its result was taken. The next one shows the call as it was, and takes
// its result once; nothing is asked of a person, and the call is not made again.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		r := newRig(t, "", unasked)
		r.ok(r.store.Close())
		r.db = filepath.Join(t.TempDir(), "agent.db")
		cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this program
		cmd.Env, cmd.Stderr = append(os.Environ(), errandKey+"="+r.db), os.Stderr
		if taken {
			cmd.Env = append(cmd.Env, submitsKey+"=1")
		}
		out, err := cmd.StdoutPipe()
		r.ok(err)
		r.ok(cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		r.ok(err)
		r.ok(cmd.Process.Kill())
		_ = cmd.Wait() // It was killed.
		call := strings.TrimSpace(line)
		r.start()
		r.model.script = asks()
		if !taken {
			r.drive()
			if open := r.open(); len(open) != 1 || open[0].Call != call || open[0].Args != `{"days":1,"place":"港"}` {
				t.Fatalf("%+v", open)
			}
			r.ok(r.submit(call, "晴れ"))
		}
		r.drive()
		rows := r.sound()
		if s := r.session(); s.State.Status != session.Success || rows[audit.Intent] != 1 || rows[audit.Execute] != 1 || rows[audit.Ask] != 0 || !strings.Contains(r.model.told(), "晴れ") {
			t.Errorf("%+v, %v, %q", s.State, rows, r.model.told())
		}
	}
}
