package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/internal/durable"
	"github.com/tsumugi-dev/tsumugi/services/internal/testkit"
)

// alter changes the store of sessions as another program does.
func (d *desk) alter(sql string) {
	d.Helper()
	other, err := durable.Open(filepath.Join(d.data, "sessions.db"), func(*durable.DB) error { return nil })
	d.ok(err)
	d.ok(errors.Join(other.Transaction(func() error { return other.Exec(sql) }), other.Close()))
}

// sessions are the names of all sessions, page by page, and of those that cannot be read.
func (d *desk) sessions(size int32) (names, broken []string, pages int) {
	d.Helper()
	q := &agentv1.ListSessionsRequest{PageSize: size}
	for {
		page, err := d.agent.ListSessions(d.ann(), q)
		d.ok(err)
		pages++
		for _, s := range page.Sessions {
			names = append(names, s.Name)
		}
		for _, b := range page.Broken {
			broken = append(broken, b.Name+" "+b.Problem)
		}
		if q.PageToken = page.NextPageToken; q.PageToken == "" {
			return names, broken, pages
		}
	}
}

// TestABrokenSessionInAList: every other one is listed, on pages of any size; each call about the broken one names it, and it can be deleted.
func TestABrokenSessionInAList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var made []string
	for range 5 {
		made = append(made, d.create(&agentv1.Session{Goal: "港"}).Name)
	}
	slices.Reverse(made)
	bad, id := made[2], strings.TrimPrefix(made[2], "sessions/")
	d.alter("UPDATE sessions SET body = x'7b' WHERE id = '" + id + "'")
	for _, size := range []int32{1, 2, 3, 10} {
		names, broken, _ := d.sessions(size)
		if !slices.Equal(names, slices.Delete(slices.Clone(made), 2, 3)) || len(broken) != 1 || !strings.HasPrefix(broken[0], bad+" the record of session "+id+" cannot be read: ") {
			t.Errorf("pages of %d: %v, %v", size, names, broken)
		}
	}
	_, err := d.agent.GetSession(d.ann(), &agentv1.GetSessionRequest{Name: bad})
	d.refused(err, codes.DataLoss, "RECORD_BROKEN")
	for _, replay := range []bool{false, true} {
		v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: bad, Replay: replay})
		d.ok(err)
		told := strings.HasPrefix(v.Problem, "the record of session "+id+" cannot be read: ") && strings.Contains(v.Problem, "its rows are as they were made, 1 of them")
		if v.Intact || v.BadSeq != 0 || v.Records != 1 || v.Head != nil || !told || v.Replayed || (v.ReplayProblem != "") != replay {
			t.Errorf("replay %t: %v", replay, v)
		}
	}
	_, err = first2(d.agent.SendMessage(d.ann(), &agentv1.SendMessageRequest{Session: bad, Text: "やあ"}))
	d.refused(err, codes.DataLoss, "RECORD_BROKEN")
	rows, err := d.agent.ListAuditRecords(d.ann(), &agentv1.ListAuditRecordsRequest{Session: bad})
	if err != nil || len(rows.Records) != 1 {
		t.Errorf("its rows: %v, %v", rows, err)
	}
	_, err = d.agent.DeleteSession(d.ann(), &agentv1.DeleteSessionRequest{Name: bad})
	d.ok(err)
	if names, broken, _ := d.sessions(0); len(names) != 4 || broken != nil {
		t.Errorf("%v, %v", names, broken)
	}
	v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: bad, Replay: true})
	if err != nil || !v.Intact || !v.Replayed || v.Records != 2 {
		t.Errorf("%v, %v", v, err)
	}
}

