// Package origin carries the name that a caller gives itself, such as `desk-1`: events of flowstore tell it, so that a program
// that watches passes over what it did itself. It proves nothing, and nobody gets a right by it.
//
// Interceptors put it into the context, and grpcclient hands it on, through every service to the store.
package origin

import (
	"context"
	"regexp"
)

const (
	// Key is the metadata key, and in REST the header, in which a caller names itself.
	Key = "tsumugi-client"
	// External is the name of a hand that changes files. No caller can have it.
	External = "external"
	// Rule says what a name is, behind the name of the field that holds one.
	Rule = "must be 1 to 64 printable ASCII characters, the first and the last no space, and not `" + External + "`, which a hand is called"
)

// valid is what metadata of gRPC and headers of HTTP carry as it is.
var valid = regexp.MustCompile(`^[[:graph:]]([[:print:]]{0,62}[[:graph:]])?$`)

// Valid says whether a caller may call itself so (Rule).
func Valid(name string) bool { return name != External && valid.MatchString(name) }

type key struct{}

// With names who makes the changes of a request.
func With(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, key{}, name)
}

// From gives what With named, empty for nobody.
func From(ctx context.Context) string {
	name, _ := ctx.Value(key{}).(string)
	return name
}
