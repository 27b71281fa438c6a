package transport

import (
	"context"
	"errors"
	"strconv"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// ListAuditRecords lists the rows of a session.
func (s *Server) ListAuditRecords(ctx context.Context, q *agentv1.ListAuditRecordsRequest) (*agentv1.ListAuditRecordsResponse, error) {
	f := &apierr.Fields{}
	f.Required(q)
	query := strings.Join([]string{"rows", q.GetSession(), strconv.FormatInt(q.GetAfterSeq(), 10)}, "\x00")
	size, after := pageSize(f, q.GetPageSize()), q.GetAfterSeq()
	switch key, err := pagetoken.Decode(q.GetPageToken(), query); {
	case err != nil:
		f.Add("page_token", "%s", err)
	case key != "":
		if after, err = strconv.ParseInt(key, 10, 64); err != nil {
			f.Add("page_token", "%s", pagetoken.ErrMalformed)
		}
	}
	if after < 0 {
		f.Add("after_seq", "is %d; it must be 0 or the number of a row", after)
	}
	id, err := sessionID(ctx, f, "session", q.GetSession())
	if err != nil {
		return nil, err
	}
	out, room := &agentv1.ListAuditRecordsResponse{}, newRoom(size)
	for r, err := range s.sessions.Rows(ctx, who(ctx), id, after) {
		seq := int64(r.Seq)
		var broken *ledger.BrokenError
		if errors.As(err, &broken) {
			seq = broken.Last
			if rows := (&agentv1.BrokenRows{FirstSeq: broken.First, LastSeq: seq, Problem: err.Error()}); room.takes(rows) {
				out.Broken = append(out.Broken, rows)
			}
		} else if err != nil {
			return nil, fault(err)
		} else if row := wire.FromRow(r); room.takes(row) {
			out.Records = append(out.Records, row)
		}
		if room.full {
			out.NextPageToken = pagetoken.Encode(query, strconv.FormatInt(after, 10))
			break
		}
		after = seq
	}
	return out, nil
}

// VerifyAudit goes through the rows of a session.
func (s *Server) VerifyAudit(ctx context.Context, q *agentv1.VerifyAuditRequest) (*agentv1.VerifyAuditResponse, error) {
	f := &apierr.Fields{}
	f.Required(q)
	id, err := sessionID(ctx, f, "session", q.GetSession())
	if err != nil {
		return nil, err
	}
	v, err := s.sessions.Verify(ctx, who(ctx), id, q.GetReplay())
	if err != nil {
		return nil, fault(err)
	}
	problem := v.Problem()
	out := &agentv1.VerifyAuditResponse{Intact: problem == "", Records: int32(v.Rows), Problem: problem, Replayed: v.Replayed, Head: wire.FromHead(v.Head)}
	if v.Bad != nil {
		out.BadSeq = int64(v.Bad.Seq)
	}
	if v.Replay != nil {
		out.ReplayProblem = v.Replay.Error()
	}
	return out, nil
}
