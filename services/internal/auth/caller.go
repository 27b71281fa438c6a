// Package auth is who calls: one Caller, found out by the first server of ours that a request reaches, and carried from
// there on.
//
// A request of outside is who its bearer token says (Authenticator). Between our own programs the Caller goes along as metadata (Handed),
// which is believed from two sides alone: over the `inner` server, that listens on no network, and from a token with the role service. Wherever
// else it is as if the metadata were not there.
package auth

import (
	"context"
	"slices"

	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// Caller is who makes a request. The zero value is nobody, and may do nothing.
type Caller struct {
	// Name is the person, or the program of ours. Who decides is compared by it, never by Token: one person may have two.
	Name string `json:"name"`
	// Namespace is where the request acts.
	Namespace string       `json:"namespace"`
	Roles     []token.Role `json:"roles"`
	// Token is the id of the token; empty without authentication.
	Token string `json:"token,omitempty"`
	// Session, `sessions/{uuid}`, is set where the caller is that session of the agent and no person.
	Session string `json:"session,omitempty"`
}

// LocalName is the name of everybody without authentication.
const LocalName = "local"

// Local is the caller of every request while there is no file of tokens: whoever reaches a loopback address. With the approver secret it is an
// approver, too.
func Local() Caller {
	return Caller{Name: LocalName, Namespace: namespace.Default, Roles: []token.Role{token.User}}
}

// Has says whether the caller has a role. None includes another.
func (c Caller) Has(r token.Role) bool { return slices.Contains(c.Roles, r) }

func of(t token.Token) Caller {
	return Caller{Name: t.Name, Namespace: t.Namespace, Roles: t.Roles, Token: t.ID, Session: t.Session}
}

type key struct{}

// With gives a context of requests of a caller, in the namespace of the caller. Interceptors alone call it.
func With(ctx context.Context, c Caller) context.Context {
	return namespace.With(context.WithValue(ctx, key{}, c), c.Namespace)
}

// From is the caller of a context; the zero Caller where there is none.
func From(ctx context.Context) Caller {
	c, _ := ctx.Value(key{}).(Caller)
	return c
}
