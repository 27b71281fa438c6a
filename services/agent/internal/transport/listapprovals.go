package transport

import (
	"context"
	"strconv"
	"strings"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/turn"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// ListApprovals lists what waits for a decision, or what was decided.
func (s *Server) ListApprovals(ctx context.Context, q *agentv1.ListApprovalsRequest) (*agentv1.ListApprovalsResponse, error) {
	f := &apierr.Fields{}
	f.Required(q)
	filter := store.ApprovalFilter{Session: text(id(f, "session", wire.Sessions, q.GetSession())), State: enum(f, "state", q.GetState(), "APPROVAL_STATE_")}
	switch {
	case q.GetAllStates() && filter.State != "":
		f.Add("all_states", "goes without state")
	case !q.GetAllStates() && filter.State == "":
		filter.State = string(gate.Pending)
	}
	query := strings.Join([]string{"approvals", filter.Session, filter.State}, "\x00")
	size, after := pageSize(f, q.GetPageSize()), place(f, q.GetPageToken(), query)
	if err := f.Err(); err != nil {
		return nil, err
	}
	out := &agentv1.ListApprovalsResponse{}
	if err := s.fillApprovals(ctx, out, filter, after, size, query); err != nil {
		return nil, fault(err)
	}
	if !q.GetWithCounts() {
		return out, nil
	}
	counts, err := s.sessions.Counts(ctx, who(ctx), filter.Session)
	for _, c := range counts {
		out.Counts = append(out.Counts, fromCount(c))
	}
	return out, fault(err)
}

// fillApprovals fills a page. What the caller may not know of counts, so that nobody looks through the whole namespace for a page.
func (s *Server) fillApprovals(
	ctx context.Context, out *agentv1.ListApprovalsResponse, f store.ApprovalFilter, after store.Place, size int, query string,
) error {
	room, locales, last := newRoom(size), map[string]string{}, store.Place{}
	for one, err := range s.sessions.Approvals(ctx, who(ctx), f, after) {
		if err != nil {
			return err
		}
		switch {
		case one.Hidden:
			room.takes(nil)
		case one.Broken != nil:
			if broken := fromBroken(wire.Approvals+one.Approval.ID, one.Broken); room.takes(broken) {
				out.Broken = append(out.Broken, broken)
			}
		default:
			locale, ok := locales[one.Approval.Session]
			if !ok {
				locale = s.sessions.Locale(ctx, one.Approval)
				locales[one.Approval.Session] = locale
			}
			if a := fromApproval(one.Approval.View(s.sessions.Clock.Now(), locale), one.Approval, locale); room.takes(a) {
				out.Approvals = append(out.Approvals, a)
			}
		}
		if room.full {
			out.NextPageToken = nextPage(query, last.At, last.ID)
			return nil
		}
		last = one.Place
	}
	return nil
}

// GetApproval answers with an approval and what it shows.
func (s *Server) GetApproval(ctx context.Context, q *agentv1.GetApprovalRequest) (*agentv1.Approval, error) {
	f := &apierr.Fields{}
	f.Required(q)
	approval := text(id(f, "name", wire.Approvals, q.GetName()))
	if q.GetPage() < 0 {
		f.Add("page", "is %d; it must be 0 or the number of a page, from 1", q.GetPage())
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	r, err := s.sessions.Approval(ctx, who(ctx), approval)
	if err != nil {
		return nil, fault(err)
	}
	out := s.fromApproval(ctx, r.Approval)
	out.Words = r.Words
	if r.Withheld || r.Gone {
		return out, nil
	}
	page := max(int(q.GetPage()), 1)
	if page > max(len(r.Pages), 1) {
		f.Add("page", "is %d; there are %d", page, len(r.Pages))
		return nil, f.Err()
	}
	out.Content = content(r, page)
	return out, nil
}

// content is a page of what an approval shows, from 1.
func content(r turn.Reading, page int) *agentv1.ApprovalContent {
	c := &agentv1.ApprovalContent{Page: int32(page), Pages: int32(len(r.Pages)), NotShown: string(r.Approval.NotShown), Arguments: r.Args}
	if page <= len(r.Pages) {
		p := r.Pages[page-1]
		c.Text, c.ContentDigest = p.Content, string(p.ContentDigest)
	}
	return c
}

// ExtendApproval gives an approval that waits more time.
func (s *Server) ExtendApproval(ctx context.Context, q *agentv1.ExtendApprovalRequest) (*agentv1.Approval, error) {
	f := &apierr.Fields{}
	f.Required(q)
	approval := text(id(f, "name", wire.Approvals, q.GetName()))
	if t := q.GetExpireTime(); t != nil && !t.IsValid() {
		f.Add("expire_time", "must be a time from the year 1 to 9999, is of %s seconds", strconv.FormatInt(t.GetSeconds(), 10))
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	a, err := s.sessions.Extend(ctx, who(ctx), approval, q.GetExpireTime().AsTime())
	if err != nil {
		return nil, fault(err)
	}
	return s.fromApproval(ctx, a), nil
}

// RevokeRule takes back what was allowed for the rest of a session.
func (s *Server) RevokeRule(ctx context.Context, q *agentv1.RevokeRuleRequest) (*agentv1.Session, error) {
	f := &apierr.Fields{}
	f.Required(q)
	id, err := sessionID(ctx, f, "session", q.GetSession())
	if err != nil {
		return nil, err
	}
	return answer(s.sessions.Revoke(ctx, who(ctx), id, q.GetRule()))
}
