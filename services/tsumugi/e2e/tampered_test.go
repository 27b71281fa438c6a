package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
)

// eventful makes a session of which all six kinds of rows are told: a call that was allowed, one that failed, one whose path is refused, a move that
// the table does not have, a denial, and an approval of which the time was over, which nothing can be made of then (cases/agent.md c5, c10).
func (o *office) eventful(t *testing.T, s surface) (name string) {
	t.Helper()
	made, err := s.CreateSession(o.ctx, &agentv1.CreateSessionRequest{Session: &agentv1.Session{Root: "work", ClientTools: []*agentv1.ClientTool{weather}}})
	if err != nil {
		t.Fatal(err)
	}
	name = made.GetName()
	write := say("EXECUTION", "continue", "actions", acts("write", args{"path": "a.md", "content": "一"}))
	o.think(
		say("PLANNING", "continue", "actions", acts("list", args{"path": "."}, "read", args{"path": "missing.md"}, "write", args{"path": "../out.md", "content": "x"})),
		write, say("PLANNING", "pending_user", "question", "では？"),
	)
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "書いて"})
	o.decide(t, s, o.waiting(t, s, name)[0], agentv1.Decision_DECISION_DENY, "まだ早い")
	o.until(t, s, name, "the turn ends", rests)
	o.think(say("EXECUTION", "continue"), say("AWAITING_APPROVAL", "pending_user"), write)
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "やはり"})
	if now := o.get(t, s, name); now.GetStep() != agentv1.Step_STEP_EXECUTION || now.GetStopReason() != "TRANSITION_REFUSED" {
		t.Errorf("over %s: a move that is not in the table: %v", s.how, now)
	}
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "続けて"})
	late := o.waiting(t, s, name)[0]
	over := o.until(t, s, name, "the time is over", rests)
	if over.GetStep() != agentv1.Step_STEP_PLANNING || over.GetStatus() != agentv1.SessionStatus_SESSION_STATUS_REQUIRES_USER_INPUT {
		t.Errorf("over %s: %v", s.how, over)
	}
	refusal{code: codes.FailedPrecondition, reason: "APPROVAL_EXPIRED"}.check(t, approve(o.ctx, s, late))
	if now := o.decide(t, s, late, agentv1.Decision_DECISION_DENY, "遅すぎた"); now.GetState() != agentv1.ApprovalState_APPROVAL_STATE_EXPIRED || now.GetLateDenial().GetReason() != "遅すぎた" || o.file(t, "a.md") != "" {
		t.Errorf("over %s: %v", s.how, now)
	}
	o.think(say("EXECUTION", "continue", "actions", acts("weather", args{"town": "糸崎"})))
	o.send(t, s, &agentv1.SendMessageRequest{Session: name, Text: "天気は？"})
	o.decide(t, s, o.waiting(t, s, name)[0], agentv1.Decision_DECISION_APPROVE, "")
	open := o.until(t, s, name, "the call is open", func(now *agentv1.Session) bool { return len(now.GetOpenToolCalls()) == 1 }).GetOpenToolCalls()[0]
	if _, err := s.SubmitToolResult(o.ctx, &agentv1.SubmitToolResultRequest{Session: name, Call: open.GetCall(), Output: "no such town", Failed: true}); err != nil {
		t.Error(err)
	}
	o.until(t, s, name, "the turn ends", rests)
	return name
}

