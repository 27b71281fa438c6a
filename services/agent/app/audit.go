package app

import (
	"io"
	"iter"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/auditkeys"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/audit"
)

// AuditReport is what CheckAudit has found.
type AuditReport struct {
	// Session is `sessions/{uuid}`, Namespace where it is.
	Session, Namespace string
	// Rows is how many rows are as they were made, Head the number of the last row that the head vouches for.
	Rows, Head uint64
}

// ExportAudit writes the rows of a session, as ListAuditRecords tells them from the first on, as JSON Lines. The head is that of VerifyAudit,
// asked for before the rows; rows behind it are left out.
func ExportAudit(w io.Writer, head *agentv1.AuditHead, records iter.Seq2[*agentv1.AuditRecord, error]) error {
	return audit.Export(w, wire.Head(head), func(yield func(audit.Row, error) bool) {
		for r, err := range records {
			if err == nil && r.GetSeq() > head.GetSeq() {
				return
			}
			if !yield(wire.Row(head.GetNamespace(), r), err) || err != nil {
				return
			}
		}
	})
}

// CheckAudit verifies an export with the keys of a file, and asks no service. The error names the first row that is not as it was made, or the
// file that cannot be read.
func CheckAudit(export io.Reader, keysFile string) (AuditReport, error) {
	keys, err := auditkeys.Load(keysFile)
	if err != nil {
		return AuditReport{}, err
	}
	head, rows, err := audit.Import(export)
	if err != nil {
		return AuditReport{}, err
	}
	report, err := keys.Verify(rows, audit.Chain{Namespace: head.Namespace, Session: head.Session, Heads: []audit.Head{head}})
	return AuditReport{Session: wire.Sessions + head.Session, Namespace: head.Namespace, Rows: report.Rows, Head: report.HeadSeq}, err
}
