package transport

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/flow"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/library"
	"github.com/tsumugi-dev/tsumugi/services/flowstore/internal/store"
	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/pagetoken"
)

// drainRetry is when another process may answer in place of one that is stopping.
const drainRetry = time.Second

// table says what a caller gets for each error of the domain. What is not in it is a fault of ours and becomes INTERNAL.
var table = []func(error) *apierr.Error{
	on(notFound),
	on(func(e *library.TakenError) *apierr.Error {
		return apierr.New(codes.AlreadyExists, "ALREADY_EXISTS", e.Error(), "name", string(e.Kind)+"s/"+e.ID.String())
	}),
	on(func(e *library.UnreadableError) *apierr.Error {
		return apierr.New(codes.DataLoss, "UNREADABLE_FILE", e.Error(), "name", string(e.Kind)+"s/"+e.ID.String(), "path", e.Cause.Path)
	}),
	on(func(e *library.TooLargeError) *apierr.Error {
		return apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(), "node", nodeName(e.Node))
	}),
	on(func(e *library.RequestReusedError) *apierr.Error {
		return apierr.New(codes.InvalidArgument, "REQUEST_ID_REUSED", e.Error(), "request_id", e.Request.String())
	}),
	on(func(e *library.PlaceGoneError) *apierr.Error { return badToken(e) }),
	on(notInFlow),
	on(func(e *flow.CycleError) *apierr.Error {
		return apierr.New(codes.FailedPrecondition, "CYCLE", e.Error(), "flow", flowName(e.Flow), "path", strings.Join(nodeNames(e.Path), " "))
	}),
	on(func(e *flow.FullError) *apierr.Error {
		return apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(),
			"flow", flowName(e.Flow), "what", e.What, "limit", strconv.Itoa(e.Limit))
	}),
	on(func(e *store.ReadOnlyError) *apierr.Error {
		return apierr.New(codes.Unavailable, "STORE_READ_ONLY", e.Error(), "cause", e.Cause.Error())
	}),
	is(store.ErrFull, func(e error) *apierr.Error {
		return apierr.New(codes.ResourceExhausted, apierr.ReasonLimitExceeded, e.Error(), "limit", strconv.Itoa(store.MaxFiles))
	}),
	is(store.ErrClosed, func(error) *apierr.Error {
		e := apierr.New(codes.Unavailable, apierr.ReasonDraining, "the service is stopping; try again")
		e.RetryAfter = drainRetry
		return e
	}),
	is(pagetoken.ErrMalformed, badToken),
	is(pagetoken.ErrOtherQuery, badToken),
}

// fault is what the caller gets for an error.
func fault(err error) error {
	for _, row := range table {
		if e := row(err); e != nil {
			return e
		}
	}
	return err
}

// on is a row for a type of error.
func on[E error](answer func(E) *apierr.Error) func(error) *apierr.Error {
	return func(err error) *apierr.Error {
		var e E
		if !errors.As(err, &e) {
			return nil
		}
		return answer(e)
	}
}

// is is a row for one error.
func is(target error, answer func(error) *apierr.Error) func(error) *apierr.Error {
	return func(err error) *apierr.Error {
		if !errors.Is(err, target) {
			return nil
		}
		return answer(err)
	}
}

func notFound(e *library.NotFoundError) *apierr.Error {
	if e.Kind == library.KindNode {
		return apierr.New(codes.NotFound, "NODE_NOT_FOUND", e.Error(), "node", nodeName(e.ID))
	}
	return apierr.New(codes.NotFound, "FLOW_NOT_FOUND", e.Error(), "flow", flowName(e.ID))
}

func notInFlow(e *flow.NotMemberError) *apierr.Error {
	out := apierr.New(codes.FailedPrecondition, "NOT_IN_FLOW", e.Error(), "flow", flowName(e.Flow), "node", nodeName(e.Nodes[0]))
	for _, id := range e.Nodes {
		out.Preconditions = append(out.Preconditions,
			apierr.Precondition{Type: "NOT_IN_FLOW", Subject: nodeName(id), Description: "add it to " + flowName(e.Flow) + " first"})
	}
	return out
}

func badToken(err error) *apierr.Error {
	e := apierr.New(codes.InvalidArgument, "INVALID_PAGE_TOKEN", err.Error())
	e.Violations = []apierr.Violation{{Field: "page_token", Description: err.Error()}}
	return e
}
