package clienttool_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// errandKey names the database in which this program as a child has a call open.
const errandKey = "TSUMUGI_TEST_CLIENTTOOL"

func TestMain(m *testing.M) {
	if db := os.Getenv(errandKey); db != "" {
		child{}.wait(db)
	}
	testkit.Main(m)
}

// child is a process that waits for a client until it is killed.
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
	call, done := r.called(context.Background())
	fmt.Println(call) //nolint:forbidigo // to the parent
	c.Fatal(<-done)
}

// TestKilled: the process is killed while the client is at work. The next one shows the call as it was, waits for it, and takes its result
// once; nothing is asked of a person, and the call is not made again.
func TestKilled(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		r := newRig(t, "", unasked)
		r.ok(r.store.Close())
		r.db = filepath.Join(t.TempDir(), "agent.db")
		cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this program
		cmd.Env, cmd.Stderr = append(os.Environ(), errandKey+"="+r.db), os.Stderr
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
		if open := r.open(); len(open) != 1 || open[0].Call != call || open[0].Args != `{"days":1,"place":"港"}` {
			t.Fatalf("%+v", open)
		}
		if before {
			r.ok(r.submit(call, "晴れ"))
		}
		done := r.drive(t.Context())
		if again := <-r.waits; again != call {
			t.Errorf("it waits for %s", again)
		}
		if !before {
			r.ok(r.submit(call, "晴れ"))
		}
		r.ok(<-done)
		rows := r.sound()
		if s := r.session(); s.State.Status != session.Success || rows[audit.Intent] != 1 || rows[audit.Execute] != 1 || rows[audit.Ask] != 0 || !strings.Contains(r.model.told(), "晴れ") {
			t.Errorf("%+v, %v, %q", s.State, rows, r.model.told())
		}
	}
}
