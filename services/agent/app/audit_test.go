package app

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/auditkeys"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
)

// told are the rows of a session as the service tells them, the head behind so many of them, and the file of their keys.
func told(t *testing.T, rows, sealed int) (head *agentv1.AuditHead, all []*agentv1.AuditRecord, file string) {
	t.Helper()
	dir := t.TempDir()
	keys, err := auditkeys.LoadOrMake(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := keys.Begin("team-a", "s1")
	for i := range rows {
		if i == sealed {
			head = wire.FromHead(h)
		}
		var r audit.Row
		r, h, err = keys.Append(h, audit.Entry{
			Time: time.Date(2026, 11, 29, 12, 0, i, 123456789, time.UTC), Namespace: "team-a", Session: "s1", Task: "t", Turn: "u", Actor: audit.Actor{Name: "千夏", Kind: audit.Person},
			Kind: audit.Turn, Verdict: "BEGUN", Reason: "<a & b>", Details: fmt.Sprintf(`{"n":%d}`, i),
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, wire.FromRow(r))
	}
	if head == nil {
		head = wire.FromHead(h)
	}
	return head, all, filepath.Join(dir, auditkeys.Name)
}

func each(all []*agentv1.AuditRecord, last error) iter.Seq2[*agentv1.AuditRecord, error] {
	return func(yield func(*agentv1.AuditRecord, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

// What the service tells of an audit is written so that it verifies with the keys alone, and so that whatever is changed or cut is found.
func TestExportAudit(t *testing.T) {
	t.Parallel()
	head, rows, keys := told(t, 5, 4)
	var out bytes.Buffer
	if err := ExportAudit(&out, head, each(rows, nil)); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	got, err := CheckAudit(strings.NewReader(text), keys)
	if want := (AuditReport{Session: "sessions/s1", Namespace: "team-a", Rows: 4, Head: 4}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	lines := strings.SplitAfter(text, "\n")
	for name, tt := range map[string]struct{ text, want string }{
		"changed":   {strings.Replace(text, "千夏", "春樹", 1), "row 1 of the audit record: its code does not fit"},
		"cut":       {strings.Join(lines[:4], ""), "row 4 of the audit record: the rows end before it"},
		"taken out": {lines[0] + lines[1] + lines[3] + lines[4], "row 2 of the audit record: rows are missing"},
		"no head":   {strings.Join(lines[1:], ""), "line 1"},
		"namespace": {strings.ReplaceAll(text, "team-a", "team-b"), "the head does not belong"},
	} {
		if _, err := CheckAudit(strings.NewReader(tt.text), keys); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// A service that goes away in the middle, and keys that are not there, are told.
func TestExportAuditFails(t *testing.T) {
	t.Parallel()
	head, rows, keys := told(t, 2, 2)
	gone := errors.New("gone")
	if err := ExportAudit(&bytes.Buffer{}, head, each(rows[:1], gone)); !errors.Is(err, gone) {
		t.Error(err)
	}
	if _, err := CheckAudit(strings.NewReader("x"), keys+"x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
