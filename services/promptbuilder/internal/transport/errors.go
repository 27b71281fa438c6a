package transport

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
	"github.com/tsumugi-dev/tsumugi/services/promptbuilder/internal/story"
)

// retryAfter is when to come again where the model server did not say.
const retryAfter = time.Second

// fault is what the caller gets for an error of the domain or of a model server. Anything else stays as it is and
// becomes INTERNAL.
func fault(err error) error {
	var unknown *story.UnknownBackendError
	var budget *story.BudgetError
	var overflow *story.OverflowError
	var count *story.CountError
	var server *llm.Error
	switch {
	case errors.As(err, &unknown):
		return apierr.New(codes.NotFound, "UNKNOWN_BACKEND", err.Error(), "backend", unknown.Name, "known", strings.Join(unknown.Known, ","))
	case errors.As(err, &budget):
		a := apierr.New(codes.InvalidArgument, "INVALID_BUDGET", err.Error(),
			"window", strconv.Itoa(budget.Window), "max_tokens", strconv.Itoa(budget.MaxTokens))
		a.Violations = []apierr.Violation{{Field: "max_tokens", Description: "must be smaller than the window of the backend"}}
		return a
	case errors.As(err, &overflow):
		return tooLarge(overflow)
	case errors.As(err, &count):
		return apierr.New(codes.Internal, "BACKEND_FAULT", err.Error(), "backend", count.Backend.Backend, "address", count.Backend.Address)
	case errors.As(err, &server):
		return trouble(server)
	}
	return err
}

func tooLarge(e *story.OverflowError) error {
	a := apierr.New(codes.FailedPrecondition, "CONTEXT_OVERFLOW", e.Error(),
		"limit", strconv.Itoa(e.Limit), "tokens", strconv.Itoa(e.Tokens))
	for _, b := range e.Blocks {
		a.Metadata["block."+string(b.Kind)] = strconv.Itoa(b.Tokens)
	}
	return a
}

// faults says which trouble of a model server is which code and reason, and whether waiting helps.
var faults = map[llm.Fault]struct {
	code   codes.Code
	reason string
	wait   bool
}{
	llm.FaultUnreachable: {codes.Unavailable, "BACKEND_UNAVAILABLE", true},
	llm.FaultTimeout:     {codes.Unavailable, "BACKEND_UNAVAILABLE", true},
	llm.FaultCut:         {codes.Unavailable, "BACKEND_UNAVAILABLE", true},
	llm.FaultLoading:     {codes.Unavailable, "BACKEND_LOADING", true},
	llm.FaultBusy:        {codes.ResourceExhausted, "BACKEND_BUSY", true},
	llm.FaultTooLong:     {codes.FailedPrecondition, "CONTEXT_OVERFLOW", false},
	llm.FaultRefused:     {codes.FailedPrecondition, "BACKEND_REFUSED", false},
	llm.FaultCount:       {codes.Internal, "BACKEND_FAULT", false},
	llm.FaultProtocol:    {codes.Internal, "BACKEND_FAULT", false},
	llm.FaultCancelled:   {codes.Canceled, apierr.ReasonCancelled, false},
}

func trouble(e *llm.Error) error {
	row, ok := faults[e.Fault]
	switch {
	case errors.Is(e, context.DeadlineExceeded): // the caller's own time limit
		row.code, row.reason, row.wait = codes.DeadlineExceeded, apierr.ReasonDeadlineExceeded, false
	case !ok:
		row = faults[llm.FaultProtocol]
	}
	a := apierr.New(row.code, row.reason, e.Error(), "backend", e.Backend, "address", e.Address)
	if row.wait {
		a.RetryAfter = cmp.Or(e.RetryAfter, retryAfter)
	}
	if e.Fault == llm.FaultTooLong {
		a.Metadata["limit"], a.Metadata["tokens"] = strconv.Itoa(e.Window), strconv.Itoa(e.Tokens)
	}
	return a
}
