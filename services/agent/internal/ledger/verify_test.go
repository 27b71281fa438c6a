package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
)

// TestTamperedColumns: a session that another program has found under other values than its own, or adds something to, is told with the column or the
// member; its rows hold.
func TestTamperedColumns(t *testing.T) {
	t.Parallel()
	member := func(from, to string) string {
		return "UPDATE sessions SET body = CAST(replace(CAST(body AS TEXT), '" + from + "', '" + to + "') AS BLOB)"
	}
	for name, c := range map[string]struct{ change, told string }{
		"owner":               {"UPDATE sessions SET owner = 'eve'", `it is stored under owner "eve", and its record says "ann"`},
		"lifecycle":           {"UPDATE sessions SET lifecycle = 'DELETED'", `it is stored under lifecycle "DELETED", and its record says "OPEN"`},
		"waits":               {"UPDATE sessions SET waits = 0", "it is stored under waits false, and its record says true"},
		"created":             {"UPDATE sessions SET created = created + 1", "it is stored under created 2026-03-01T09:00:00.000001Z, and its record says 2026-03-01T09:00:00Z"},
		"never woken":         {"UPDATE sessions SET wake = 0", "it is stored under wake never, and its record says 2026-03-01T09:"},
		"version":             {"UPDATE sessions SET version = version + 1", "it is stored under version 5, and its rows are of 4 changes"},
		"several":             {"UPDATE sessions SET owner = '', lifecycle = 'DONE'", `it is stored under owner "", and its record says "ann"; it is stored under lifecycle "DONE", and its record says "OPEN"`},
		"a member":            {member(`{"session":{`, `{"session":{"admin":true,`), `its record has a member that this version does not write: json: unknown field "admin"`},
		"a member in a value": {member(`"items":{`, `"items":{"more":[],`), `json: unknown field "more"`},
		"one beside it":       {member(`,"head":{`, `,"extra":{},"head":{`), `its record has a member "extra"`},
		"another session":     {member(`{"session":{`, `{"session":{"id":"s"},"session":{`), `its record has a member "session"`},
		"a member of the end": {member(`"head":{`, `"head":{"more":1,`), `json: unknown field "more"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.create(t, "s")
			r.gated(t, "s", r.plan(t, "a1", time.Hour))
			r.sound(t, "s")
			r.alter(t, c.change)
			var record *RecordError
			var bad *audit.BadRow
			_, err := r.Verify(t.Context(), ns, "s")
			if !errors.As(err, &record) || errors.As(err, &bad) || !strings.HasPrefix(record.Error(), "session s is not stored as it was written: ") {
				t.Fatalf("%v", err)
			}
			if text := record.Error(); !strings.Contains(text, c.told) {
				t.Errorf("%s is told", text)
			}
		})
	}
}

// TestAMovedSession: one that another program has put into another namespace, with its rows, is that of the other one still.
func TestAMovedSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	r.alter(t, "UPDATE sessions SET ns = 'other'")
	r.alter(t, "UPDATE records SET ns = 'other'")
	var record *RecordError
	_, err := r.Verify(t.Context(), "other", "s")
	if !errors.As(err, &record) || !strings.Contains(record.Error(), `it is stored under namespace "other", and its record says "default"`) {
		t.Errorf("%v", err)
	}
}

// TestMisplacedRows: rows that are found under another number or time than theirs are named.
func TestMisplacedRows(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"number": "UPDATE records SET seq = seq + 10 WHERE seq = (SELECT max(seq) FROM records)",
		"time":   "UPDATE records SET at = at - 1000000 WHERE seq = (SELECT max(seq) FROM records)",
	} {
		r := newRig(t)
		r.create(t, "s")
		s := r.events(t, "s", session.Sent{ID: "m1", Mode: session.Queue})
		r.alter(t, change)
		var bad *audit.BadRow
		if _, err := r.Verify(t.Context(), ns, "s"); !errors.As(err, &bad) || bad.Fault != audit.Misplaced || bad.Seq != s.Head.Seq {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReplayNamesWhatDiffers: each member of the record that is not what the rows make, also where it says the same in other bytes, or twice.
func TestReplayNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, told string }{
		"a value":          {"港の話を書く", "海の話を書く", "items"},
		"other bytes":      {`"港の話を書く"`, `"\u6e2fの話を書く"`, "items"},
		"twice":            {`"owner":"ann"`, `"owner":"ann","owner":"ann"`, "owner"},
		"in another case":  {`"owner":"ann"`, `"OWNER":"ann"`, "OWNER, owner"},
		"a member is gone": {`"owner":"ann",`, ``, "owner"},
		"two values":       {`"ann"`, `"eve"`, "owner"},
		"a state":          {`"step":"PLANNING"`, `"step":"REVIEW"`, "state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.create(t, "s")
			r.alter(t, "UPDATE sessions SET body = CAST(replace(CAST(body AS TEXT), '"+c.old+"', '"+c.new+"') AS BLOB)")
			var differs *DiffersError
			if _, err := r.Replay(t.Context(), ns, "s"); !errors.As(err, &differs) || strings.Join(differs.Members, ", ") != c.told {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestReplayOfAStoreThatCannotBeRead is no finding.
func TestReplayOfAStoreThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	reads := 0
	r.Ledger.store = moving{r.store, func() {
		if reads++; reads == 2 {
			_ = r.store.Close()
		}
	}}
	var not *ReplayError
	if _, err := r.Replay(t.Context(), ns, "s"); !errors.Is(err, store.ErrClosed) || errors.As(err, &not) {
		t.Errorf("%v", err)
	}
}
