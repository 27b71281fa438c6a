package transport

import (
	"context"
	"strconv"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
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
	rows, err := s.sessions.Rows(ctx, who(ctx), id, after, size)
	if err != nil {
		return nil, fault(err)
	}
	out := &agentv1.ListAuditRecordsResponse{}
	for _, r := range rows {
		out.Records = append(out.Records, wire.FromRow(r))
	}
	if len(rows) == size {
		out.NextPageToken = pagetoken.Encode(query, strconv.FormatUint(rows[size-1].Seq, 10))
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
	out := &agentv1.VerifyAuditResponse{Intact: v.Bad == nil, Records: int32(v.Rows), Replayed: v.Replayed, Head: wire.FromHead(v.Head)}
	if v.Bad != nil {
		out.BadSeq, out.Problem = int64(v.Bad.Seq), v.Bad.Error()
	}
	if v.Replay != nil {
		out.ReplayProblem = v.Replay.Error()
	}
	return out, nil
}