// TestTamperedSessions: a session that is found under another value than its own, or says what its rows do not make, is not intact, and what of it is told.
func TestTamperedSessions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.create(&agentv1.Session{Goal: "港"}).Name
	for _, c := range []struct{ change, back, told, replayed string }{
		{"owner = 'eve'", "owner = 'ann'", `it is stored under owner "eve", and its record says "ann"; its rows are as they were made, 1 of them`, ""},
		{"body = CAST(replace(CAST(body AS TEXT), '港', '海') AS BLOB)", "body = CAST(replace(CAST(body AS TEXT), '海', '港') AS BLOB)",
			"its seal does not fit what it says: it was changed; its rows are as they were made, 1 of them",
			"its record is not what its rows make of it: items"},
	} {
		d.alter("UPDATE sessions SET " + c.change)
		for _, replay := range []bool{false, true} {
			v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: name, Replay: replay})
			d.ok(err)
			if v.Intact || v.BadSeq != 0 || v.Head == nil || !strings.HasSuffix(v.Problem, c.told) {
				t.Errorf("%s: %v", c.change, v)
			}
			if replay && (v.Replayed != (c.replayed == "") || v.ReplayProblem != c.replayed) {
				t.Errorf("%s, replayed: %v", c.change, v)
			}
		}
		d.alter("UPDATE sessions SET " + c.back)
	}
	if v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: name, Replay: true}); err != nil || !v.Intact || !v.Replayed {
		t.Errorf("as it was: %v, %v", v, err)
	}
}

// TestRowsWithoutTheirSession: a session that somebody takes out of the store, or to another namespace, is not intact; its rows are listed.
func TestRowsWithoutTheirSession(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"DELETE FROM sessions", "UPDATE sessions SET ns = 'other'"} {
		d := newDesk(t)
		name := d.create(&agentv1.Session{Goal: "港"}).Name
		d.alter(change)
		for _, replay := range []bool{false, true} {
			v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: name, Replay: replay})
			d.ok(err)
			told := strings.Contains(v.Problem, "rows are there, and the session itself is not; its rows are as they were made, 1 of them")
			if v.Intact || v.Records != 1 || v.Head != nil || !told || v.Replayed || (v.ReplayProblem != "") != replay {
				t.Errorf("%s, replay %t: %v", change, replay, v)
			}
		}
		if rows, err := d.agent.ListAuditRecords(d.ann(), &agentv1.ListAuditRecordsRequest{Session: name}); err != nil || len(rows.Records) != 1 {
			t.Errorf("%s, its rows: %v, %v", change, rows, err)
		}
		d.alter("DELETE FROM records")
		_, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: name, Replay: true})
		d.refused(err, codes.NotFound, "SESSION_NOT_FOUND")
		_, err = d.agent.ListAuditRecords(d.ann(), &agentv1.ListAuditRecordsRequest{Session: name})
		d.refused(err, codes.NotFound, "SESSION_NOT_FOUND")
	}
}

// TestABrokenApprovalInAList: approvers are told which it is and see all others; whoever it might be for is told nothing.
func TestABrokenApprovalInAList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for range 3 {
		d.send(d.create(&agentv1.Session{Goal: "港", Root: "work"}).Name, "直して")
	}
	all, err := d.agent.ListApprovals(d.bob(), &agentv1.ListApprovalsRequest{})
	d.ok(err)
	bad := all.Approvals[1]
	for _, c := range [][2]string{{"another version", `CAST(replace(CAST(body AS TEXT), '"v":1', '"v":2') AS BLOB)`}, {"no JSON", `x'00'`}} {
		what := c[0]
		d.alter("UPDATE approvals SET body = " + c[1] + " WHERE id = '" + strings.TrimPrefix(bad.Name, "approvals/") + "'")
		for _, size := range []int32{1, 10} {
			q := &agentv1.ListApprovalsRequest{PageSize: size, WithCounts: true}
			good, broken := 0, []*agentv1.BrokenRecord{}
			for more := true; more; more = q.PageToken != "" {
				page, err := d.agent.ListApprovals(d.bob(), q)
				d.ok(err)
				good, broken, q.PageToken = good+len(page.Approvals), append(broken, page.Broken...), page.NextPageToken
			}
			if good != 2 || len(broken) != 1 || broken[0].Name != bad.Name || broken[0].Problem == "" {
				t.Errorf("%s, pages of %d: %d, %v", what, size, good, broken)
			}
		}
		if mine, err := d.agent.ListApprovals(d.ann(), &agentv1.ListApprovalsRequest{}); err != nil || len(mine.Approvals) != 2 || mine.Broken != nil {
			t.Errorf("%s, for whom they are: %v, %v", what, mine, err)
		}
		_, err = d.agent.GetApproval(d.bob(), &agentv1.GetApprovalRequest{Name: bad.Name})
		d.refused(err, codes.DataLoss, "RECORD_BROKEN")
		_, err = d.agent.GetApproval(d.ann(), &agentv1.GetApprovalRequest{Name: bad.Name})
		d.refused(err, codes.NotFound, "APPROVAL_NOT_FOUND")
		_, err = d.agent.DecideApproval(d.bob(), &agentv1.DecideApprovalRequest{Name: bad.Name, Digest: bad.Digest, Decision: agentv1.Decision_DECISION_DENY})
		d.refused(err, codes.DataLoss, "RECORD_BROKEN")
	}
	_, err = d.agent.DeleteSession(d.ann(), &agentv1.DeleteSessionRequest{Name: bad.Session})
	d.ok(err)
}

