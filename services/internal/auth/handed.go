package auth

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/namespace"
	"github.com/tsumugi-dev/tsumugi/services/internal/token"
)

// Metadata by which a program of ours says for whom it calls.
const (
	// NamespaceKey is in which namespace.
	NamespaceKey = "tsumugi-namespace"
	// CallerKey is who: a Caller in JSON. It is left out where nobody is waiting, for work in the background.
	CallerKey = "tsumugi-caller-bin"
	// Key is that of the bearer token.
	Key = "authorization"
)

// maxHanded bounds a Caller in JSON, in bytes.
const maxHanded = 2 << 10

// Hand gives the metadata that go along with a call: the namespace of ctx, and its caller.
func Hand(ctx context.Context) (pairs []string) {
	pairs = []string{NamespaceKey, namespace.From(ctx)}
	if c := From(ctx); c.Name != "" {
		text, err := json.Marshal(c)
		if err == nil { // texts alone are in it
			pairs = append(pairs, CallerKey, string(text))
		}
	}
	return pairs
}

// Handed is for whom the program `by` calls. It is only to be asked of one that is trusted. Without a caller it is the
// program itself, in the namespace that it says.
func Handed(ctx context.Context, by Caller) (Caller, error) {
	ns, err := one(ctx, NamespaceKey)
	if err != nil {
		return Caller{}, err
	}
	text, err := one(ctx, CallerKey)
	if err != nil {
		return Caller{}, err
	}
	by.Namespace = ns
	if ns == "" {
		by.Namespace = namespace.Default
	}
	if text == "" {
		return by, nil
	}
	var c Caller
	if len(text) > maxHanded || json.Unmarshal([]byte(text), &c) != nil || c.Name == "" {
		return Caller{}, denied("the caller that was handed on cannot be read")
	}
	if c.Namespace != by.Namespace {
		return Caller{}, denied("a call was handed on in another namespace than that of its caller")
	}
	return c, nil
}

// one is the value of a key that may stand there once; empty where it does not.
func one(ctx context.Context, key string) (string, error) {
	switch values := metadata.ValueFromIncomingContext(ctx, key); len(values) {
	case 0:
		return "", nil
	case 1:
		return values[0], nil
	default:
		return "", denied(fmt.Sprintf("the metadata hold %s %d times", key, len(values)))
	}
}

// Program is a program of ours that has no token, as it is one and the same process.
func Program() Caller { return Caller{Name: "tsumugi", Roles: []token.Role{token.Service}} }

// Alone is the caller at a server without a file of tokens, if it may be served. Somebody who means another namespace than the default one must
// not be served in that: it would be a program of ours that knows its callers apart, in front of one that does not.
func Alone(ctx context.Context, c Caller) (Caller, error) {
	if told := metadata.ValueFromIncomingContext(ctx, NamespaceKey); len(told) > 0 && told[0] != namespace.Default {
		return Caller{}, denied("this server has no file of tokens, and acts in the namespace default alone; the call is for another one (auth.tokens of this program)")
	}
	return c, nil
}

func denied(message string) *apierr.Error {
	return apierr.New(codes.PermissionDenied, apierr.ReasonNamespaceDenied, message)
}
