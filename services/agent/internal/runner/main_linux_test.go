package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// childMode, childDB and childDir tell a process of the test that it is to be a runner over a database and a work folder, which stops
// itself where the mode says.
const childMode, childDB, childDir = "RUNNER_TEST_MODE", "RUNNER_TEST_DB", "RUNNER_TEST_DIR"

// childLease is the lease of a child.
const childLease = 300 * time.Millisecond

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := child(mode, os.Getenv(childDB), os.Getenv(childDir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testkit.Main(m)
}

// child runs until its standard input ends. It says on its standard output how often it lost a session.
func child(mode, db, dir string) error {
	stopped := false
	var writing sync.Mutex
	goOn := make(chan os.Signal, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	stop := func() {
		if !stopped {
			stopped = true
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			<-goOn // It does not stop this thread before the others.
		}
	}
	model := answers(write, say("EXECUTION", "done", "reply", "書きました。"))
	if mode == "model" {
		model = func(context.Context, llm.Request) (string, error) {
			writing.Lock()
			defer writing.Unlock()
			stop()
			return done, nil
		}
	}
	l := quick()
	l.Lease = childLease
	p, err := build(db, dir, model, l)
	if err != nil {
		return err
	}
	p.store.alone = &writing
	if mode == "intent" {
		p.store.after = func(int) {
			if begun(p) {
				stop()
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for p.atWork() > 0 { // What was begun before the parent let it go on ends.
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		return err
	}
	failed, lost := p.heard.told()
	fmt.Println(strconv.Itoa(lost), failed)
	return p.close()
}

// begun says that a call of the session has begun.
func begun(p *process) (is bool) {
	s, err := p.Engine.Ledger.Get(context.Background(), ns, "s")
	if err != nil {
		return false
	}
	for _, c := range s.State.Calls {
		is = is || c.Progress == session.Intent
	}
	return is
}
