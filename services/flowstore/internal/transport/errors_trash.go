package transport

import (
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/node"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
)

// maxHolders is how many flows that hold a node a refusal names; an error has room for fewer (see apierr.Error.GRPCStatus).
const maxHolders = 100

// trashTable says what a caller gets for the errors of deleting and coming back.
var trashTable = []func(*fields, error) *apierr.Error{
	on(func(f *fields, e *library.InUseError) *apierr.Error {
		out := apierr.New(codes.FailedPrecondition, "NODE_IN_USE", e.Error(), "node", node.Name(e.Node), "flow_count", strconv.Itoa(len(e.Flows)))
		for _, id := range e.Flows[:min(len(e.Flows), maxHolders)] {
			out.Preconditions = append(out.Preconditions,
				apierr.Precondition{Type: "NODE_IN_USE", Subject: flow.Name(id), Description: "holds it"})
		}
		return because(out, f.where(e.Node, aNode))
	}),
	on(func(f *fields, e *library.TooManyError) *apierr.Error {
		out := apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(), "node", node.Name(e.Node), "limit", strconv.Itoa(library.MaxRemoved))
		return because(out, f.where(e.Node, aNode))
	}),
	on(func(f *fields, e *library.NotDeletedError) *apierr.Error {
		out := apierr.New(codes.FailedPrecondition, "NOT_DELETED", e.Error(), "name", e.Kind.Name(e.ID))
		out.Preconditions = []apierr.Precondition{{Type: "NOT_DELETED", Subject: e.Kind.Name(e.ID), Description: e.Hint()}}
		return because(out, f.named(e.Kind, e.ID))
	}),
}

// deleted is the answer where something that is asked for is in the trash.
func deleted(f *fields, e *library.NotFoundError) *apierr.Error {
	out := apierr.New(codes.NotFound, "DELETED", e.Error(), "name", e.Kind.Name(e.ID), "delete_time", stamp(e.Deleted))
	return because(out, f.named(e.Kind, e.ID))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
