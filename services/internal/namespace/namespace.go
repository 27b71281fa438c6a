// Package namespace carries the namespace that a request acts in.
//
// It is taken from the verified caller, never from a name or a body; without authentication it is Default.
// Interceptors put it into the context, transport takes it out and hands it to the domain as a value.
package namespace

import "context"

// Default is the namespace of every request while there is no authentication.
const Default = "default"

type key struct{}

// With returns a context whose requests act in ns.
func With(ctx context.Context, ns string) context.Context {
	return context.WithValue(ctx, key{}, ns)
}

// From returns the namespace of ctx, Default where none was put in.
func From(ctx context.Context) string {
	if ns, ok := ctx.Value(key{}).(string); ok {
		return ns
	}
	return Default
}
