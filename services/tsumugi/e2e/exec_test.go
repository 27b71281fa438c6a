package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
)

// brood starts a child, a grandchild that its parent leaves, and one in a session of its own, writes their numbers to a file, and goes on.
const brood = `
sleep 600 & echo $! >>pids
sh -c 'sleep 600 & echo $! >>pids'
setsid sh -c 'echo $$ >>pids; sleep 600 & echo $! >>pids; wait' &
while [ $(wc -l <pids) -lt 4 ]; do :; done
sleep 600`

// canceledPrograms: a program that runs when its task is canceled, gracefully or hard, is ended with all that it has started before the session says that
// it is canceled, and what was to come behind it never starts: not at a second cancel, which is the same, not after a restart, and not after a kill
// (cases/agent.md c17).
func canceledPrograms(t *testing.T, m mode) {
	if runtime.GOOS != "linux" {
		return // The sandbox of programs is Linux's.
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	if sh, err = filepath.EvalSymlinks(sh); err != nil {
		t.Fatal(err)
	}
	o := newOffice(t, m.killable(), "", fmt.Sprintf("exec:\n  programs: {sh: %q}\n", sh))
	o.settings.lease = time.Second
	o.start(t)
	for i := range o.approvers(t) {
		s := o.approvers(t)[i]
		name := o.broods(t, s)
		turn := o.get(t, s, name).GetTurn().GetId()
		began, how := time.Now(), [...]agentv1.CancelMode{agentv1.CancelMode_CANCEL_MODE_GRACEFUL, agentv1.CancelMode_CANCEL_MODE_HARD}[i%2]
		now, err := s.CancelTurn(o.ctx, &agentv1.CancelTurnRequest{Session: name, Turn: turn, Mode: how})
		if err != nil || now.GetLifecycle() != agentv1.Lifecycle_LIFECYCLE_CANCELING {
			t.Fatalf("over %s: while the program runs: %v, %v", s.how, now, err)
		}
		if again, err := s.CancelTurn(o.ctx, &agentv1.CancelTurnRequest{Session: name, Turn: turn}); err != nil || again.GetLifecycle() == agentv1.Lifecycle_LIFECYCLE_OPEN {
			t.Errorf("over %s: a second cancel while it is stopped: %v, %v", s.how, again, err)
		}
		end := o.noneLeft(t, s, name, turn)
		t.Logf("over %s: canceled (%s) after %s", s.how, how, time.Since(began).Round(time.Millisecond))
		o.restart(t)
		s = o.approvers(t)[i]
		o.notRevived(t, s, name, turn, end)
		if told := o.failures(t, name); len(told) != 1 || !strings.Contains(told[0], "the call was canceled") {
			t.Errorf("over %s: the call is told as %q", s.how, told)
		}
	}
	o.killedPrograms(t)
}

// killedPrograms: where the service is killed while the program runs nothing of it is left, and nobody knows what it did: a person is asked, and a
// cancel ends that, too.
func (o *office) killedPrograms(t *testing.T) {
	t.Helper()
	name := o.broods(t, o.approvers(t)[0])
	if err := o.stop(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	o.eventually(t, "all that it had started has ended", func() bool { return len(o.alive(t)) == 0 })
	o.start(t)
	s := o.approvers(t)[0]
	asked := o.waiting(t, s, name)
	if len(asked) != 1 || asked[0].GetKind() != agentv1.ApprovalKind_APPROVAL_KIND_OUTCOME || o.file(t, "a.md") != "" {
		t.Errorf("after the kill: %v", asked)
	}
	turn := o.get(t, s, name).GetTurn().GetId()
	if _, err := s.CancelTurn(o.ctx, &agentv1.CancelTurnRequest{Session: name, Turn: turn}); err != nil {
		t.Error(err)
	}
	end := o.noneLeft(t, s, name, turn)
	o.restart(t)
	o.notRevived(t, o.approvers(t)[0], name, turn, end)
}

// broods makes a session of which a program runs, with children, and an approved write waits behind it.
func (o *office) broods(t *testing.T, s surface) (name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(o.folder, "pids"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	name = o.session(t, s)
	o.think(say("EXECUTION", "continue", "actions", acts("exec", args{"argv": []string{"sh", "-c", brood}}, "write", args{"path": "a.md", "content": "一"})),
		say("EXECUTION", "done", "reply", "書きました。"))
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "走らせて書いて"})
	for _, a := range o.waiting(t, s, name) {
		o.decide(t, s, a, agentv1.Decision_DECISION_APPROVE, "")
	}
	o.eventually(t, "four processes", func() bool { return len(o.alive(t)) == 4 })
	return name
}

// noneLeft waits until a session is canceled, at which moment no process is left, and gives it.
func (o *office) noneLeft(t *testing.T, s surface, name, turn string) *agentv1.Session {
	t.Helper()
	end := o.until(t, s, name, "it is canceled", func(now *agentv1.Session) bool { return now.GetLifecycle() == agentv1.Lifecycle_LIFECYCLE_CANCELED })
	if left := o.alive(t); len(left) > 0 {
		t.Errorf("over %s: canceled, and %v run still", s.how, left)
	}
	if again, err := s.CancelTurn(o.ctx, &agentv1.CancelTurnRequest{Session: name, Turn: turn}); err != nil || again.GetLifecycle() != end.GetLifecycle() || again.GetSeq() != end.GetSeq() {
		t.Errorf("over %s: a second cancel: %v, %v\nwas\n%v", s.how, again, err, end)
	}
	return end
}

// notRevived: a canceled session is as it was before a restart, and nothing of it has run since.
func (o *office) notRevived(t *testing.T, s surface, name, turn string, was *agentv1.Session) {
	t.Helper()
	asked := len(o.heard())
	if again, err := s.CancelTurn(o.ctx, &agentv1.CancelTurnRequest{Session: name, Turn: turn}); err != nil || again.GetLifecycle() != was.GetLifecycle() {
		t.Errorf("over %s: a cancel after the restart: %v, %v", s.how, again, err)
	}
	time.Sleep(2 * o.settings.lease) // in which whoever took it for work would have
	now := o.get(t, s, name)
	if now.Flow, was.Flow = "", ""; now.GetLifecycle() != was.GetLifecycle() || now.GetTurn() != nil || !proto.Equal(now.GetMemory(), was.GetMemory()) {
		t.Errorf("over %s: %v\nwas\n%v", s.how, now, was)
	}
	if left := o.alive(t); len(left) > 0 || o.file(t, "a.md") != "" || asked > 1 || len(o.heard()) > 0 {
		t.Errorf("over %s: revived: %v run, %q is written, the model was asked %d times", s.how, left, o.file(t, "a.md"), asked)
	}
	kinds := map[string]int{}
	for _, r := range o.rows(t, s, name) {
		kinds[r.GetKind()]++
	}
	if kinds["approve"] != 2 || kinds["intent"] != 1 || kinds["execute"] != 0 {
		t.Errorf("over %s: the audit has %v", s.how, kinds)
	}
	o.sound(t, s, name)
	o.forget()
}

// failures are the results of calls that have failed, as a stream tells them.
func (o *office) failures(t *testing.T, name string) (all []string) {
	t.Helper()
	for _, e := range o.history(t, name) {
		if c := e.GetToolCall(); c.GetState() == "FAILED" {
			all = append(all, c.GetResult())
		}
	}
	return all
}

// alive are the processes of the file that run.
func (o *office) alive(t *testing.T) (all []int) {
	t.Helper()
	for field := range strings.FieldsSeq(o.file(t, "pids")) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Kill(pid, 0) == nil {
			all = append(all, pid)
		}
	}
	return slices.Compact(all)
}