// rows reads the audit of a session over several pages, and holds it to its form: numbers without gaps, each with its actor, its code and that of the
// row before.
func (o *office) rows(t *testing.T, s surface, name string) (all []*agentv1.AuditRecord) {
	t.Helper()
	q := &agentv1.ListAuditRecordsRequest{Session: name, PageSize: 7}
	for {
		page, err := s.ListAuditRecords(o.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.GetRecords()...)
		if q.PageToken = page.GetNextPageToken(); q.PageToken == "" {
			break
		}
	}
	for i, r := range all {
		if r.GetSeq() != int64(i+1) || r.GetSession() != name || r.GetActor() == "" || len(r.GetMac()) != 64 || r.GetKeyId() == "" || r.GetVerdict() == "" || r.GetReason() == "" || i > 0 && r.GetPrev() != all[i-1].GetMac() {
			t.Errorf("row %d is %v", i+1, r)
		}
		if slices.Contains([]string{"allow", "deny", "ask", "expiry", "refusal", "failure"}, r.GetKind()) && len(r.GetArgsDigest()) != 64 {
			t.Errorf("row %d says not what it is about: %v", i+1, r)
		}
	}
	return all
}

// tampered: what somebody changes in the file of a service that is stopped is found, and the first row named that is not as it was made: one byte, a
// change that is gone, the end, and two changes in each other's place (cases/agent.md c23).
func tampered(t *testing.T, m mode) {
	o := newOffice(t, m, "", "")
	o.settings.approval = 2 * time.Second
	o.start(t)
	s := o.approvers(t)[1]
	name := o.eventful(t, s)
	o.sound(t, s, name)
	rows := o.rows(t, s, name)
	kinds := map[string]int64{}
	for _, r := range rows {
		if kinds[r.GetKind()] == 0 {
			kinds[r.GetKind()] = r.GetSeq()
		}
	}
	for _, kind := range []string{"allow", "deny", "expiry", "refusal", "failure", "ask"} {
		if kinds[kind] == 0 {
			t.Errorf("no row of the kind %s among %v", kind, kinds)
		}
	}
	path := filepath.Join(o.settings.agent, "sessions.db")
	if err := o.stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	of := fmt.Sprintf("session = '%s' AND seq", strings.TrimPrefix(name, "sessions/"))
	for what, change := range map[string]struct {
		file func([]byte) []byte
		sql  string
		seq  int64
		// whole: no row is bad, but the session's own record.
		whole bool
	}{
		"a byte": {file: func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"kind":"expiry"`), []byte(`"kind":"expirx"`), 1)
		}, seq: kinds["expiry"]},
		"a change":  {sql: "DELETE FROM records WHERE " + of + " = (SELECT min(seq) FROM records WHERE seq > 3)"},
		"the end":   {sql: "DELETE FROM records WHERE " + of + " > (SELECT max(seq) - 2 FROM records)"},
		"the order": {sql: "UPDATE records SET body = (SELECT body FROM records r WHERE r.n = 6 - records.n) WHERE n IN (2, 4)"},
		"the record": {file: func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte(`{"session":{"id":`), []byte(`{"session"+{"id":`))
		}, whole: true},
		"the owner": {sql: "UPDATE sessions SET owner = 'eve'", whole: true},
	} {
		alter(t, path, was, change.file, change.sql)
		o.start(t)
		s := o.approvers(t)[1]
		v, err := s.VerifyAudit(o.ctx, &agentv1.VerifyAuditRequest{Session: name})
		if err != nil || v.GetIntact() || (v.GetBadSeq() == 0) != change.whole || v.GetProblem() == "" || change.seq != 0 && v.GetBadSeq() != change.seq {
			t.Errorf("%s is changed, of row %d: %v, %v", what, change.seq, v, err)
		}
		if err := o.stop(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	alter(t, path, was, func(b []byte) []byte { return b }, "")
	o.start(t)
	o.sound(t, o.approvers(t)[1], name)
}

// alter puts a database back as it was but for a change.
func alter(t *testing.T, path string, was []byte, file func([]byte) []byte, sql string) {
	t.Helper()
	if file != nil {
		was = file(slices.Clone(was))
	}
	if err := os.WriteFile(path, was, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + beside); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if sql == "" {
		return
	}
	db, err := durable.Open(path, func(*durable.DB) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Transaction(func() error { return db.Exec(sql) }), db.Close()); err != nil {
		t.Fatal(err)
	}
}
