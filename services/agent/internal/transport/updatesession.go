package transport

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	agentv1 "github.com/tsumugi-dev/tsumugi/gen/tsumugi/agent/v1"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/sessionservice"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// UpdateSession changes what a person may change.
func (s *Server) UpdateSession(ctx context.Context, q *agentv1.UpdateSessionRequest) (*agentv1.Session, error) {
	f, in := &apierr.Fields{}, q.GetSession()
	if in.GetName() == "" {
		f.Add("session.name", "is required")
	}
	u := sessionservice.Update{Etag: in.GetEtag(), Items: items(in), Refs: in.GetContextRefs(), Policy: in.GetPolicy(), Added: addedRules(f, in), Budgets: budgets(in.GetBudgets())}
	if u.Fields = q.GetUpdateMask().GetPaths(); len(u.Fields) == 0 {
		u.Fields, u.Fixed = set(in, sessionservice.Editable), fixed(in)
	}
	editable := strings.Join(sessionservice.Editable, ", ")
	for _, field := range u.Fields {
		if !slices.Contains(sessionservice.Editable, field) {
			f.Add("update_mask", "names %.60q; it can name %s", field, editable)
		}
	}
	if len(u.Fields) == 0 {
		f.Add("update_mask", "must name what changes: %s", editable)
		for _, field := range set(in, sessionservice.Unchangeable) {
			f.Add("session."+field, "cannot be changed")
		}
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

// set are those of some fields that are set, in the order of their names.
func set(in *agentv1.Session, of []string) (fields []string) {
	in.ProtoReflect().Range(func(d protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if name := string(d.Name()); slices.Contains(of, name) {
			fields = append(fields, name)
		}
		return true
	})
	slices.Sort(fields)
	return fields
}

// fixed are the fields that cannot be changed, as they were sent.
func fixed(in *agentv1.Session) sessionservice.Fixed {
	return sessionservice.Fixed{
		Owner: in.GetOwner(), Root: in.GetRoot(), Backend: in.GetBackend(), Locale: in.GetLocale(), Tools: declaredTools(in),
		Continues: strings.TrimPrefix(in.GetContinueFrom(), wire.Sessions),
	}
}
