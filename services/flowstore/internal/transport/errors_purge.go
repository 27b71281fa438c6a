package transport

import (
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// purgeTable says what a caller gets for what was purged, or is to be.
var purgeTable = []func(*fields, error) *apierr.Error{
	on(func(f *fields, e *store.PurgedError) *apierr.Error {
		out := purged(e, e.Error(), "leave it out, or choose another id")
		for _, field := range slices.Concat(f.named(e.Kind, e.ID), f.where(e.ID, chosen)) {
			out.Violations = append(out.Violations, apierr.Violation{Field: field, Description: "names what was purged"})
		}
		return out
	}),
	on(func(f *fields, e *library.PurgeTooLargeError) *apierr.Error {
		out := apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(), "flow", flow.Name(e.Flow), "limit", strconv.Itoa(library.MaxPurged))
		return because(out, f.named(store.KindFlow, e.Flow))
	}),
}

// purged is the answer where something would come back that was purged.
func purged(e *store.PurgedError, message, hint string) *apierr.Error {
	name := e.Kind.Name(e.ID)
	out := apierr.New(codes.FailedPrecondition, "PURGED", message, "name", name, "purge_time", stamp(e.At), "purge_reason", e.Reason)
	out.Preconditions = []apierr.Precondition{{Type: "PURGED", Subject: name, Description: hint}}
	return out
}