// TestRowsThatCannotBeRead: a list has all others, on pages of any size, and says which are missing.
func TestRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.create(&agentv1.Session{Goal: "港", Root: "work"}).Name
	d.send(name, "直して")
	_, err := d.agent.UpdateSession(d.ann(), &agentv1.UpdateSessionRequest{Session: &agentv1.Session{Name: name, WhyNow: "今"}})
	d.ok(err)
	whole, err := d.agent.ListAuditRecords(d.ann(), &agentv1.ListAuditRecordsRequest{Session: name})
	d.ok(err)
	d.alter("UPDATE records SET body = x'00' WHERE seq = (SELECT min(seq) FROM records WHERE seq > 1)")
	for _, size := range []int32{1, 3, 1000} {
		q := &agentv1.ListAuditRecordsRequest{Session: name, PageSize: size}
		var rows []*agentv1.AuditRecord
		var broken []*agentv1.BrokenRows
		for more := true; more; more = q.PageToken != "" {
			page, err := d.agent.ListAuditRecords(d.ann(), q)
			d.ok(err)
			rows, broken, q.PageToken = append(rows, page.Records...), append(broken, page.Broken...), page.NextPageToken
		}
		if len(broken) != 1 || broken[0].FirstSeq != 2 || broken[0].LastSeq < 2 || len(rows)+int(broken[0].LastSeq-1) != len(whole.Records) || rows[1].Seq != broken[0].LastSeq+1 {
			t.Errorf("pages of %d: %d rows of %d, %v", size, len(rows), len(whole.Records), broken)
		}
	}
	v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: name})
	if err != nil || v.Intact || v.BadSeq != 2 {
		t.Errorf("%v, %v", v, err)
	}
}

// TestLargeSessionsInAList: sessions that would not fit into one message together come on several pages, each once and in order.
func TestLargeSessionsInAList(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	all, kib := 80, 240
	if testkit.Race {
		all = 24 // are two pages
	}
	var made []string
	for i := range all {
		s := &agentv1.Session{Goal: fmt.Sprint("港 ", i)}
		for n := range 8 {
			s.ClientTools = append(s.ClientTools, &agentv1.ClientTool{
				Name: fmt.Sprint("tool", n), Description: "d", InputSchema: `{"type":"object","description":"` + strings.Repeat("x", kib/8<<10-64) + `"}`,
			})
		}
		made = append(made, d.create(s).Name)
	}
	slices.Reverse(made)
	names, broken, pages := d.sessions(1000)
	if !slices.Equal(names, made) || broken != nil || pages < all*kib>>12 {
		t.Errorf("%d of %d sessions on %d pages, %v", len(names), all, pages, broken)
	}
	page, err := d.agent.ListSessions(d.ann(), &agentv1.ListSessionsRequest{PageSize: 1000})
	d.ok(err)
	if size := proto.Size(page); size > 5<<20 || size < 3<<20 {
		t.Errorf("a page has %d bytes", size)
	}
}

// TestWhatACrashLeft goes from the work folder at the start, and nothing else.
func TestWhatACrashLeft(t *testing.T) {
	t.Parallel()
	d := newDesk(t, ".tsumugi-staged-0123456789abcdef", ".tsumugi-staged-notes", "a.md")
	for range 2000 {
		left, err := os.ReadDir(d.dir)
		d.ok(err)
		if len(left) == 2 && left[0].Name() == ".tsumugi-staged-notes" && left[1].Name() == "a.md" {
			return
		}
		time.Sleep(5 * time.Millisecond) // The folder is what is waited for.
	}
	t.Error("it is there still")
}

