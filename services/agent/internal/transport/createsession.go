package transport

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

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
		Settings: ledger.Settings{Root: in.GetRoot(), Backend: in.GetBackend(), Locale: in.GetLocale(), Policy: in.GetPolicy()},
		Items:    items(in), Refs: in.GetContextRefs(), RequestID: text(requestID(f, q.GetRequestId())),
	}
	for _, t := range in.GetClientTools() {
		fresh.Declared = append(fresh.Declared, clienttool.Declared{
			Name: t.GetName(), Description: t.GetDescription(), Input: t.GetInputSchema(), Timeout: time.Duration(t.GetTimeoutSeconds()) * time.Second,
		})
	}
	if in.GetContinueFrom() != "" {
		fresh.Continues = text(id(f, "session.continue_from", wire.Sessions, in.GetContinueFrom()))
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	v, err := s.sessions.Create(ctx, who(ctx), fresh)
	if err != nil {
		return nil, inside("session.", fault(err))
	}
	return fromSession(v), nil
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

// UpdateSession changes what a person may change.
func (s *Server) UpdateSession(ctx context.Context, q *agentv1.UpdateSessionRequest) (*agentv1.Session, error) {
	f, in := &apierr.Fields{}, q.GetSession()
	if in.GetName() == "" {
		f.Add("session.name", "is required")
	}
	u := sessionservice.Update{Etag: in.GetEtag(), Items: items(in), Refs: in.GetContextRefs(), Policy: in.GetPolicy(), Fields: q.GetUpdateMask().GetPaths()}
	if len(u.Fields) == 0 {
		u.Fields = set(in)
	}
	for _, field := range u.Fields {
		if !slices.Contains(sessionservice.Editable, field) {
			f.Add("update_mask", "names %.60q; it can name %s", field, strings.Join(sessionservice.Editable, ", "))
		}
	}
	if len(u.Fields) == 0 {
		f.Add("update_mask", "must name what changes: %s", strings.Join(sessionservice.Editable, ", "))
	}
	var err error
	if u.ID, err = sessionID(ctx, f, "session.name", in.GetName()); err != nil {
		return nil, err
	}
	v, err := s.sessions.Update(ctx, who(ctx), u)
	if err != nil {
		return nil, inside("session.", fault(err))
	}
	return fromSession(v), nil
}

// set are the fields that a person may change and that are set.
func set(in *agentv1.Session) (fields []string) {
	in.ProtoReflect().Range(func(d protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if name := string(d.Name()); slices.Contains(sessionservice.Editable, name) {
			fields = append(fields, name)
		}
		return true
	})
	slices.Sort(fields)
	return fields
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
