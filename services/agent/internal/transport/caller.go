package transport

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tsumugi-dev/tsumugi/services/agent/internal/adapter/wire"
	"github.com/tsumugi-dev/tsumugi/services/agent/internal/gate"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/auth"
)

// who is the caller as authentication has verified it: nothing of it comes from a request (field/review-agent.md S10).
func who(ctx context.Context) gate.Who {
	c := auth.From(ctx)
	w := gate.Who{Name: c.Name, Token: c.Token, Namespace: c.Namespace, Session: strings.TrimPrefix(c.Session, wire.Sessions)}
	for _, r := range c.Roles {
		w.Roles = append(w.Roles, string(r))
	}
	return w
}

// reaches refuses whoever is bound to another session, as if that one were not there.
func reaches(ctx context.Context, session string) error {
	if auth.From(ctx).Reaches(wire.Sessions + session) {
		return nil
	}
	return noSession(session)
}

func noSession(id string) error {
	name := wire.Sessions + id
	return apierr.New(codes.NotFound, "SESSION_NOT_FOUND", "there is no session "+name, "session", name)
}

// sessionID reads the name of a session that the caller may know of.
func sessionID(ctx context.Context, f *apierr.Fields, field, name string) (string, error) {
	id := text(id(f, field, wire.Sessions, name))
	if err := f.Err(); err != nil {
		return "", err
	}
	return id, reaches(ctx, id)
}

// text is a UUID, empty for the zero one.
func text(id uuid.UUID) string { return wire.Name("", id) }

// resource is the name of a thing; empty where there is none.
func resource(collection, id string) string {
	if id == "" {
		return ""
	}
	return collection + id
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// value gives the value of an enum by its word, 0 for a word that it does not have.
func value[E ~int32](values map[string]int32, prefix, word string) E { return E(values[prefix+word]) }
