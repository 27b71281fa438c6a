// Package modelerr is what the callers of promptbuilder and agent are told of model servers: the errors of package llm
// as answers, with one wording for both.
package modelerr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tsumugi-dev/tsumugi/services/internal/apierr"
	"github.com/tsumugi-dev/tsumugi/services/internal/llm"
)

// retryAfter is when to come again where the model server did not say.
const retryAfter = time.Second

// Answer is what the caller gets for an error of package llm, and nil for any other. The request names the backend in
// `backend`; maxTokens is its field with the length of the answer.
func Answer(err error, maxTokens string) error {
	var unknown *llm.UnknownBackendError
	var budget *llm.BudgetError
	var overflow *llm.OverflowError
	var knobs *llm.KnobsError
	var bad *llm.BadKnobsError
	var server *llm.Error
	switch {
	case errors.As(err, &unknown):
		return Unknown(unknown, "backend", "the default")
	case errors.As(err, &budget):
		return apierr.New(codes.InvalidArgument, "INVALID_BUDGET", budget.Error(),
			"window", strconv.Itoa(budget.Window), "max_tokens", strconv.Itoa(budget.MaxTokens)).
			About(maxTokens, "must be smaller than "+strconv.Itoa(budget.Window)+", the window of the backend")
	case errors.As(err, &overflow):
		return tooLarge(overflow, maxTokens)
	case errors.As(err, &knobs): // also where a model server's client refuses them
		return without(knobs)
	case errors.As(err, &bad):
		return wrong(bad)
	case errors.As(err, &server):
		return Trouble(server, maxTokens)
	}
	return nil
}

// Unknown is what the caller gets who names a backend that is not there in a field, which is left empty for something else.
func Unknown(e *llm.UnknownBackendError, field, empty string) error {
	return apierr.New(codes.NotFound, "UNKNOWN_BACKEND", e.Error(), "backend", e.Name, "known", strings.Join(e.Known, ",")).
		About(field, "must be one of "+strings.Join(e.Known, ", ")+fmt.Sprintf(", or empty for %s, is %.80q", empty, e.Name))
}

func tooLarge(e *llm.OverflowError, maxTokens string) *apierr.Error {
	a := apierr.New(codes.FailedPrecondition, "CONTEXT_OVERFLOW", e.Error(), "limit", strconv.Itoa(e.Limit), "tokens", strconv.Itoa(e.Tokens))
	for _, b := range e.Blocks {
		a.Metadata["block."+b.Kind] = strconv.Itoa(b.Tokens)
	}
	over := e.Tokens - e.Limit
	shorter := cmp.Or(e.Wish, fmt.Sprintf("must be shorter, by about %d tokens", over))
	smaller := fmt.Sprintf("must be smaller, by at least %d", over)
	answerHelps := e.MaxTokens > over // it keeps a token at least
	switch {
	case e.Field != "" && answerHelps:
		return a.About(e.Field, shorter+", if the answer stays as long").About(maxTokens, smaller+", if the prompt stays as long")
	case e.Field != "":
		return a.About(e.Field, shorter)
	case answerHelps:
		return a.About(maxTokens, smaller)
	}
	return a.About("backend", fmt.Sprintf("must be one whose window is larger, by at least %d tokens, unless prompt and answer are both shorter", over))
}

// without names every knob that the kind of server does not have. Requests have them in `sampling`.
func without(e *llm.KnobsError) *apierr.Error {
	a := apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error(), "kind", e.Kind)
	for _, k := range e.Missing {
		a = a.About("sampling."+string(k), "must be left out: a server of kind "+e.Kind+" does not have it; it has "+e.Has())
	}
	return a
}

// wrong names every knob whose value the server does not take.
func wrong(e *llm.BadKnobsError) *apierr.Error {
	a := apierr.New(codes.InvalidArgument, apierr.ReasonInvalidField, e.Error())
	for _, b := range e.Bad {
		a = a.About("sampling."+b.Field, b.Problem)
	}
	return a
}

// faults says which trouble of a model server is which code and reason, and whether waiting helps. What is not in it is
// a fault of that server.
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

// Trouble is what the caller gets when a model server did not do what it was asked. maxTokens is that of Answer.
func Trouble(e *llm.Error, maxTokens string) *apierr.Error {
	var bad *llm.BadKnobsError
	if errors.As(e, &bad) {
		return wrong(bad)
	}
	row, ok := faults[e.Fault]
	switch {
	case errors.Is(e, context.DeadlineExceeded): // the caller's own time limit
		row.code, row.reason, row.wait = codes.DeadlineExceeded, apierr.ReasonDeadlineExceeded, false
	case !ok:
		row = faults[llm.FaultProtocol]
	}
	a := apierr.New(row.code, row.reason, e.Error(), "backend", e.Backend, "address", e.Address)
	a.Once = true
	if row.wait {
		a.RetryAfter = cmp.Or(e.RetryAfter, retryAfter)
	}
	if e.Tried != nil && e.Tried.Count > 0 {
		halfWay(a, e)
	}
	if e.Fault == llm.FaultTooLong {
		a.Metadata["limit"], a.Metadata["tokens"] = strconv.Itoa(e.Window), strconv.Itoa(e.Tokens)
		return a.About(maxTokens, "must be smaller: prompt and answer do not fit the window together")
	}
	return a
}

// halfWay is for a request whose counts failed after the server had said who it is: it says what was tried. Whatever is the
// server's fault then is UNAVAILABLE, with its own reason: the same request may be sent again.
func halfWay(a *apierr.Error, e *llm.Error) {
	a.Metadata["count"], a.Metadata["characters"] = strconv.Itoa(e.Tried.Count), strconv.Itoa(e.Tried.Characters)
	if e.Tried.Took > 0 {
		a.Metadata["took"] = e.Tried.Took.Round(time.Millisecond).String()
	}
	if a.Code == codes.Internal || a.Code == codes.ResourceExhausted {
		a.Code, a.RetryAfter = codes.Unavailable, cmp.Or(e.RetryAfter, retryAfter)
	}
}