// TestTamperedContents: a byte of a message, of a result and of a decided approval that somebody changes in the store is found by an audit with replay,
// and the row named that had sealed it.
func TestTamperedContents(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.create(&agentv1.Session{Goal: "港", Root: "work"}).Name
	d.send(name, "直して")
	a := d.waits()
	_, err := d.agent.DecideApproval(d.bob(), &agentv1.DecideApprovalRequest{Name: a.Name, Digest: a.Digest, Decision: agentv1.Decision_DECISION_APPROVE, Reason: "よい"})
	d.ok(err)
	d.until(name, func(s *agentv1.Session) bool { return s.Lifecycle == agentv1.Lifecycle_LIFECYCLE_DONE })
	verify := func(replay bool) *agentv1.VerifyAuditResponse {
		v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: name, Replay: replay})
		d.ok(err)
		return v
	}
	if v := verify(true); !v.Intact || !v.Replayed {
		t.Fatalf("%v", v)
	}
	swap := func(table, of, from, to string) string {
		return fmt.Sprintf("UPDATE %s SET body = CAST(replace(CAST(body AS TEXT), '%s', '%s') AS BLOB) WHERE %s", table, from, to, of)
	}
	for what, c := range map[string]struct{ table, of, old, new, problem string }{
		"a message":          {"texts", "id LIKE '%/message'", "直", "正", "/message is not as it was written"},
		"a result":           {"texts", "id LIKE '%/result'", "EXECUTED", "EXECUTEX", "/result is not as it was written"},
		"an answer":          {"texts", "id LIKE '%/answer'", "書く", "消す", "/answer is not as it was written"},
		"a decided approval": {"approvals", "1 = 1", `"name":"bob"`, `"name":"bab"`, "the approval " + strings.TrimPrefix(a.Name, "approvals/") + " is not as it was written"},
	} {
		d.alter(swap(c.table, c.of, c.old, c.new))
		v := verify(true)
		if v.Intact || v.BadSeq < 2 || !strings.Contains(v.Problem, c.problem) || !v.Replayed {
			t.Errorf("%s: %v", what, v)
		}
		if v := verify(false); !v.Intact {
			t.Errorf("%s: the rows themselves: %v", what, v)
		}
		d.alter(swap(c.table, c.of, c.new, c.old))
		if v := verify(true); !v.Intact {
			t.Fatalf("%s, as it was: %v", what, v)
		}
	}
}

// TestWhatNoRowHasSealed: a text that somebody puts in is named by an audit with replay, with no row, and so is what is left of a session that is gone
// with its rows; where nothing is left there is no such session.
func TestWhatNoRowHasSealed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	name := d.create(&agentv1.Session{Goal: "港"}).Name
	d.alter("INSERT INTO texts (ns, session, id, until, body) SELECT ns, id, 'forged', 0, x'00' FROM sessions")
	for replay, want := range map[bool]string{
		false: "",
		true:  "session " + strings.TrimPrefix(name, "sessions/") + " is not stored as it was written: the text forged is there, and no row has sealed it; its rows are as they were made, 1 of them",
	} {
		v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: name, Replay: replay})
		d.ok(err)
		if v.Problem != want || v.Intact != (want == "") || v.BadSeq != 0 || v.Replayed != replay || v.Records != 1 {
			t.Errorf("replay %v: %v", replay, v)
		}
	}
	d.alter("DELETE FROM sessions; DELETE FROM records")
	v, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: name, Replay: true})
	d.ok(err)
	if v.Intact || v.Replayed || v.Head != nil || !strings.Contains(v.Problem, "the text forged is there, and the session itself is not") {
		t.Errorf("%v", v)
	}
	d.alter("DELETE FROM texts")
	if _, err := d.agent.VerifyAudit(d.ann(), &agentv1.VerifyAuditRequest{Session: name}); status.Code(err) != codes.NotFound {
		t.Errorf("%v", err)
	}
}
