package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/policy"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// weather is a tool of the caller, which may be called unasked.
var weather = clienttool.Declared{Name: "weather", Timeout: time.Hour, Input: `{"type":"object","properties":{}}`}

// asksFor is a model that does what the message says: it calls the tool of the caller, or writes a file, or is done at once.
func asksFor(ctx context.Context, r llm.Request) (string, error) {
	call := map[string]any{"name": "weather", "args": map[string]any{}}
	switch said := r.Messages[len(r.Messages)-1].Content; {
	case strings.HasPrefix(said, "天気"):
	case strings.HasPrefix(said, "file "):
		call = map[string]any{"name": "create", "args": map[string]any{"path": strings.TrimPrefix(said, "file "), "content": "x"}}
	default:
		return answers(done, say("EXECUTION", "done", "reply", "はい。"))(ctx, r)
	}
	return say("EXECUTION", "continue", "actions", []any{call}), nil
}

// createWithTool makes a session whose caller carries weather out.
func (r *rig) createWithTool(id string) {
	r.Helper()
	declared, err := clienttool.Definitions([]clienttool.Declared{weather})
	r.ok(err)
	_, err = r.Engine.Ledger.Create(r.Context(), ns, ledger.Fresh{ID: id, Owner: "ann", Settings: ledger.Settings{Root: "work", Tools: declared}}, ann)
	r.ok(err)
}

// open are the calls that the client of a session has to do.
func (r *rig) open(id string) []clienttool.OpenCall {
	r.Helper()
	all, err := r.desk.Open(r.Context(), ns, r.get(id))
	r.ok(err)
	return all
}

// waitsFor has a session wait for an approval of a file, for which a process is used that drives nothing else, and gives the approval.
func (r *rig) waitsFor(id string, life time.Duration) gate.Approval {
	r.Helper()
	p := r.another(asksFor)
	p.Engine.Limits.Approval = life
	r.create(id)
	_, err := p.Engine.Send(r.Context(), ns, id, text("file "+id))
	r.ok(err)
	_, err = p.Engine.Drive(r.Context(), ns, id)
	r.ok(err)
	return r.asked(id)
}

// TestClientsAtWork: sessions that wait for their clients take no room from others, however many there are: messages are answered, an approval
// is closed when its time is over, and what was approved begins. The results carry their sessions on.
func TestClientsAtWork(t *testing.T) {
	t.Parallel()
	r := newRig(t, asksFor)
	r.Limits.Sessions = 2
	clients := []string{"c0", "c1", "c2"}
	expiring, approved := r.waitsFor("expires", 100*time.Millisecond), r.waitsFor("approved", time.Hour)
	r.start(r.process)
	for _, id := range clients {
		r.createWithTool(id)
		_, err := r.Send(t.Context(), ns, id, text("天気は？"))
		r.ok(err)
	}
	for _, id := range clients {
		r.until("the client of "+id+" has something to do", func() bool { return len(r.open(id)) == 1 })
	}
	r.create("other")
	if _, err := r.Send(t.Context(), ns, "other", text("書いて")); err != nil {
		t.Error(err)
	}
	if s := r.rests("other"); s.State.Status != session.Success {
		t.Errorf("%+v", s.State)
	}
	r.until("the approval expires", func() bool { return r.rows("expires")["expiry EXPIRED"] == 1 })
	who := gate.Who{Name: "bob", Token: "t", Namespace: ns, Roles: []string{policy.RoleUser, policy.RoleApprover}}
	_, err := r.Engine.Decide(t.Context(), ns, approved.ID, gate.Request{Who: who, Decision: session.Approve, Digest: approved.Digest})
	r.ok(err)
	r.Wake(t.Context(), ns, "approved")
	r.until("what was approved is done", func() bool { _, err := os.Stat(filepath.Join(r.dir, "approved")); return err == nil })
	if _, err := os.Stat(filepath.Join(r.dir, "expires")); err == nil {
		t.Errorf("%s has expired, and was carried out", expiring.ID)
	}
	for _, id := range clients {
		_, err := r.desk.Submit(t.Context(), ns, id, r.open(id)[0].Call, clienttool.Result{Text: "晴れ"}, ann)
		r.ok(err)
		r.Wake(t.Context(), ns, id)
	}
	for _, id := range clients {
		if s := r.rests(id); s.State.Status != session.Success || s.State.PickUps != 0 {
			t.Errorf("%+v", s.State)
		}
		r.sound(id)
	}
	if failed, lost := r.heard.told(); len(failed) > 0 || lost > 0 {
		t.Errorf("%v, %d lost", failed, lost)
	}
}

// TestManyClientsAtWork: a session that waits for its client costs its record alone, neither a goroutine nor a place among those that are
// driven. TSUMUGI_LONG tries it with 5,000, which takes a minute or two.
func TestManyClientsAtWork(t *testing.T) {
	many := 200
	if os.Getenv("TSUMUGI_LONG") != "" {
		many = 5000
	}
	r := newRig(t, asksFor)
	r.start(r.process)
	base := runtime.NumGoroutine()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := i; n < many; n += 8 {
				id := fmt.Sprint("c", n)
				r.createWithTool(id)
				if _, err := r.Send(t.Context(), ns, id, text("天気は？")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	r.until("nothing is due, and nobody is driven", func() bool {
		keys, _, err := r.Work.Due(t.Context(), "", time.Now(), 1)
		r.ok(err)
		return len(keys) == 0 && r.atWork() == 0
	})
	for _, n := range []int{0, many / 2, many - 1} {
		if id := fmt.Sprint("c", n); len(r.open(id)) != 1 {
			t.Errorf("%s: %+v", id, r.get(id).State)
		}
	}
	r.until("nothing waits", func() bool { return runtime.NumGoroutine() <= base+2 })
}
