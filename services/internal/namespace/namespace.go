// Package namespace carries the namespace that a request acts in.
//
// It is taken from the verified caller, never from a name or a body; without authentication it is Default.
// Interceptors put it into the context, transport takes it out and hands it to the domain as a value.
package namespace

import (
	"context"
	"regexp"
)

// Default is the namespace of every request while there is no authentication.
const Default = "default"

// valid is what may become a folder and a key: the rule of a DNS label.
var valid = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// device is what Windows takes for a device in every folder, so that data could not move there.
var device = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// Valid says whether ns may be a namespace: 1 to 63 of a to z, 0 to 9 and `-`, with no `-` at either end, and no name of a device
// of Windows (`con`, `nul`, `com1`). So it is one folder on every disk, also on those that take A for a.
func Valid(ns string) bool { return valid.MatchString(ns) && !device.MatchString(ns) }

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
