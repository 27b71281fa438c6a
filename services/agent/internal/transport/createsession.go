package transport

import (
	"context"
	"strconv"
	"strings"
	"time"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/clienttool"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/ledger"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/session"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessionservice"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// CreateSession makes a session.
func (s *Server) CreateSession(ctx context.Context, q *agentv1.CreateSessionRequest) (*agentv1.Session, error) {
	f := &apierr.Fields{}
	f.Required(q)
	in := q.GetSession()
	fresh := sessionservice.Fresh{
		Owner:    in.GetOwner(),
		Settings: ledger.Settings{Root: in.GetRoot(), Backend: in.GetBackend(), Locale: in.GetLocale(), Policy: in.GetPolicy(), Added: addedRules(f, in)},
		Items:    items(in), Refs: in.GetContextRefs(), Budgets: budgets(in.GetBudgets()), RequestID: text(requestID(f, q.GetRequestId())),
	}
	fresh.Declared = declaredTools(in)
	if in.GetContinueFrom() != "" {
		fresh.Continues = text(id(f, "session.continue_from", wire.Sessions, in.GetContinueFrom()))
	}
	if f.Len() > 0 {
		f.Also(inside("session.", fault(s.sessions.Unfit(who(ctx), fresh))))
		return nil, f.Err()
	}
	v, err := s.sessions.Create(ctx, who(ctx), fresh)
	if err != nil {
		return nil, inside("session.", fault(err))
	}
	return fromSession(v), nil
}

// declaredTools are the tools that a caller carries out.
func declaredTools(in *agentv1.Session) (all []clienttool.Declared) {
	for _, t := range in.GetClientTools() {
		all = append(all, clienttool.Declared{
			Name: t.GetName(), Description: t.GetDescription(), Input: t.GetInputSchema(), Timeout: time.Duration(t.GetTimeoutSeconds()) * time.Second,
		})
	}
	return all
}

func items(in *agentv1.Session) session.Items {
	return session.Items{
		Goal: in.GetGoal(), WhyNow: in.GetWhyNow(), Constraints: in.GetConstraints(), PlanBrief: in.GetPlanBrief(), OpenQuestions: in.GetOpenQuestions(),
	}
}

// GetSession answers with a session.
func (s *Server) GetSession(ctx context.Context, q *agentv1.GetSessionRequest) (*agentv1.Session, error) {
	f := &apierr.Fields{}
	f.Required(q)
	id, err := sessionID(ctx, f, "name", q.GetName())
	if err != nil {
		return nil, err
	}
	return answer(s.sessions.Get(ctx, who(ctx), id))
}

// answer is a session, or why there is none.
func answer(v sessionservice.View, err error) (*agentv1.Session, error) {
	if err != nil {
		return nil, fault(err)
	}
	return fromSession(v), nil
}

// ListSessions lists sessions, newest first.
func (s *Server) ListSessions(ctx context.Context, q *agentv1.ListSessionsRequest) (*agentv1.ListSessionsResponse, error) {
	f := &apierr.Fields{}
	f.Required(q)
	filter := store.SessionFilter{Owner: q.GetOwner(), Lifecycle: enum(f, "lifecycle", q.GetLifecycle(), "LIFECYCLE_"), Waiting: q.GetWaiting()}
	query := strings.Join([]string{"sessions", filter.Owner, filter.Lifecycle, strconv.FormatBool(filter.Waiting)}, "\x00")
	size, after := pageSize(f, q.GetPageSize()), place(f, q.GetPageToken(), query)
	if err := f.Err(); err != nil {
		return nil, err
	}
	out, room := &agentv1.ListSessionsResponse{}, newRoom(size)
	var last store.Place
	for one, err := range s.sessions.List(ctx, who(ctx), filter, after) {
		if err != nil {
			return nil, fault(err)
		}
		if one.Broken != nil {
			if broken := fromBroken(wire.Sessions+one.ID, one.Broken); room.takes(broken) {
				out.Broken = append(out.Broken, broken)
			}
		} else if session := fromSession(one.View); room.takes(session) {
			out.Sessions = append(out.Sessions, session)
		}
		if room.full {
			out.NextPageToken = nextPage(query, last.At, last.ID)
			break
		}
		last = one.Place
	}
	return out, nil
}

// DeleteSession takes away what a session says.
func (s *Server) DeleteSession(ctx context.Context, q *agentv1.DeleteSessionRequest) (*agentv1.DeleteSessionResponse, error) {
	f := &apierr.Fields{}
	f.Required(q)
	id, err := sessionID(ctx, f, "name", q.GetName())
	if err != nil {
		return nil, err
	}
	lost, err := s.sessions.Delete(ctx, who(ctx), id, q.GetEtag())
	if err != nil {
		return nil, fault(err)
	}
	return &agentv1.DeleteSessionResponse{LostTurns: int32(lost)}, nil
}
