package turn

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
)

// opened is a rig over a stored database.
func opened(t *testing.T, d dump) *stock {
	t.Helper()
	r := newRig(t)
	r.ok(r.store.Close())
	r.db = filepath.Join(t.TempDir(), "stored.db")
	r.ok(d.restore(r.db))
	r.IDs.(*ids).n = 9000 // Another process gives other ids.
	r.clock.now = r.clock.now.Add(10 * time.Minute)
	r.start()
	return (&stock{}).over(r)
}

// TestStoredIsRead: what each version has stored is read without a member that is lost, its rows verify, make the sessions and vouch for what was
// written.
func TestStoredIsRead(t *testing.T) {
	t.Parallel()
	for name, d := range stored(t) {
		k := opened(t, d)
		for _, row := range d.Tables["sessions"] {
			k.readSession(name, row)
		}
		for _, row := range d.Tables["approvals"] {
			k.same(name, row["body"], &gate.Approval{})
		}
		for _, row := range d.Tables["texts"] {
			var id string
			k.ok(json.Unmarshal(row["id"], &id))
			if value := values()[id[strings.LastIndex(id, "/")+1:]]; value != nil {
				k.same(name+" "+id, row["body"], value)
			}
		}
	}
}

// readSession reads a session and its rows.
func (k *stock) readSession(fixture string, row map[string]json.RawMessage) {
	k.Helper()
	var name, lifecycle string
	k.ok(json.Unmarshal(row["id"], &name))
	k.ok(json.Unmarshal(row["lifecycle"], &lifecycle))
	where := fixture + " " + name
	var body struct {
		Session json.RawMessage `json:"session"`
		Head    json.RawMessage `json:"head"`
	}
	k.ok(json.Unmarshal(row["body"], &body))
	k.same(where, body.Session, &ledger.Session{})
	k.same(where, body.Head, &audit.Head{})
	if v, err := k.Ledger.Verify(k.Context(), ns, name); err != nil {
		k.Errorf("%s: %+v, %v", where, v, err)
	}
	if lifecycle == "DELETED" {
		return
	}
	if err := k.Ledger.Contents(k.Context(), ns, name); err != nil {
		k.Errorf("%s: %v", where, err)
	}
	s, err := k.Ledger.Get(k.Context(), ns, name)
	k.ok(err)
	if again, err := k.Ledger.Replay(k.Context(), ns, name); err != nil || !cmp.Equal(s, again) {
		k.Errorf("%s: made again from its rows: %v, %s", where, err, cmp.Diff(s, again))
	}
}

// same reads a stored value into one of ours, which must know each of its members and give them back.
func (k *stock) same(where string, stored json.RawMessage, value any) {
	k.Helper()
	k.ok(json.Unmarshal(stored, value))
	raw, err := json.Marshal(value)
	k.ok(err)
	var before, after any
	k.ok(json.Unmarshal(stored, &before))
	k.ok(json.Unmarshal(raw, &after))
	if diff := cmp.Diff(before, after); diff != "" {
		k.Errorf("%s is read as something else (-stored +read):\n%s", where, diff)
	}
}

// TestStoredGoesOn: sessions that a version has stored are carried on by this one: an approved call begins when its folder is free, a decision is
// taken with the digest that was shown then, a result of a client and an answer to a question are told to the model.
func TestStoredGoesOn(t *testing.T) {
	t.Parallel()
	for name, d := range stored(t) {
		k := opened(t, d)
		k.drive("parked", isDone)
		if k.file("parked.md") != "霧\n" {
			t.Errorf("%s: what was approved was not made", name)
		}
		k.rule("calls", gate.Request{})
		k.rule("calls", gate.Request{Decision: session.Deny})
		k.drive("calls", isDone, isDone)
		if k.file("calls.md") != "霧\n" || k.file("calls2.md") != "" {
			t.Errorf("%s: %q and %q were made", name, k.file("calls.md"), k.file("calls2.md"))
		}
		k.submit("open")
		k.drive("open", say("PLANNING", "done", "reply", "曇りです。"))
		if told := k.last().Content; !strings.Contains(told, "曇り") {
			t.Errorf("%s: the model was told %q", name, told)
		}
		k.rule("unknown", gate.Request{Decision: session.DidNotOccur})
		k.say("question", "四枚", say("PLANNING", "done", "reply", "はい。"))
		for _, one := range []string{"parked", "calls", "open", "unknown", "question"} {
			_, err := k.Ledger.Verify(t.Context(), ns, one)
			k.ok(err)
		}
	}
}
