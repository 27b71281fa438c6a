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

// write writes texts of a session, each in a change of its own.
func (r *rig) write(t testing.TB, texts ...store.Text) {
	t.Helper()
	for _, x := range texts {
		_, err := r.Change(t.Context(), ns, "s", ann, func(w *Work) error {
			x.Session = "s"
			w.Row(audit.Entry{Kind: audit.Update, Verdict: "UPDATED", Reason: "test", ArgsDigest: hash(x.ID)})
			return w.PutText(x)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// conversed is a session with texts, one of them written twice, something to be told, and a decided approval. Its rows: 1 create, 2 to 6 texts, 7 what is
// to be told, then the approval.
func conversed(t testing.TB) *rig {
	t.Helper()
	r := newRig(t)
	r.create(t, "s")
	r.write(t, store.Text{ID: "message", Body: []byte("港へ")}, store.Text{ID: "result", Body: []byte("霧")}, store.Text{ID: "empty"},
		store.Text{ID: "shown", Body: []byte("+霧"), Until: r.clock.Now().Add(time.Hour)}, store.Text{ID: "result", Body: []byte("雨")})
	_, err := r.Change(t.Context(), ns, "s", ann, func(w *Work) error {
		w.Row(audit.Entry{Kind: audit.Update, Verdict: "UPDATED", Reason: "test", ArgsDigest: hash("told")})
		return w.PutOutgoing(store.Outgoing{Session: "s", N: 1, Body: []byte("to be told")})
	})
	if err != nil {
		t.Fatal(err)
	}
	made := r.plan(t, "a1", time.Hour)
	r.gated(t, "s", made)
	if _, err := r.decide(t.Context(), "s", made, session.Deny); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTamperedContents: a text or an approval that another program alters by a byte, takes away, puts in another's place or lists otherwise is found, and
// the row named that wrote it last; what a row has sealed cannot be changed with it.
func TestTamperedContents(t *testing.T) {
	t.Parallel()
	const text = "UPDATE texts SET body = CAST(replace(CAST(body AS TEXT), "
	for name, c := range map[string]struct {
		change string
		seq    uint64 // 0: that of the decision
		what   string
	}{
		"a byte of a message":        {text + "'港', '海') AS BLOB)", 2, "the text message is not as it was written"},
		"a text of before":           {"UPDATE texts SET body = CAST('霧' AS BLOB) WHERE id = 'result'", 6, "the text result"},
		"one more byte":              {"UPDATE texts SET body = CAST('.' AS BLOB) WHERE id = 'empty'", 4, "the text empty"},
		"a message is gone":          {"DELETE FROM texts WHERE id = 'message'", 2, "the text message is gone"},
		"what was shown, too early":  {"DELETE FROM texts WHERE id = 'shown'", 5, "the text shown is gone"},
		"what was shown, for longer": {"UPDATE texts SET until = 0 WHERE id = 'shown'", 5, "the text shown is kept until never, and was written until 2026-03-01T10:00:00Z"},
		"a message, for a time":      {"UPDATE texts SET until = 1 WHERE id = 'message'", 2, "the text message is kept until 1970"},
		"two in each other's place":  {"UPDATE texts SET id = CASE id WHEN 'message' THEN 'x' ELSE 'message' END WHERE id IN ('message', 'result')", 2, "the text message"},
		"a decided approval":         {`UPDATE approvals SET body = CAST(replace(CAST(body AS TEXT), '"DENY"', '"DENX"') AS BLOB)`, 0, "the approval a1 is not as it was written"},
		"another name":               {`UPDATE approvals SET body = CAST(replace(CAST(body AS TEXT), '"ann"', '"bob"') AS BLOB)`, 0, "the approval a1"},
		"an approval listed as open": {"UPDATE approvals SET state = 'PENDING'", 0, "the approval a1"},
		"an approval is gone":        {"DELETE FROM approvals", 0, "the approval a1 is gone"},
		"what is to be told":         {"UPDATE outgoing SET body = CAST('to another' AS BLOB)", 7, "node 1, which is still to be put into the flow, is not as it was written"},
		"all":                        {"UPDATE texts SET body = x'00'", 2, "the text message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := conversed(t)
			if err := r.Contents(t.Context(), ns, "s"); err != nil {
				t.Fatal(err)
			}
			r.alter(t, c.change)
			r.sound(t, "s") // the rows say nothing
			var bad *audit.BadRow
			err := r.Contents(t.Context(), ns, "s")
			if !errors.As(err, &bad) || bad.Fault != audit.ChangedContent || !strings.Contains(bad.Error(), c.what) {
				t.Fatalf("%v", err)
			}
			if c.seq != 0 && bad.Seq != c.seq || c.seq == 0 && bad.Seq <= 7 {
				t.Errorf("row %d is named, %v", bad.Seq, err)
			}
		})
	}
	for name, change := range map[string]string{
		"a hash":      `UPDATE records SET body = CAST(replace(CAST(body AS TEXT), '"text":"message","hash":"', '"text":"message","hash":"0') AS BLOB)`,
		"all of them": `UPDATE records SET body = CAST(json_remove(CAST(body AS TEXT), '$.kept') AS BLOB) WHERE seq = 2`,
	} {
		r := conversed(t)
		r.alter(t, change)
		var bad *audit.BadRow
		if _, err := r.Verify(t.Context(), ns, "s"); !errors.As(err, &bad) || bad.Seq != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnsealed: a text, an approval, also one that was decided, and something to be told that another program puts in are named, and how many there are;
// the rows hold. What was told and is gone is missed by nobody.
func TestUnsealed(t *testing.T) {
	t.Parallel()
	const approval = "INSERT INTO approvals (ns, id, session, state, created, body) SELECT ns, 'a2', session, state, created - 1, body FROM approvals"
	for name, c := range map[string]struct{ change, told string }{
		"a text":      {"INSERT INTO texts (ns, session, id, until, body) VALUES ('default', 's', 'x', 0, x'00')", "the text x is there, and no row has sealed it"},
		"an approval": {approval, "the approval a2 is there, and no row has sealed it"},
		"a turn":      {"INSERT INTO outgoing (ns, session, n, body) VALUES ('default', 's', 9, x'00')", "node 9, which is still to be put into the flow, is there, and no row has sealed it"},
		"another number": {
			"UPDATE outgoing SET n = 2", "node 2, which is still to be put into the flow, is there, and no row has sealed it",
		},
		"many": {
			"WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 199) INSERT INTO texts (ns, session, id, until, body) SELECT 'default', 's', 'm' || i, 0, x'00' FROM n",
			"the text m100 is there, and no row has sealed it, nor 99 more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := conversed(t)
			r.alter(t, c.change)
			r.sound(t, "s")
			var record *RecordError
			var bad *audit.BadRow
			err := r.Contents(t.Context(), ns, "s")
			if !errors.As(err, &record) || errors.As(err, &bad) || record.Error() != "session s is not stored as it was written: "+c.told {
				t.Errorf("%v", err)
			}
			r.alter(t, "UPDATE texts SET body = x'00' WHERE id = 'message'")
			if err := r.Contents(t.Context(), ns, "s"); !errors.As(err, &record) || !errors.As(err, &bad) || bad.Seq != 2 {
				t.Errorf("with a text that was changed: %v", err)
			}
		})
	}
	r := conversed(t)
	if err := errors.Join(r.Told(t.Context(), ns, "s", 1), r.Contents(t.Context(), ns, "s")); err != nil {
		t.Error(err)
	}
}

// TestWhatADeletedSessionHas: nothing but its rows.
func TestWhatADeletedSessionHas(t *testing.T) {
	t.Parallel()
	r, ctx := conversed(t), t.Context()
	r.events(t, "s", session.CancelSent{TurnID: "t1"}, session.WorkStopped{})
	if _, err := r.Delete(ctx, ns, "s", "", ann); err != nil {
		t.Fatal(err)
	}
	r.alter(t, "INSERT INTO texts (ns, session, id, until, body) VALUES ('default', 's', 'message', 0, CAST('港へ' AS BLOB))")
	var record *RecordError
	if err := r.Contents(ctx, ns, "s"); !errors.As(err, &record) || !strings.Contains(record.Error(), "the text message is there") {
		t.Errorf("%v", err)
	}
}

// TestOrphans: of what belongs to no session its name tells, where somebody asks for the session.
func TestOrphans(t *testing.T) {
	t.Parallel()
	for change, told := range map[string]string{
		"DELETE FROM approvals; DELETE FROM outgoing": "the text empty is there, and the session itself is not",
		"DELETE FROM texts":                           "the approval a1 is there, and the session itself is not",
		"DELETE FROM texts; DELETE FROM approvals":    "node 1, which is still to be put into the flow, is there, and the session itself is not",
	} {
		r, ctx := conversed(t), t.Context()
		r.alter(t, "DELETE FROM sessions; DELETE FROM records; "+change)
		var record *RecordError
		_, err := r.Verify(ctx, ns, "s")
		if !errors.As(err, &record) || !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), told) {
			t.Errorf("%s: %v", change, err)
		}
		if err := r.Exists(ctx, ns, "s"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: there are rows: %v", change, err)
		}
		if _, err := r.Verify(ctx, ns, "other"); !errors.Is(err, store.ErrNotFound) || errors.Is(err, ErrGone) {
			t.Errorf("%s: another one: %v", change, err)
		}
	}
}

// TestRetentionIsNoFault: what goes when its time is over, and with its session, is missed by nobody.
func TestRetentionIsNoFault(t *testing.T) {
	t.Parallel()
	r, ctx := conversed(t), t.Context()
	r.clock.add(2 * time.Hour)
	if gone, err := r.Prune(ctx, 0); err != nil || gone.Texts != 1 {
		t.Fatalf("%+v, %v", gone, err)
	}
	if err := r.Contents(ctx, ns, "s"); err != nil {
		t.Error(err)
	}
	r.sound(t, "s")
	r.events(t, "s", session.CancelSent{TurnID: "t1"}, session.WorkStopped{})
	if _, err := r.Delete(ctx, ns, "s", "", ann); err != nil {
		t.Fatal(err)
	}
	if err := r.Contents(ctx, ns, "s"); err != nil {
		t.Error(err)
	}
	r.sound(t, "s")
}

// TestContentsOfASessionThatWorks: what is written while they are looked at is no fault.
func TestContentsOfASessionThatWorks(t *testing.T) {
	t.Parallel()
	r := conversed(t)
	still, n := &rig{Ledger: r.Ledger, clock: r.clock, store: r.store, path: r.path}, 0
	moved := *r.Ledger
	moved.store = moving{r.store, func() {
		n++
		still.write(t, store.Text{ID: "result", Body: []byte(strings.Repeat("雨", n))}, store.Text{ID: "message", Body: []byte(strings.Repeat("港", n))})
	}}
	if err := moved.Contents(t.Context(), ns, "s"); err != nil || n < 2 {
		t.Errorf("%v, %d writes", err, n)
	}
}

// TestNothingIsWrittenWithoutARow: a text without a row would be one that nothing vouches for.
func TestNothingIsWrittenWithoutARow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(t, "s")
	if _, err := r.Change(t.Context(), ns, "s", ann, func(w *Work) error { return w.PutText(store.Text{Session: "s", ID: "x"}) }); err == nil {
		t.Error("a text was written, and no row tells it")
	}
}
